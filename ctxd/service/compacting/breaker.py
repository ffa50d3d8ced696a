"""Not asking for summaries again and again while they fail: three failures open it, a pause half-opens it."""

from __future__ import annotations

from collections import OrderedDict

FAILURES = 3
"""Failures in a row that open the breaker (E §6.9)."""

MAX_KEYS = 4096


class Breaker:
    """One breaker per key, (canonical workspace, session). Times in milliseconds."""

    def __init__(self) -> None:
        self._failures: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    def allows(self, key: tuple[str, str], now: int, cooldown: int) -> bool:
        """False while open. After the pause an attempt is let through, and its outcome decides.

        A session has one compaction at a time, so there is one attempt; a clock that was set back
        keeps nobody waiting.
        """
        count, since = self._failures.get(key, (0, 0))
        return count < FAILURES or not 0 <= now - since < cooldown

    def failed(self, key: tuple[str, str], now: int) -> None:
        """Count a failure. Aborts and blocked hooks are none."""
        count, _ = self._failures.pop(key, (0, 0))
        self._failures[key] = (count + 1, now)
        while len(self._failures) > MAX_KEYS:
            self._failures.popitem(last=False)

    def succeeded(self, key: tuple[str, str]) -> None:
        """Close it."""
        self._failures.pop(key, None)
