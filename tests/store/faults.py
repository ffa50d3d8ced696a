"""Operating system calls that fail on demand: the n-th one, once or from then on (reliability.md section 2).

Only calls made through the `os` module are counted, which is how the store makes all of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

import pytest

CALLS = (
    "open",
    "write",
    "writev",
    "pwrite",
    "fdatasync",
    "fsync",
    "rename",
    "mkdir",
    "unlink",
    "fchmod",
    "chmod",
    "ftruncate",
    "pread",
    "scandir",
)

How = Literal["before", "after", "half"]
"""`before`: the call does nothing. `after`: it does its work and then fails. `half`: writes half first."""


class Faults:
    """Installed over `os` until the test ends; harmless until armed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._at = 0
        self._forever = False
        self._error = 0
        self._how: How = "before"
        for name in CALLS:
            monkeypatch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def arm(self, at: int, error: int, *, forever: bool, how: How) -> None:
        """Let the call number `at` (from 1, counted from now) fail."""
        self.count, self._at, self._error, self._forever, self._how = 0, at, error, forever, how

    def disarm(self) -> None:
        self._at = 0

    def _wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if not self._at or (self.count != self._at and not (self._forever and self.count > self._at)):
                return real(*args, **kwargs)
            if self._how == "half" and name == "writev":
                joined = b"".join(args[1])
                real(args[0], [joined[: len(joined) // 2]])
            elif self._how == "after":
                made = real(*args, **kwargs)
                if name == "open":
                    os.close(made)
                elif name == "scandir":
                    made.close()
            raise OSError(self._error, os.strerror(self._error))

        return call
