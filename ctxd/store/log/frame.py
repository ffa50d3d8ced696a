"""One record is one line of JSON that carries its own checksum (D2). Pure: bytes in, bytes out.

    {"v":1,"seq":42,"ep":3,"ack":41,"id":"…","type":"…","at":<ms>,⇥"facts":{…},⇥"data":<json>,"c":"0a1b2c3d"}

`⇥` is a TAB byte. JSON allows it there and nowhere inside a string, so a reader finds where `facts`
(left out when empty) and `data` begin without parsing them, and as fast as memory is read: `facts`
may hold no TAB of its own. `c` is crc32, seeded with crc32 of the session id, over all bytes before
`,"c":"`. Lines that become visible together carry `"batch":[index,count]` before `facts`.
Must not know segments or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from zlib import crc32

import msgspec

from ctxd.model.errors import TooLarge
from ctxd.model.records import Draft

VERSION = 1
MAX_LINE = 16 * 1024 * 1024
"""Longest line in bytes, line feed included (D2). Larger data belongs in the ledger."""

TAIL_BYTES = len(b',"c":"0a1b2c3d"}')

ID = re.compile(r"[A-Za-z0-9._:~+/=@-]{1,200}")
TYPE = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")

_TAB = b"\t"
_FACTS = b',\t"facts":'
_DATA = b',\t"data":'
_HEAD_BYTES = 600
"""No fixed part is longer: id 200, type 64, six numbers of at most 20 digits, member names."""

_START = re.compile(rb'\{"v":\d+,"seq":')
_END = re.compile(rb',"c":"[0-9a-f]{8}"\}')
_MAX_STARTS = 64


class Head(msgspec.Struct, frozen=True, gc=False):
    """The fixed members of a line. `ack` is the highest seq known durable when it was written."""

    v: int
    seq: int
    ep: int
    ack: int
    id: str
    type: str
    at: int
    batch: tuple[int, int] | None = None


class Lines(msgspec.Struct, frozen=True):
    """Verified lines, column by column. `data` and `ends` are where each body begins and stops."""

    heads: list[Head]
    facts: list[bytes]
    data: list[int]
    ends: list[int]


_decode_head = msgspec.json.Decoder(Head).decode
_decode_heads = msgspec.json.Decoder(list[Head]).decode


def seed_of(session_id: str) -> int:
    """The checksum's seed, which makes a line of another session fail."""
    return crc32(session_id.encode())


def check_draft(draft: Draft) -> None:
    """Raises TooLarge for a line above `MAX_LINE`, ValueError for a draft that is not a caller's to make.

    `facts` and `data` are not parsed: that they are JSON is the caller's promise.
    """
    if not ID.fullmatch(draft.id) or not TYPE.fullmatch(draft.type):
        raise ValueError("draft id or type has characters that are not allowed")
    if not draft.data or b"\n" in draft.data or b"\n" in draft.facts:
        raise ValueError("draft data and facts must be JSON on one line")
    if _TAB in draft.facts:
        raise ValueError("draft facts must not contain a TAB")
    size = len(draft.data) + len(draft.facts) + _HEAD_BYTES
    if size > MAX_LINE:
        raise TooLarge(
            f"record of {size} bytes is above the limit of {MAX_LINE}",
            hint="send it in smaller parts",
            bytes=size,
            limit=MAX_LINE,
        )


def build_line(head: Head, facts: bytes, data: bytes, seed: int) -> tuple[bytes, bytes, bytes]:
    """The line in three pieces: before the data, the data itself (not copied), and the end."""
    batch = "" if head.batch is None else f',"batch":[{head.batch[0]},{head.batch[1]}]'
    front = (
        f'{{"v":{head.v},"seq":{head.seq},"ep":{head.ep},"ack":{head.ack},'
        f'"id":"{head.id}","type":"{head.type}","at":{head.at}{batch}'
    ).encode()
    front = b"".join((front, _FACTS, facts, _DATA)) if facts else front + _DATA
    return front, data, _tail(crc32(data, crc32(front, seed))) + b"\n"


