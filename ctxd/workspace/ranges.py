"""Lines of a file, as many as a budget takes, and where to go on: whole lines, exact ranges (O §23).

Lines end with a line feed and with nothing else, so that what is served is the file's bytes. Must not know
sessions or models. Blocking.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import InvalidParams, Sensitive, TooLarge
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.reader import holds_key, refuse_by_name

MAX_BYTES = 10_000_000
"""A larger file is refused whole (O §23.1)."""

_BLOCK = 65_536
"""Line feeds are counted in blocks of so many bytes."""

Excess: TypeAlias = Literal["overBudget", "lineTooLong"]


class Range(msgspec.Struct, frozen=True):
    """Lines from `start` to `end`, 1-based and included; `offset` of their bytes are to be skipped."""

    start: int
    end: int
    offset: int | None = None


class Lines(msgspec.Struct, frozen=True):
    """What was asked for. `path` is relative to its root.

    `total` lines and `size` bytes are the whole file's, `digest` is `sha256:<hex>` of it, `whole` its text.
    `lossy`: bytes that are no UTF-8 are shown as U+FFFD. `torn`: it was being written while it was read.
    `next` is what follows within the same budget, None at the end of the file.
    """

    path: str
    text: str
    range: Range
    total: int
    size: int
    digest: str
    lossy: bool
    torn: bool
    next: Range | None
    whole: str


class Over(msgspec.Struct, frozen=True):
    """More than the budget takes. `suggestion` is the first part of it that does fit."""

    path: str
    size: int
    total: int
    budget: int
    reason: Excess
    suggestion: Range


def read_lines(
    boundary: Boundary, path: str, start: int | None, end: int | None, offset: int | None, budget: int
) -> Lines | Over:
    """Read a range of lines of at most `budget` bytes; the whole file when no side is given.

    `end` beyond the last line means the last line. With `offset` the range may be larger than the budget:
    that many of its bytes are skipped, and what follows is cut to fit. No code point is ever cut. Raises
    InvalidParams for a range that is none of the file's and for what is no text, Sensitive with the `rule`,
    TooLarge, and what `Boundary.read` raises.
    """
    name = boundary.locate(path)
    refuse_by_name(name)
    found = boundary.read(name, MAX_BYTES)
    if found.truncated:
        raise TooLarge("the file is too large to be read in ranges", bytes=found.size, limit=MAX_BYTES)
    if holds_key(found.data):
        raise Sensitive("the file holds a private key", rule="privateKey")
    if b"\0" in found.data:
        raise InvalidParams.at("path", "the file is no text", hint="the host's own tools read binary files")
    whole = found.data.decode("utf-8", "replace")
    lossy = "\ufffd" in whole and not _is_utf8(found.data)
    text = _Text(whole.encode() if lossy else found.data)
    asked = _check(start, end, offset, text.total)
    first, last = text.begin(asked.start), text.begin(asked.end + 1)
    if offset is None and last - first > budget:
        fits = _following(text, asked.start, budget)
        assert fits is not None
        reason: Excess = "overBudget" if fits.offset is None else "lineTooLong"
        return Over(name, found.size, text.total, budget, reason, fits)
    data = text.data[first:last]
    cut = data if offset is None else _cut(data, offset, budget)
    after = (offset or 0) + len(cut)
    rest = Range(asked.start, asked.end, after) if after < len(data) else None
    return Lines(
        path=name,
        text=cut.decode(),
        range=asked,
        total=text.total,
        size=found.size,
        digest=found.digest,
        lossy=lossy,
        torn=found.changed,
        next=rest or _following(text, asked.end + 1, budget),
        whole=whole,
    )


class _Text:
    """Where the lines of a text are, found without making them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.total = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))

    def begin(self, line: int) -> int:
        """The first byte of a line, 1-based; the end of the text for lines it does not have."""
        place, left = 0, line - 1
        while left > 0 and place < len(self.data):
            here = self.data.count(b"\n", place, place + _BLOCK)
            if here < left:
                left -= here
                place += _BLOCK
                continue
            for _ in range(left):
                place = self.data.index(b"\n", place) + 1
            return place
        return min(place, len(self.data)) if left == 0 else len(self.data)

    def fitting(self, place: int, budget: int) -> int:
        """How many whole lines from a byte on fit a budget."""
        if len(self.data) - place <= budget:
            return self.data.count(b"\n", place) + (not self.data.endswith(b"\n") and place < len(self.data))
        return self.data.count(b"\n", place, place + budget)


def _check(start: int | None, end: int | None, offset: int | None, total: int) -> Range:
    first = 1 if start is None else start
    last = total if end is None else end
    if first > max(total, 1):
        raise InvalidParams.at("startLine", f"the file has {total} lines")
    if end is not None and last < first:
        raise InvalidParams.at("endLine", "the range ends before it begins")
    return Range(first, min(last, total), offset)


def _following(text: _Text, start: int, budget: int) -> Range | None:
    """The longest range from a line on that fits; a line too long alone is to be read by offset."""
    if start > text.total:
        return None
    lines = text.fitting(text.begin(start), budget)
    return Range(start, start + lines - 1) if lines else Range(start, start, 0)


def _cut(data: bytes, offset: int, budget: int) -> bytes:
    """At most `budget` bytes behind `offset`, both ends moved back to the beginning of a code point."""
    if offset >= len(data):
        raise InvalidParams.at("offset", f"the range has {len(data)} bytes")
    if _back(data, offset) != offset:
        raise InvalidParams.at("offset", "it lies inside a character")
    end = min(len(data), offset + budget)
    fits = _back(data, end)
    return data[offset : fits if fits > offset else _forward(data, end)]


def _back(data: bytes, place: int) -> int:
    while place < len(data) and data[place] & 0xC0 == 0x80:
        place -= 1
    return place


def _forward(data: bytes, place: int) -> int:
    while place < len(data) and data[place] & 0xC0 == 0x80:
        place += 1
    return place


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
