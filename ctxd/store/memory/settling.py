"""What may still happen to a memory file after it was replaced, and how nothing is lost by it.

An editor may go on writing into the file that was replaced: that is held open and merged. An editor may
save what it had read before: lines that were added meanwhile, by us or by somebody else, are put back.
Both end after a while: what a person deletes then is deleted. The caller holds the memory's lock.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import msgspec

from ctxd.core.merging import merge
from ctxd.core.notes import Edit, append
from ctxd.store.memory.files import Version, take_in, written_state
from ctxd.store.open_files import is_being_written

SETTLE_SECONDS = 2.0
"""How long an editor is given to have overwritten a line unseen, or to begin to write into an old file."""

PATIENCE_SECONDS = 60.0
"""How long one that writes into a replaced file is waited for."""

HELD = 64
"""Replaced files held open at most; the oldest is settled early."""

LINES = 100
"""Lines of somebody else's that are looked after at a time."""


class _Displaced(msgspec.Struct):
    """A file that was replaced, held open while somebody may still write to it."""

    topic: str
    fd: int
    text: str
    written: tuple[int, ...]
    since: float


class _Recent(msgspec.Struct, frozen=True):
    """Lines that were added to a topic lately."""

    topic: str
    lines: tuple[str, ...]
    since: float


class Settling:
    """The files and lines of one memory that are not settled.

    `is_wiped` says whether lines added to a topic so many seconds ago went on purpose since.
    """

    def __init__(self, is_wiped: Callable[[str, float], bool]) -> None:
        self._is_wiped = is_wiped
        self._displaced: list[_Displaced] = []
        self._recent: list[_Recent] = []

    @property
    def topics(self) -> set[str]:
        """Topics that are not settled."""
        return {d.topic for d in self._displaced} | {r.topic for r in self._recent}

    def hold(self, topic: str, fd: int, version: Version) -> None:
        """Look after a file that was replaced; the descriptor is closed here."""
        self._displaced.append(_Displaced(topic, fd, version.text, version.written, time.monotonic()))

    def expect(self, topic: str, lines: Sequence[str]) -> None:
        """Look after lines that were added."""
        if lines:
            self._recent.append(_Recent(topic, tuple(lines), time.monotonic()))

    def expect_new(self, topic: str, before: str, after: str) -> None:
        """Look after the lines that somebody else added."""
        had = set(before.split("\n"))
        self.expect(topic, [line for line in after.split("\n") if line not in had][:LINES])

    def forget(self, topic: str) -> None:
        """Lines of this topic need not stay."""
        self._recent = [recent for recent in self._recent if recent.topic != topic]

    def settle(self, topic: str, replace: Callable[[str, Edit], object], *, unchanged: bool) -> None:
        """Merge and put back what has to be; `unchanged` says that nobody but us has changed the topic."""
        now = time.monotonic()
        for displaced in [d for d in self._displaced if d.topic == topic]:
            self._merge(displaced, replace)
        if not unchanged:
            self._put_back(topic, replace, now)
        self._recent = [r for r in self._recent if r.topic != topic or r.since + SETTLE_SECONDS > now]
        extra = len(self._displaced) - HELD
        for index, displaced in enumerate(list(self._displaced)):
            if index < extra or (displaced.topic == topic and displaced.since + SETTLE_SECONDS <= now):
                self._end(displaced, replace, early=index < extra)

    def close(self) -> None:
        """Let go of everything."""
        for displaced in self._displaced:
            os.close(displaced.fd)
        self._displaced.clear()
        self._recent.clear()

    def _end(self, displaced: _Displaced, replace: Callable[[str, Edit], object], *, early: bool) -> None:
        patient = time.monotonic() < displaced.since + PATIENCE_SECONDS
        if not early and patient and is_being_written(displaced.fd):
            return
        self._merge(displaced, replace, last=True)
        self._displaced.remove(displaced)
        os.close(displaced.fd)

    def _merge(
        self, displaced: _Displaced, replace: Callable[[str, Edit], object], *, last: bool = False
    ) -> None:
        """Take over what was written into a file after it was replaced; the `last` look trusts no times."""
        if not last and (written_state(displaced.fd) == displaced.written or is_being_written(displaced.fd)):
            return
        version = take_in(displaced.fd)
        base, theirs = displaced.text, version.text
        displaced.text, displaced.written = theirs, version.written
        if theirs != base:
            # Who reads before this is merged has not seen it either.
            self.expect_new(displaced.topic, base, theirs)
            replace(displaced.topic, lambda ours: merge(base, theirs, ours or ""))

    def _put_back(self, topic: str, replace: Callable[[str, Edit], object], now: float) -> None:
        """Lines added lately that are gone without any daemon's doing: whoever wrote had not seen them."""
        recent = [r for r in self._recent if r.topic == topic]
        wiped = [r for r in recent if self._is_wiped(topic, now - r.since)]
        self._recent = [r for r in self._recent if r not in wiped]
        lines = [line for r in recent if r not in wiped for line in r.lines]
        if lines:
            replace(topic, lambda text: with_lines(text or "", lines))


def with_lines(text: str, lines: Sequence[str]) -> str | None:
    """The text with those lines at its end that are nowhere in it, not even struck; None when all are."""
    needles = {line: line.removeprefix("- ").strip() for line in lines}
    missing = [line.rstrip("\n") for line, needle in needles.items() if needle and needle not in text]
    return append(text, "\n".join(missing)) if missing else None
