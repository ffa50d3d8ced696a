"""A bookmark: what an orderly close leaves with a session, so that the next opening need not scan its log.

It is never the truth. It names segments that nothing is ever written to again (D3), each with its size
and checksum; where one is not as it was, the bookmark is worth nothing and the log is scanned. What a
reader would have learned from those segments is in `body`, which is opaque here; where each of their
records lies is in `places`. Must not know what records mean.
"""

from __future__ import annotations

import contextlib
import os
from array import array
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeAlias
from zlib import crc32

import msgspec

from ctxd.model.errors import StoreError
from ctxd.model.records import Location, Record
from ctxd.store.files import names_in, open_file, read_exactly, write_all
from ctxd.store.layout import segment_name, segment_numbers
from ctxd.store.log.frame import Head, seed_of
from ctxd.store.log.recovery import recover
from ctxd.store.log.scan import Scan, SegmentData, open_segment, scan_segment

_VERSION = 1
_CHUNK = 256 * 1024
_SUM_BYTES = 8
_HEADER_BYTES = 1024 * 1024
_THREADS = 2


class Covered(msgspec.Struct, frozen=True):
    """A segment as it was: its number, its bytes, the crc32 of them, and how many records it shows."""

    number: int
    size: int
    crc: int
    records: int


class Places:
    """Where the records from seq 1 on lie, in columns: an object for each would cost far more memory."""

    def __init__(
        self, covered: Sequence[Covered], ids: list[str], offsets: array[int], lengths: array[int]
    ) -> None:
        self.ids, self.offsets, self.lengths = ids, offsets, lengths
        self._numbers = [segment.number for segment in covered]
        self._ends: list[int] = []
        for segment in covered:
            self._ends.append(segment.records + (self._ends[-1] if self._ends else 0))
        self._index: dict[str, int] = {}

    def of(self, seq: int) -> Location:
        """Where the record of a seq has its data."""
        index = seq - 1
        number = self._numbers[bisect(self._ends, index)]
        return Location(number, self.offsets[index], self.lengths[index])

    def find(self, record_id: str) -> Location | None:
        """Where the record of an id has its data; None for one that is not among them."""
        if not self._index:
            self._index.update(zip(self.ids, range(1, len(self.ids) + 1)))
        seq = self._index.get(record_id)
        return None if seq is None else self.of(seq)

    def extended(self, covered: Sequence[Covered], records: Sequence[Record]) -> Places:
        """These and the records that follow."""
        return Places(
            covered,
            [*self.ids, *[record.id for record in records]],
            self.offsets + array("Q", [record.location.offset for record in records]),
            self.lengths + array("Q", [record.location.length for record in records]),
        )


NOWHERE = Places((), [], array("Q"), array("Q"))
"""The places of no record."""


class Bookmark(msgspec.Struct, frozen=True):
    """What is known of the log up to `last_seq`. `head` and `opening` are of the newest covered segment."""

    covered: tuple[Covered, ...]
    last_seq: int
    head: Head
    opening: SegmentData
    places: Places
    body: bytes


_Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class _Header(msgspec.Struct, frozen=True):
    v: int
    sid: str
    covered: tuple[Covered, ...]
    last_seq: int
    head: Head
    opening: SegmentData
    sizes: tuple[_Size, _Size, _Size, _Size]
    """Bytes of the ids, the offsets, the lengths, the body, in this order."""


_decode_header = msgspec.json.Decoder(_Header).decode


def bookmark_name(session_id: str) -> str:
    """File name of a session's bookmark."""
    return f"{session_id}.bookmark"


def load_bookmark(folder: int, session_id: str) -> Bookmark | None:
    """The session's bookmark, if there is a whole one and its segments are as they were. Blocking."""
    try:
        found = _read(folder, session_id)
        if found is not None and _is_true(folder, session_id, found.covered):
            return found
    except (OSError, StoreError):
        pass
    return None


def _save(folder: int, session_id: str, mark: Bookmark) -> None:
    """Replace the session's bookmark. Blocking. Raises OSError.

    Nothing is synced: one that a power cut leaves broken does not verify.
    """
    places = mark.places
    parts = ("\n".join(places.ids).encode(), places.offsets.tobytes(), places.lengths.tobytes(), mark.body)
    header = _Header(
        _VERSION,
        session_id,
        mark.covered,
        mark.last_seq,
        mark.head,
        mark.opening,
        (len(parts[0]), len(parts[1]), len(parts[2]), len(parts[3])),
    )
    pieces = [msgspec.json.encode(header) + b"\n", *parts]
    total = 0
    for piece in pieces:
        total = crc32(piece, total)
    name = bookmark_name(session_id)
    made = f"{name}.{os.getpid()}.tmp"
    fd = open_file(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=folder)
    try:
        write_all(fd, [*pieces, b"%08x" % total])
        os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made, dir_fd=folder)
        raise
    finally:
        os.close(fd)


