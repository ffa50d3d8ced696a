"""The growing end of a log: which segment is written, what comes next, what happens on failure.

Owns supersession (D3), the retry on a new segment (D9, D10) and idempotency by draft id (D1).
Everything here blocks and runs in the writer thread or in the opening thread, under one lock.
Must not know what records mean.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import msgspec

from ctxd.model.errors import Corrupt, SessionLocked, StorageFailed
from ctxd.model.records import Draft, Location, Record, Span
from ctxd.store.files import storage_error, storage_errors
from ctxd.store.layout import segment_name
from ctxd.store.log.bookmark import Places
from ctxd.store.log.frame import VERSION, Head, build_line, read_line, seed_of
from ctxd.store.log.lease import Lease
from ctxd.store.log.recovery import LeaseData, Recovered
from ctxd.store.log.scan import LEASE, SEGMENT, SegmentData, open_segment, read_data
from ctxd.store.log.segment import Segment, begin_segment
from ctxd.store.log.writer import Append

_MAX_NAMED_SPANS = 100

_Part = tuple[Head, bytes, bytes]
"""A record to write: head, facts, data."""


class Tail:
    """The end of one session's log, for the one process that holds its lease.

    `is_durable` is False from a failure until an append succeeds again. `last_seq` is acknowledged.
    """

    def __init__(
        self,
        folder: int,
        session_id: str,
        lease: Lease,
        recovered: Recovered,
        spans: Sequence[Span],
        *,
        next_number: int,
        segment_bytes: int,
        places: Places,
    ) -> None:
        self.epoch = recovered.max_epoch + 1
        self.last_seq = recovered.max_ack
        self.is_durable = True
        self._folder = folder
        self._session_id = session_id
        self._seed = seed_of(session_id)
        self._lease = lease
        self._spans = tuple(spans)[-_MAX_NAMED_SPANS:]
        self._number = next_number
        self._segment_bytes = segment_bytes
        self._segment: Segment | None = None
        self._is_announced = False
        self._is_closed = False
        self._is_lost = False
        self._lock = threading.Lock()
        self._unproven = _window(recovered)
        self._places = places
        self._ids = {record.id: record.location for record in recovered.records}

    def begin(self) -> list[Record]:
        """Open the first segment. Returns the records now in it: those written again, and the lease record.

        A failing disk is no error here: nothing is returned, and the next append tries again (D9).
        """
        with self._lock:
            try:
                return self._start_segment()
            except FileExistsError as error:
                raise self._lost() from error
            except OSError:
                self._abandon()
                self.is_durable = False
                return []

    def commit(self, group: Sequence[Append]) -> None:
        """Make the appends durable, in order, with one write and one sync.

        Raises SessionLocked when the lease is gone, StorageFailed once closed.
        """
        with self._lock:
            if self._is_closed:
                raise StorageFailed("the session is closed")
            if self._is_lost or not self._lease.is_held():
                raise self._lost()
            made: dict[str, Record] = {}
            error = None
            fresh = [self._fresh(append.drafts) for append in group]
            if any(fresh):
                try:
                    made = self._write(fresh)
                except OSError as failure:
                    error = storage_error(failure, "append to the session")
            for append in group:
                self._answer(append, made, error)

    def close(self) -> None:
        """End the segment and give up the lease."""
        with self._lock:
            self._is_closed = True
            self._abandon()
            self._lease.release()

    def _write(self, fresh: Sequence[Sequence[Draft]]) -> dict[str, Record]:
        """Write and sync; after a failure once more, on a new segment. Raises OSError."""
        for is_last in (False, True):
            try:
                if self._segment is None or self._segment.size >= self._segment_bytes:
                    self._start_segment()
                made = self._append(self._number_drafts(fresh))
            except FileExistsError as error:
                raise self._lost() from error
            except OSError:
                self._abandon()
                if is_last:
                    self.is_durable = False
                    raise
            else:
                self.is_durable = True
                return {record.id: record for record in made}
        raise AssertionError("unreachable")

    def _number_drafts(self, fresh: Sequence[Sequence[Draft]]) -> list[_Part]:
        parts: list[_Part] = []
        seen: set[str] = set()
        for drafts in fresh:
            new = [draft for draft in drafts if draft.id not in seen]
            seen.update(draft.id for draft in new)
            for index, draft in enumerate(new):
                batch = (index, len(new)) if len(new) > 1 else None
                seq = self.last_seq + len(parts) + 1
                parts.append((self._head(seq, draft.id, draft.type, batch), draft.facts, draft.data))
        return parts

    def _append(self, parts: Sequence[_Part]) -> list[Record]:
        """Append to the current segment; when it is durable, count it as acknowledged."""
        assert self._segment is not None
        pieces, records = self._build(parts, self._segment.number, self._segment.size)
        self._segment.append(pieces)
        self._settle(records)
        return records

    def _start_segment(self) -> list[Record]:
        """Begin the next segment; the first one also takes over unproven records and the lease.

        Records that are on disk but not proven durable are written again: that they can be read may
        be the page cache's word alone (D10). They are one batch with the segment's first line, so
        that nothing older is superseded before all of them are durable.
        """
        self._abandon()
        number, self._number = self._number, self._number + 1
        carried = [] if self._is_announced else self._carry_unproven()
        announcement = [] if self._is_announced else [self._announcement(self.last_seq + len(carried) + 1)]
        batch = carried or announcement
        count = len(batch) + 1
        opening = msgspec.json.encode(
            SegmentData(format=VERSION, min_reader=VERSION, base=self.last_seq + 1, sid=self._session_id)
        )
        first = (self._head(self.last_seq, f"segment-{number}", SEGMENT, (0, count)), b"", opening)
        marked = [
            (msgspec.structs.replace(head, batch=(index, count)), facts, data)
            for index, (head, facts, data) in enumerate(batch, 1)
        ]
        pieces, written = self._build([first, *marked], number, 0)
        name = segment_name(self._session_id, number)
        self._segment = begin_segment(self._folder, name, number, pieces)
        if self._is_announced:
            return []
        records = written[1:]
        self._settle(records)
        if carried:
            self._unproven = []
            records += self._append([self._announcement(self.last_seq + 1)])
        self._is_announced = True
        return records

    def _carry_unproven(self) -> list[_Part]:
        parts = []
        for record in self._unproven:
            _, data = self._read(record.location)
            head = msgspec.structs.replace(self._head(record.seq, record.id, record.type, None), at=record.at)
            parts.append((head, record.facts, data))
        return parts

    def _announcement(self, seq: int) -> _Part:
        """The lease record: who writes from here on, and what was found broken before (D4)."""
        holder = self._lease.holder
        body = LeaseData(
            pid=holder.pid,
            host=holder.host,
            start=holder.start,
            client=holder.client,
            recovered=self._spans,
        )
        return self._head(seq, f"lease-{self.epoch}", LEASE, None), b"", msgspec.json.encode(body)

    def _head(self, seq: int, record_id: str, kind: str, batch: tuple[int, int] | None) -> Head:
        now = time.time_ns() // 1_000_000
        return Head(VERSION, seq, self.epoch, self.last_seq, record_id, kind, now, batch)

    def _build(self, parts: Sequence[_Part], segment: int, offset: int) -> tuple[list[bytes], list[Record]]:
        """The pieces to write at the offset, and the records they will be."""
        pieces: list[bytes] = []
        records: list[Record] = []
        for head, facts, data in parts:
            front, body, end = build_line(head, facts, data, self._seed)
            place = Location(segment, offset + len(front), len(body))
            records.append(Record(head.seq, head.ep, head.id, head.type, head.at, facts, place))
            pieces += (front, body, end)
            offset += len(front) + len(body) + len(end)
        return pieces, records

    def _settle(self, records: Sequence[Record]) -> None:
        if records:
            self.last_seq = records[-1].seq
            self._ids.update((record.id, record.location) for record in records)
            self._lease.publish(self.last_seq)

    def _answer(self, append: Append, made: dict[str, Record], error: Exception | None) -> None:
        for draft in append.drafts:
            if draft.id in made:
                append.records.append(made[draft.id])
            elif (place := self._find(draft.id)) is not None:
                try:
                    append.records.append(self._read(place)[0])
                except Corrupt as corrupt:
                    append.error = corrupt
            else:
                append.error = error

    def _find(self, record_id: str) -> Location | None:
        return self._ids.get(record_id) or self._places.find(record_id)

    def _fresh(self, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts that are not in the log yet, each id once."""
        fresh: dict[str, Draft] = {}
        for draft in drafts:
            if self._find(draft.id) is None:
                fresh.setdefault(draft.id, draft)
        return list(fresh.values())

    def _read(self, location: Location) -> tuple[Record, bytes]:
        """An older record whole. Raises Corrupt when it no longer verifies, OSError."""
        with open_segment(self._folder, self._session_id, location.segment) as fd:
            pieces = read_data(fd, location, self._seed)
        if pieces is None:
            raise Corrupt("a record of this session no longer matches its checksum")
        line = b"".join(pieces)
        parsed = read_line(line, memoryview(line), 0, len(line), self._seed)
        if parsed is None:
            raise Corrupt("a record of this session no longer reads as one")
        head, facts, _ = parsed
        return Record(head.seq, head.ep, head.id, head.type, head.at, facts, location), pieces[1]

    def _abandon(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _lost(self) -> SessionLocked:
        """Someone else writes this session now; this process stops for good."""
        self._abandon()
        self._is_lost = True
        self.is_durable = False
        with storage_errors("read the lock file"):
            holder = self._lease.current_holder()
        return SessionLocked(
            "another process took over this session",
            hint="open it again",
            holder=holder.as_facts(),
        )


def _window(recovered: Recovered) -> list[Record]:
    """Visible records that no later line proves durable; announcements at the end are not worth keeping."""
    window = [r for r in recovered.records if r.seq > recovered.max_ack]
    while window and window[-1].type == LEASE:
        window.pop()
    return window
