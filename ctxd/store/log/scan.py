"""Reading one segment: which of its lines verify, and which bytes do not (D2).

Reads through a buffer of bounded size instead of mapping the file: a mapped page that cannot be
read kills the process, and mapped pages count as its memory. Bodies are checksummed where they lie
and never copied out. Must not know what the other segments say: `recovery` judges.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from ctxd.model.records import Location, Record
from ctxd.store.files import open_file, read_exactly
from ctxd.store.layout import segment_name
from ctxd.store.log.frame import (
    MAX_LINE,
    TAIL_BYTES,
    Head,
    Lines,
    line_starts,
    read_line,
    read_lines,
    salvage,
    verify_data,
)

SEGMENT = "segment"
"""Type of a segment's first line. It takes no seq of its own: its seq is the one before `base`."""
LEASE = "lease"

_OWN = frozenset({SEGMENT, LEASE})
_CHUNK = 256 * 1024
_BACK = 4096
"""Bytes before a body that are read to find its line's beginning; more when that was too few."""


class SegmentData(msgspec.Struct, frozen=True, rename="camel"):
    """Body of a segment's first line.

    `base`: records of older segments from this seq on are superseded (D3).
    """

    format: int
    min_reader: int
    base: int
    sid: str


class Scan(msgspec.Struct):
    """What one segment holds, in file order.

    `head` and `opening` belong to its first line, None where that does not verify. `starts` and
    `acks` run parallel to `records`; `batches` maps positions in `records` to (index, count).
    `spans` are (offset, length) of bytes that do not verify. `leases` are the bodies of lease records.
    """

    number: int
    size: int = 0
    head: Head | None = None
    opening: SegmentData | None = None
    records: list[Record] = []
    starts: array[int] = msgspec.field(default_factory=lambda: array("Q"))
    acks: array[int] = msgspec.field(default_factory=lambda: array("Q"))
    batches: dict[int, tuple[int, int]] = {}
    spans: list[tuple[int, int]] = []
    leases: list[bytes] = []
    max_epoch: int = 0

    @property
    def max_ack(self) -> int:
        """The highest seq that some line here says was durable."""
        return max(self.head.ack if self.head else 0, max(self.acks, default=0))

    def end_of(self, position: int) -> int:
        """Offset just behind the record's line, line feed left out."""
        where = self.records[position].location
        return where.offset + where.length + TAIL_BYTES