def read_line(
    chunk: bytes, view: memoryview, start: int, end: int, seed: int
) -> tuple[Head, bytes, int] | None:
    """Verify the line in `chunk[start:end]` (no line feed): its head, its facts, where its data begins.

    `view` is a view of `chunk`. None when the checksum or the shape is wrong. The body is neither
    parsed nor copied; it ends `TAIL_BYTES` before `end`.
    """
    body_end = end - TAIL_BYTES
    if body_end <= start or chunk[body_end:end] != b',"c":"%08x"}' % crc32(view[start:body_end], seed):
        return None
    first = chunk.find(_TAB, start, body_end)
    cut = chunk.find(_TAB, first + 1, body_end) if chunk.startswith(_FACTS, first - 1) else first
    if first < 0 or cut < 0 or not chunk.startswith(_DATA, cut - 1):
        return None
    try:
        head = _decode_head(chunk[start : first - 1] + b"}")
    except msgspec.MsgspecError:
        return None
    return head, chunk[first - 1 + len(_FACTS) : cut - 1] if cut > first else b"", cut - 1 + len(_DATA)


def read_lines(chunk: bytes, starts: list[int], ends: list[int], seed: int) -> Lines | None:
    """`read_line` for many lines at once, which costs half; None when any of them is not as it should be."""
    view, find, skip = memoryview(chunk), chunk.find, len(_FACTS) - 1
    stops = [end - TAIL_BYTES for end in ends]
    sums = tuple([crc32(view[start:stop], seed) for start, stop in zip(starts, stops)])
    tails = b"".join([chunk[stop:end] for stop, end in zip(stops, ends)])
    if tails != (b',"c":"%08x"}' * len(ends)) % sums:
        return None
    firsts = [find(_TAB, start, stop) for start, stop in zip(starts, stops)]
    if min(firsts, default=0) < 0:
        return None
    cuts = [
        find(_TAB, first + 1, stop) if chunk.startswith(_FACTS, first - 1) else first
        for first, stop in zip(firsts, stops)
    ]
    if min(cuts, default=0) < 0:
        return None
    fixed = b"},".join([chunk[start : first - 1] for start, first in zip(starts, firsts)])
    try:
        heads = _decode_heads(b"[" + fixed + b"}]")
    except msgspec.MsgspecError:
        return None
    facts = [chunk[first + skip : cut - 1] if cut > first else b"" for first, cut in zip(firsts, cuts)]
    return Lines(heads, facts, [cut - 1 + len(_DATA) for cut in cuts], stops)


def verify_data(front: bytes, data: bytes, tail: bytes, seed: int) -> bool:
    """Whether the three pieces of a line (`tail` without its line feed) belong together."""
    return _tail(crc32(data, crc32(front, seed))) == tail


def head_of(front: bytes) -> Head:
    """The fixed members of a verified line, from the bytes before its data."""
    return _decode_head(front[: front.index(_TAB) - 1] + b"}")


def salvage(chunk: bytes, view: memoryview, start: int, end: int, seed: int) -> Iterator[tuple[int, int]]:
    """Whole records inside bytes that are no verified line, as (start, end), in order.

    Finds a record fused to a torn one, or behind a run of NULs (reports F.66). Bounded: only the
    first `_MAX_STARTS` places that look like the beginning of a record are tried.
    """
    after = start
    starts = (m.start() for m in _START.finditer(chunk, start, end))
    for _, candidate in zip(range(_MAX_STARTS), starts, strict=False):
        if candidate < after:
            continue
        checked, checksum = candidate, seed
        for found in _END.finditer(chunk, candidate, end):
            checksum = crc32(view[checked : found.start()], checksum)
            checked = found.start()
            if _tail(checksum) == found.group() and read_line(chunk, view, candidate, found.end(), seed):
                yield candidate, found.end()
                after = found.end()
                break


def line_starts(front: bytes) -> Iterator[int]:
    """Places in the bytes before a data value where its line may begin, likeliest first."""
    yield front.rfind(b"\n") + 1
    yield from (m.start() for m in _START.finditer(front, front.rfind(b"\n") + 1))


def _tail(checksum: int) -> bytes:
    return b',"c":"%08x"}' % checksum