def extend_bookmark(
    folder: int,
    session_id: str,
    last_seq: int,
    digest: Callable[[Sequence[Record]], bytes | None],
    *,
    worth: int,
) -> None:
    """Bring the session's bookmark up to `last_seq`, all of it acknowledged, or leave it. Blocking.

    `digest` gives the body for records, None where there is none; the body of what was there before stays
    in front of it. Where less than `worth` bytes have come since, or anything is not in order, nothing is
    done.
    """
    with contextlib.suppress(OSError, StoreError):
        mark = load_bookmark(folder, session_id)
        before = mark.covered if mark else ()
        numbers = segment_numbers(names_in(folder), session_id)
        fresh = [n for n in numbers if not before or n > before[-1].number]
        sizes = [os.stat(segment_name(session_id, n), dir_fd=folder).st_size for n in fresh]
        if sum(sizes) < worth:
            return
        scans = [_scan(folder, session_id, number) for number in fresh]
        after = mark.last_seq if mark else 0
        recovered = recover(scans, after=after, proven=after)
        head, opening = scans[-1].head, scans[-1].opening
        if recovered.found or recovered.last_seq != last_seq or head is None or opening is None:
            return
        body = digest(recovered.records)
        if body is None:
            return
        shown = Counter(record.location.segment for record in recovered.records)
        covered = (*before, *[_cover(folder, session_id, number, shown[number]) for number in fresh])
        places = (mark.places if mark else NOWHERE).extended(covered, recovered.records)
        _save(
            folder,
            session_id,
            Bookmark(covered, last_seq, head, opening, places, (mark.body if mark else b"") + body),
        )


def _scan(folder: int, session_id: str, number: int) -> Scan:
    with open_segment(folder, session_id, number) as fd:
        return scan_segment(fd, number, seed_of(session_id))


def _cover(folder: int, session_id: str, number: int, records: int) -> Covered:
    """A segment as it is now."""
    with open_segment(folder, session_id, number) as fd:
        size, crc = _sum_up(fd)
    return Covered(number, size, crc, records)


def _read(folder: int, session_id: str) -> Bookmark | None:
    """The session's bookmark; None for one that is broken, of another session or of another version."""
    fd = open_file(bookmark_name(session_id), os.O_RDONLY, dir_fd=folder)
    try:
        first, _, _ = read_exactly(fd, _HEADER_BYTES, 0).partition(b"\n")
        header = _decode_header(first)
        if os.fstat(fd).st_size != len(first) + 1 + sum(header.sizes) + _SUM_BYTES:
            return None
        parts: list[bytes] = []
        at, total = len(first) + 1, crc32(b"\n", crc32(first))
        for size in header.sizes:
            parts.append(read_exactly(fd, size, at))
            at, total = at + size, crc32(parts[-1], total)
        if os.pread(fd, _SUM_BYTES, at) != b"%08x" % total:
            return None
    except msgspec.MsgspecError:
        return None
    finally:
        os.close(fd)
    if header.v != _VERSION or header.sid != session_id:
        return None
    ids, offsets, lengths, body = parts
    columns = array("Q"), array("Q")
    columns[0].frombytes(offsets)
    columns[1].frombytes(lengths)
    places = Places(header.covered, ids.decode().split("\n"), *columns)
    return Bookmark(header.covered, header.last_seq, header.head, header.opening, places, body)


def _is_true(folder: int, session_id: str, covered: Sequence[Covered]) -> bool:
    """Whether every covered segment has the bytes it had. They are read whole, some at a time."""

    def is_same(segment: Covered) -> bool:
        with open_segment(folder, session_id, segment.number) as fd:
            return os.fstat(fd).st_size == segment.size and _sum_up(fd) == (segment.size, segment.crc)

    with ThreadPoolExecutor(_THREADS) as threads:
        return all(threads.map(is_same, covered))


def _sum_up(fd: int) -> tuple[int, int]:
    """Bytes and crc32 of a file. Reading and summing leave the interpreter to others."""
    room = memoryview(bytearray(_CHUNK))
    size = crc = 0
    while read := os.preadv(fd, [room], size):
        size, crc = size + read, crc32(room[:read], crc)
    return size, crc