@contextmanager
def open_segment(folder: int, session_id: str, number: int) -> Iterator[int]:
    """A descriptor of the segment, for reading. Raises OSError, StorageFailed."""
    fd = open_file(segment_name(session_id, number), os.O_RDONLY, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def scan_segment(fd: int, number: int, seed: int, *, offset: int = 0) -> Scan:
    """Read a segment from `offset` (the beginning of a line) to its end. Raises OSError."""
    verifier = _Verifier(number, seed)
    want = _CHUNK
    while chunk := os.pread(fd, want, offset):
        used = verifier.take_lines(chunk, offset)
        if used:
            want = _CHUNK
        elif len(chunk) == want and want < 2 * MAX_LINE:
            want *= 2
        elif len(chunk) == want:
            used = want - MAX_LINE
            verifier.take_broken(chunk, 0, used, offset)
        else:
            # No line feed up to the end, or a short read: what a pause leaves unread comes again.
            used = len(chunk) if not os.pread(fd, 1, offset + len(chunk)) else 0
            verifier.take_broken(chunk, 0, used, offset)
        offset += used
    verifier.scan.size = offset
    return verifier.scan


def read_data(fd: int, location: Location, seed: int) -> tuple[bytes, bytes, bytes] | None:
    """The line at the location as (before the data, data, end), or None when it does not verify.

    Raises OSError.
    """
    data = read_exactly(fd, location.length, location.offset)
    tail = read_exactly(fd, TAIL_BYTES, location.offset + location.length)
    back = min(_BACK, location.offset)
    before = read_exactly(fd, back, location.offset - back)
    while b"\n" not in before and back < location.offset:
        back = min(back * 8, location.offset)
        before = read_exactly(fd, back, location.offset - back)
    for start in line_starts(before):
        front = before[start:]
        if verify_data(front, data, tail, seed):
            return front, data, tail
    return None


class _Verifier:
    def __init__(self, number: int, seed: int) -> None:
        self.scan = Scan(number)
        self._seed = seed

    def take_lines(self, chunk: bytes, offset: int) -> int:
        """Take every whole line of the chunk, which lies at `offset`. Returns the bytes used."""
        find = chunk.find
        starts, ends, start = [], [], 0
        while (end := find(b"\n", start)) >= 0:
            starts.append(start)
            ends.append(end)
            start = end + 1
        lines = read_lines(chunk, starts, ends, self._seed)
        if lines is None or not _OWN.isdisjoint([head.type for head in lines.heads]):
            self._take_each(chunk, starts, ends, offset)
        else:
            self._keep_all(lines, starts, offset)
        return start

    def _take_each(self, chunk: bytes, starts: list[int], ends: list[int], offset: int) -> None:
        view = memoryview(chunk)
        for start, end in zip(starts, ends):
            line = read_line(chunk, view, start, end, self._seed)
            if line is None:
                self.take_broken(chunk, start, end + 1, offset)
            else:
                self._keep(line, chunk, start + offset, end + offset, offset)

    def _keep_all(self, lines: Lines, starts: list[int], offset: int) -> None:
        scan, number = self.scan, self.scan.number
        before = len(scan.records)
        scan.records += [
            Record(h.seq, h.ep, h.id, h.type, h.at, facts, Location(number, data + offset, end - data))
            for h, facts, data, end in zip(lines.heads, lines.facts, lines.data, lines.ends)
        ]
        scan.starts.extend([start + offset for start in starts])
        scan.acks.extend([head.ack for head in lines.heads])
        scan.max_epoch = max(scan.max_epoch, *[head.ep for head in lines.heads], 0)
        for position, head in enumerate(lines.heads, before):
            if head.batch is not None:
                scan.batches[position] = head.batch

    def take_broken(self, chunk: bytes, start: int, end: int, offset: int) -> None:
        """Keep what verifies inside bytes that are no line, and note the rest as a span."""
        view = memoryview(chunk)
        after = start
        for first, last in salvage(chunk, view, start, end, self._seed):
            self._note(after + offset, first - after)
            line = read_line(chunk, view, first, last, self._seed)
            assert line is not None
            self._keep(line, chunk, first + offset, last + offset, offset)
            after = last
        if after > start and chunk[after:end] == b"\n":
            after = end
        self._note(after + offset, end - after)

    def _keep(self, line: tuple[Head, bytes, int], chunk: bytes, start: int, end: int, offset: int) -> None:
        """Keep a verified line. `start` and `end` are offsets in the segment, `data` in the chunk."""
        head, facts, data = line
        scan = self.scan
        if head.ep > scan.max_epoch:
            scan.max_epoch = head.ep
        length = end - TAIL_BYTES - offset - data
        kind = head.type
        if kind in _OWN:
            body = chunk[data : data + length]
            if kind == SEGMENT:
                self._keep_opening(head, body, start, end - start)
                return
            scan.leases.append(body)
        if head.batch is not None:
            scan.batches[len(scan.records)] = head.batch
        place = Location(scan.number, data + offset, length)
        scan.records.append(Record(head.seq, head.ep, head.id, kind, head.at, facts, place))
        scan.starts.append(start)
        scan.acks.append(head.ack)

    def _keep_opening(self, head: Head, data: bytes, offset: int, length: int) -> None:
        scan = self.scan
        try:
            opening = msgspec.json.decode(data, type=SegmentData)
        except msgspec.MsgspecError:
            self._note(offset, length)
            return
        if scan.head is not None or scan.records:
            self._note(offset, length)
            return
        scan.head, scan.opening = head, opening

    def _note(self, offset: int, length: int) -> None:
        """Remember unverified bytes; neighbours become one span."""
        if length <= 0:
            return
        spans = self.scan.spans
        if spans and sum(spans[-1]) == offset:
            offset, length = spans[-1][0], spans[-1][1] + length
            spans.pop()
        spans.append((offset, length))
