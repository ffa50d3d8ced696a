"""A memory index that fits its bounds, and exactly what was left out of it. Pure.

What a person wrote at the top stays first, then the newest: a correction must not be what is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from ctxd.core.background import quote_background
from ctxd.core.notes import Line, read_line

HEAD_SHARE = 4
"""One of so many lines and bytes is for the beginning of the file, the rest for its newest lines."""

TOPICS_SHARE = 3
"""One of so many lines and bytes is for the list of topics, at most, where not everything fits."""

RANGES_NAMED = 12


class Bounds(msgspec.Struct, frozen=True):
    """What an index may be at most: lines, bytes of UTF-8, tokens."""

    lines: int
    bytes: int
    tokens: int


class Omission(msgspec.Struct, frozen=True):
    """Lines `first` to `last` of the file, 1-based, that are left out; `since`, `until`: days of entries."""

    first: int
    last: int
    bytes: int
    since: str = ""
    until: str = ""


class Abridged(msgspec.Struct, frozen=True):
    """`text` with its notice, and its tokens; what is `omitted` of the file; names that are not listed."""

    text: str
    omitted: tuple[Omission, ...]
    topics_omitted: tuple[str, ...]
    tokens: int

    @property
    def quoted(self) -> str:
        """The text as a model may be shown it, "" for none.

        It changes whenever memory does, so it must never stand inside a cached prefix.
        """
        return quote_background([self.text] if self.text else [], "Memory index")

    @property
    def omitted_lines(self) -> int:
        return sum(run.last - run.first + 1 for run in self.omitted)


class _Budget:
    def __init__(self, lines: int, size: int) -> None:
        self.lines = lines
        self.size = size

    def take(self, line: str) -> bool:
        size = len(line.encode()) + 1
        if self.lines < 1 or size > self.size:
            return False
        self.lines -= 1
        self.size -= size
        return True


def abridge(
    lines: Sequence[str], listed: Sequence[str], bounds: Bounds, count: Callable[[str], int], file: str
) -> Abridged:
    """Lines of the file and the list of its topics within bounds; `file` names it in the notice."""
    whole = join(lines, listed)
    tokens = _count_within(whole, bounds, count)
    if tokens is not None:
        return Abridged(whole, (), (), tokens)
    said = [read_line(line) for line in lines]
    scale = 1.0
    while True:
        made = _choose(lines, said, listed, bounds, scale, file)
        tokens = count(made.text)
        if tokens <= bounds.tokens or scale < 0.01:
            return msgspec.structs.replace(made, tokens=tokens)
        scale *= max(0.3, min(0.9, bounds.tokens / tokens))


def _count_within(whole: str, bounds: Bounds, count: Callable[[str], int]) -> int | None:
    """Tokens of a text that is within all bounds; None for one that is not."""
    if whole.count("\n") + bool(whole) > bounds.lines or len(whole.encode()) > bounds.bytes:
        return None
    tokens = count(whole)
    return tokens if tokens <= bounds.tokens else None


def _choose(
    lines: Sequence[str],
    said: Sequence[Line],
    listed: Sequence[str],
    bounds: Bounds,
    scale: float,
    file: str,
) -> Abridged:
    # The notice has its own room: it must never be what does not fit.
    notice_lines, notice_bytes = 4, min(bounds.bytes // 4, 1_600)
    room = _Budget(
        max(0, int(bounds.lines * scale) - notice_lines), int((bounds.bytes - notice_bytes) * scale)
    )
    share = _Budget(room.lines // TOPICS_SHARE, room.size // TOPICS_SHARE)
    named = [line for line in listed if share.take(line)]
    for line in named:
        room.take(line)
    room.lines -= 3
    kept = _keep(lines, said, room)
    omitted = tuple(_runs(lines, said, kept))
    missing = tuple(line[2:] for line in listed[len(named) :]) if len(named) < len(listed) else ()
    notice = _notice(omitted, missing, file, notice_bytes)
    return Abridged(join([lines[i] for i in sorted(kept)], named, notice), omitted, missing, 0)


def _keep(lines: Sequence[str], said: Sequence[Line], room: _Budget) -> set[int]:
    """Indices of the lines that stay: a share from the top, then from the end; replaced entries go first."""
    head = _Budget(room.lines // HEAD_SHARE, room.size // HEAD_SHARE)
    kept: set[int] = set()
    for index, line in enumerate(lines):
        if said[index].day or not head.take(line):
            break
        kept.add(index)
    for index in kept:
        room.take(lines[index])
    # A line without a day is as old as the entry it follows.
    days: list[str] = []
    for each in said:
        days.append(each.day or (days[-1] if days else ""))
    left = [i for i in range(len(lines)) if i not in kept and not said[i].replaced]
    order = sorted(left, key=lambda i: (days[i], i), reverse=True)
    for index in order:
        if room.lines < 1:
            break
        if room.take(lines[index]):
            kept.add(index)
    return kept


def _runs(lines: Sequence[str], said: Sequence[Line], kept: set[int]) -> Iterable[Omission]:
    first: int | None = None
    for index in range(len(lines) + 1):
        gone = index < len(lines) and index not in kept
        if gone and first is None:
            first = index
        elif not gone and first is not None:
            run = lines[first:index]
            if any(line.strip() for line in run):
                days = sorted(line.day for line in said[first:index] if line.day)
                size = sum(len(line.encode()) + 1 for line in run)
                since, until = (days[0], days[-1]) if days else ("", "")
                yield Omission(first + 1, index, size, since, until)
            first = None


def _notice(omitted: Sequence[Omission], missing: Sequence[str], file: str, limit: int) -> str:
    parts = []
    if omitted:
        total = sum(run.last - run.first + 1 for run in omitted)
        named = "; ".join(map(_range, omitted[:RANGES_NAMED]))
        if len(omitted) > RANGES_NAMED:
            named += f"; {len(omitted) - RANGES_NAMED} more ranges"
        parts.append(f"[Left out of {file}: {total} lines, {sum(r.bytes for r in omitted)} bytes: {named}.]")
    if missing:
        names = ", ".join(missing)
        short = names if len(names.encode()) < limit // 2 else f"{missing[0]} to {missing[-1]}"
        parts.append(f"[Left out: {len(missing)} topics: {short}.]")
    return "\n".join(parts)


def _range(run: Omission) -> str:
    lines = f"line {run.first}" if run.first == run.last else f"lines {run.first}-{run.last}"
    if not run.since:
        return lines
    return f"{lines} ({run.since if run.since == run.until else f'{run.since} to {run.until}'})"


def join(lines: Sequence[str], listed: Sequence[str], notice: str = "") -> str:
    """Lines of the file, the list of topics and a notice as one text."""
    parts = ["\n".join(lines)] if lines else []
    if listed:
        parts.append("Topics:\n" + "\n".join(listed))
    if notice:
        parts.append(notice)
    return "\n\n".join(parts)
