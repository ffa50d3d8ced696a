"""Lines of a file, as many as a budget takes, and where to go on: whole lines, exact ranges (O §23).

Lines end with a line feed and with nothing else, so that what is served is the file's bytes. Must not know
sessions or models. Blocking.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import InvalidParams, Sensitive, TooLarge
from ctxd.workspace.boundary import Boundary, FileBytes
from ctxd.workspace.reader import holds_key, refuse_by_name

MAX_BYTES = 10_000_000
"""A larger file is refused whole (O §23.1)."""

Excess: TypeAlias = Literal["overBudget", "lineTooLong"]


class Range(msgspec.Struct, frozen=True):
    """Lines from `start` to `end`, 1-based and included; `offset` of their bytes are to be skipped."""

    start: int
    end: int
    offset: int | None = None


class Lines(msgspec.Struct, frozen=True):
    """What was asked for. `path` is relative to the workspace.

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
    lines = _split(whole)
    asked = _check(start, end, offset, len(lines))
    sizes = [0, *accumulate(map(len, lines))]
    size = sizes[asked.end] - sizes[asked.start - 1]
    if offset is None and size > budget:
        return _over(name, found, sizes, asked, budget)
    data = b"".join(lines[asked.start - 1 : asked.end])
    cut = data if offset is None else _cut(data, offset, budget)
    after = (offset or 0) + len(cut)
    follows = (
        Range(asked.start, asked.end, after) if after < size else _following(sizes, asked.end + 1, budget)
    )
    return Lines(
        path=name,
        text=cut.decode(),
        range=asked,
        total=len(lines),
        size=found.size,
        digest=found.digest,
        lossy="\ufffd" in whole and not _is_utf8(found.data),
        torn=found.changed,
        next=follows,
        whole=whole,
    )


def _split(text: str) -> list[bytes]:
    """Lines with their line feeds, but perhaps the last."""
    lines = [line.encode() for line in text.split("\n")]
    last = lines.pop()
    return [*(line + b"\n" for line in lines), *([last] if last else [])]


def _check(start: int | None, end: int | None, offset: int | None, total: int) -> Range:
    first = 1 if start is None else start
    last = total if end is None else end
    if first > max(total, 1):
        raise InvalidParams.at("startLine", f"the file has {total} lines")
    if end is not None and last < first:
        raise InvalidParams.at("endLine", "the range ends before it begins")
    return Range(first, min(last, total), offset)


def _over(name: str, found: FileBytes, sizes: list[int], asked: Range, budget: int) -> Over:
    fits = _following(sizes, asked.start, budget)
    assert fits is not None
    return Over(
        path=name,
        size=found.size,
        total=len(sizes) - 1,
        budget=budget,
        reason="overBudget" if fits.offset is None else "lineTooLong",
        suggestion=fits,
    )


def _following(sizes: list[int], start: int, budget: int) -> Range | None:
    """The longest range from a line on that fits; a line too long alone is to be read by offset."""
    total = len(sizes) - 1
    if start > total:
        return None
    end = start - 1
    while end < total and sizes[end + 1] - sizes[start - 1] <= budget:
        end += 1
    return Range(start, end) if end >= start else Range(start, start, 0)


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
