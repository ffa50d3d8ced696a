"""From what the segments hold to what the log says: prefix, supersession, torn, damaged (D3-D5).

Pure. Segments are judged in order of their numbers:

- A segment counts once its opening batch (its first line and the records copied with it) is whole;
  until then nothing in it was acknowledged, and it supersedes nothing.
- Records with seq >= the base of a later segment are superseded: kept, not shown.
- A seq that is missing at or below the highest acknowledged one is a gap: the log is damaged, and
  what lies behind the gap is still shown. A seq missing above it was never acknowledged: everything
  from there on is dropped.
- A batch that is not whole at the end of the log was never acknowledged: dropped.
- What an older epoch wrote behind a newer one's back is damage, whatever it says.

Bytes that do not verify and hide no acknowledged record are torn. Once a lease record has named
them (D4), they no longer count against the log's status.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from ctxd.model.records import Record, Span
from ctxd.store.log.frame import VERSION
from ctxd.store.log.scan import Scan

Reason = Literal["torn", "damaged", "gap", "stale"]


class Found(msgspec.Struct, frozen=True):
    """Bytes to be reported: a `Span` before its digest is known. A gap has length 0."""

    segment: int
    offset: int
    length: int
    reason: Reason


class LeaseData(msgspec.Struct, frozen=True, omit_defaults=True):
    """Body of a lease record: who took the lease, and the spans found when it was taken (D4)."""

    pid: int
    host: str
    start: str
    client: str = ""
    recovered: tuple[Span, ...] = ()


class Recovered(msgspec.Struct, frozen=True):
    """What the segments say together.

    `records`: the visible prefix, with holes only where the log is damaged; those above `max_ack`
    are not proven durable. `starts`: the offsets of their lines. `known`: spans that a lease record
    has named. `format` and `min_reader`: the newest seen (D13).
    """

    records: list[Record]
    starts: list[int]
    last_seq: int
    max_ack: int
    max_epoch: int
    found: tuple[Found, ...]
    known: frozenset[Span]
    format: int
    min_reader: int

    @property
    def is_damaged(self) -> bool:
        """True when acknowledged records are unreadable, or two writers were at work."""
        return any(f.reason != "torn" for f in self.found)


def recover(scans: Sequence[Scan], *, after: int = 0, acked: int | None = None, proven: int = 0) -> Recovered:
    """Judge scanned segments, given in order of their numbers.

    `after`: records up to this seq are already known and skipped. `acked`: a live holder has
    acknowledged up to here and may be writing; what is above is in progress: neither shown nor torn.
    `proven`: known from elsewhere to be durable up to here.
    """
    judge = _Judge(scans, after, acked, proven)
    judge.walk()
    openings = [s.opening for s in scans if s.opening]
    return Recovered(
        records=judge.records,
        starts=judge.starts,
        last_seq=judge.next - 1,
        max_ack=judge.max_ack,
        max_epoch=max((s.max_epoch for s in scans), default=0),
        found=tuple(judge.settled()),
        known=frozenset(span for scan in scans for body in scan.leases for span in _named(body)),
        format=max((o.format for o in openings), default=VERSION),
        min_reader=max((o.min_reader for o in openings), default=VERSION),
    )


class _Judge:
    def __init__(self, scans: Sequence[Scan], after: int, acked: int | None, proven: int) -> None:
        self.records: list[Record] = []
        self.starts: list[int] = []
        self.next = after + 1
        self._scans = scans
        self._after = after
        self._is_live = acked is not None
        self._found: list[Found] = []
        self._is_dropping = False
        self._stale = _stale_segments(scans)
        trusted = [s.max_ack for s in scans if s.number not in self._stale]
        self.max_ack = max(acked or 0, proven, *trusted, after if self._is_live else 0, 0)
        self._limits = self._find_limits()

    def walk(self) -> None:
        for scan, limit in zip(self._scans, self._limits, strict=True):
            if scan.number in self._stale:
                self._note(scan, 0, scan.size, "stale")
            elif limit is None:
                self._note(scan, 0, scan.size, "torn")
            else:
                if scan.opening is None:
                    self._note(scan, 0, scan.starts[0], "damaged")
                    self._note_gap(scan.number, 0)
                self._take(scan, limit)
                self._judge_spans(scan, limit)
        self._drop_broken_batch()
        if self.next <= self.max_ack:
            self._note_gap(*((self._scans[-1].number, self._scans[-1].size) if self._scans else (1, 0)))

    def settled(self) -> list[Found]:
        """The findings in order, neighbours joined, without what a live holder may be writing."""
        if self._is_live and self._scans:
            newest = self._scans[-1]
            written = [newest.end_of(i) for i, r in enumerate(newest.records) if r.seq < self.next]
            limit = (newest.number, max(written, default=0))
            return _join(f for f in self._found if (f.segment, f.offset) < limit or f.reason != "torn")
        return _join(self._found)

    def _find_limits(self) -> list[int | None]:
        """Per segment the seq from which it is superseded; None for one that does not count."""
        limits: list[int | None] = []
        lowest = 2**63
        for scan in reversed(self._scans):
            base = None if scan.number in self._stale else self._base_of(scan)
            limits.append(None if base is None else lowest)
            lowest = lowest if base is None else min(lowest, base)
        return limits[::-1]

    def _base_of(self, scan: Scan) -> int | None:
        if scan.head is None or scan.opening is None:
            return scan.records[0].seq if scan.records else None
        count = scan.head.batch[1] if scan.head.batch else 1
        is_whole = all(scan.batches.get(i - 1) == (i, count) for i in range(1, count))
        return scan.opening.base if is_whole or self.max_ack >= scan.opening.base + count - 2 else None

    def _take(self, scan: Scan, limit: int) -> None:
        """Show the records that continue the prefix; note every other one that is not superseded."""
        epoch = _epoch_of(scan)
        for position, record in enumerate(scan.records):
            seq = record.seq
            if seq >= limit:
                if scan.acks[position] >= limit:
                    self._note_line(scan, position, "stale")
            elif record.epoch != epoch:
                self._note_line(scan, position, "stale")
            elif seq == self.next and not self._is_dropping:
                if not self._is_live or seq <= self.max_ack:
                    self._show(scan, position)
            elif seq <= self._after or (self._is_live and seq > self.max_ack):
                continue
            elif seq < self.next:
                self._note_line(scan, position, "damaged" if seq <= self.max_ack else "torn")
            elif self.next <= self.max_ack:
                self._note_gap(scan.number, scan.starts[position])
                self._show(scan, position)
            else:
                self._is_dropping = True
                self._note_line(scan, position, "torn")

    def _show(self, scan: Scan, position: int) -> None:
        record = scan.records[position]
        self.records.append(record)
        self.starts.append(scan.starts[position])
        self.next = record.seq + 1

    def _judge_spans(self, scan: Scan, limit: int) -> None:
        """A span is damage when an acknowledged seq is missing right where it lies."""
        for offset, length in scan.spans:
            position = bisect(scan.starts, offset)
            if not position and scan.opening is None:
                continue
            before = scan.records[position - 1].seq if position else _base(scan) - 1
            behind = scan.records[position].seq if position < len(scan.records) else limit
            hides_acknowledged = before + 1 < min(behind, limit) and before < self.max_ack
            self._note(scan, offset, length, "damaged" if hides_acknowledged else "torn")

    def _drop_broken_batch(self) -> None:
        if not self.records:
            return
        last = self.records[-1]
        scan = next(s for s in self._scans if s.number == last.location.segment)
        index, count = scan.batches.get(bisect(scan.starts, self.starts[-1]) - 1, (0, 1))
        first = last.seq - index
        if index == count - 1 or first <= self.max_ack:
            return
        while self.records and self.records[-1].seq >= first:
            self.records.pop()
            self._note_line(scan, bisect(scan.starts, self.starts.pop()) - 1, "torn")
        self.next = first

    def _note_line(self, scan: Scan, position: int, reason: Reason) -> None:
        start = scan.starts[position]
        self._note(scan, start, min(scan.end_of(position) + 1, scan.size) - start, reason)

    def _note(self, scan: Scan, offset: int, length: int, reason: Reason) -> None:
        if length:
            self._found.append(Found(scan.number, offset, length, reason))

    def _note_gap(self, segment: int, offset: int) -> None:
        self._found.append(Found(segment, offset, 0, "gap"))


def _stale_segments(scans: Sequence[Scan]) -> set[int]:
    """Segments of an older epoch than one before them: their writer had lost the lease."""
    stale, newest = set(), 0
    for scan in scans:
        if scan.records or scan.head:
            epoch = _epoch_of(scan)
            if epoch < newest:
                stale.add(scan.number)
            newest = max(newest, epoch)
    return stale


def _epoch_of(scan: Scan) -> int:
    return scan.head.ep if scan.head else scan.max_epoch


def _base(scan: Scan) -> int:
    return scan.opening.base if scan.opening else scan.records[0].seq


def _named(lease: bytes) -> tuple[Span, ...]:
    try:
        return msgspec.json.decode(lease, type=LeaseData).recovered
    except msgspec.MsgspecError:
        return ()


def _join(found: Iterable[Found]) -> list[Found]:
    joined: list[Found] = []
    for item in sorted(found, key=lambda f: (f.segment, f.offset, f.length)):
        last = joined[-1] if joined else None
        if (
            last
            and last.length
            and (last.segment, last.reason) == (item.segment, item.reason)
            and item.offset == last.offset + last.length
        ):
            joined[-1] = Found(last.segment, last.offset, last.length + item.length, last.reason)
        else:
            joined.append(item)
    return joined
