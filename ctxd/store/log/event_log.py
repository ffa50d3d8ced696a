"""One session's log as the rest of ctxd sees it: open, append, read, follow (D1-D5, D8).

Owns who may do what: a holder of the lease appends, everyone else reads what is acknowledged, and a
damaged log is read only. Must not know what records mean. `open_log`, `read`, `refresh` and `close`
block and belong in a worker thread; `append` is awaited.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from ctxd.model.errors import (
    Corrupt,
    CtxdError,
    Damaged,
    ReadOnly,
    SessionLocked,
    SessionNotFound,
    StorageFailed,
)
from ctxd.model.records import Draft, Holder, Location, LogHealth, Record, Span
from ctxd.store.files import names_in, open_folder, storage_errors
from ctxd.store.layout import Layout, lock_name, segment_numbers
from ctxd.store.log.bookmark import NOWHERE, Bookmark, extend_bookmark, load_bookmark
from ctxd.store.log.frame import VERSION, check_draft, head_of, seed_of
from ctxd.store.log.lease import acquire_lease, probe_lease
from ctxd.store.log.quarantine import digest_span, keep_span
from ctxd.store.log.recovery import Recovered, recover
from ctxd.store.log.scan import LEASE, SEGMENT, Scan, open_segment, read_data, scan_segment
from ctxd.store.log.tail import Tail
from ctxd.store.log.writer import Writer

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment that has reached this size is followed by a new one (D3)."""

Mode = Literal["write", "read"]


class SessionLog:
    """An open log.

    `records` are those found when it was opened, in order of seq, `lease` records included; it is
    the caller's to fold and to clear. `recovered` is the newest span of bytes that was skipped and
    that no lease record had named before. `holder` is the other process that writes the session,
    None when there is none. Where the log was opened at a `bookmark`, `records` are those behind it.
    """

    def __init__(self, folder: int, session_id: str, writer: Writer) -> None:
        self.session_id = session_id
        self.records: list[Record] = []
        self.health = LogHealth("clean")
        self.recovered: Span | None = None
        self.holder: Holder | None = None
        self.bookmark: Bookmark | None = None
        self._folder = folder
        self._seed = seed_of(session_id)
        self._writer = writer
        self._tail: Tail | None = None
        self._last_seen = 0
        self._newest: Scan | None = None
        self._resume_at = 0
        self._sizes: dict[int, int] = {}
        self._max_epoch = 0
        self._known: frozenset[Span] = frozenset()

    @property
    def epoch(self) -> int:
        """The lease's epoch; for a reader the highest one seen."""
        return self._tail.epoch if self._tail else self._max_epoch

    @property
    def last_seq(self) -> int:
        """The highest acknowledged seq; for a reader the highest one shown."""
        return self._tail.last_seq if self._tail else self._last_seen

    @property
    def durable(self) -> bool:
        """False while the disk refuses appends (D9); every append tries again."""
        return self._tail.is_durable if self._tail else True

    @property
    def is_writable(self) -> bool:
        """Whether this process holds the lease of an undamaged log."""
        return self._tail is not None

    async def append(self, drafts: Sequence[Draft]) -> list[Record]:
        """Append all drafts or none; returns their records once they are durable (D1).

        A draft whose id is in the log is not written again: the old record is returned. An error
        means unknown: repeat with the same ids. Raises TooLarge, ValueError (see `check_draft`),
        StorageFull, StorageFailed, Damaged, SessionLocked with the `holder`, ReadOnly.
        """
        for draft in drafts:
            check_draft(draft)
            if draft.type in (SEGMENT, LEASE):
                raise ValueError(f"records of type {draft.type} are the store's own")
        if self._tail is None:
            raise self.refusal()
        return await self._writer.append(self._tail, drafts) if drafts else []

    def read(self, location: Location) -> bytes:
        """The body of a record, verified against the checksum of its line.

        Raises Corrupt when it does not match any more, StorageFailed when it cannot be read.
        """
        return self._line(location)[1]

    def time_of(self, location: Location) -> int:
        """When a record was made, milliseconds since 1970; verified and raising as `read`."""
        return head_of(self._line(location)[0]).at

    def read_part(self, location: Location, start: int, length: int) -> bytes:
        """`length` bytes of a record's body from byte `start` on, as they lie on disk.

        Not verified: for callers that hold a digest of just these bytes, so that one message of a
        long record costs one message. Raises StorageFailed, and Corrupt when the file is shorter.
        """
        with (
            storage_errors("read the session"),
            open_segment(self._folder, self.session_id, location.segment) as fd,
        ):
            data = os.pread(fd, length, location.offset + start)
        if len(data) != length:
            raise Corrupt(
                "a record is shorter than its log said", segment=location.segment, offset=location.offset
            )
        return data

    def measure(self) -> tuple[int, int]:
        """Bytes and number of segments on disk now. Raises StorageFailed."""
        with storage_errors("measure the session"):
            names = os.listdir(self._folder)  # noqa: PTH208 - a descriptor, not a path
            numbers = segment_numbers(names, self.session_id)
            sizes = []
            for number in numbers:
                with open_segment(self._folder, self.session_id, number) as fd:
                    sizes.append(os.fstat(fd).st_size)
        return sum(sizes), len(sizes)

    def refresh(self) -> list[Record]:
        """New acknowledged records of a log that another process writes; `[]` for the holder itself.

        `health` and `holder` are brought up to date. Raises StorageFailed.
        """
        if self._tail is not None:
            return []
        with storage_errors("follow the session"):
            return self._look_again()

    def leave_bookmark(self, digest: Callable[[Sequence[Record]], bytes | None], *, worth: int) -> None:
        """Spare the next opening to read what is here now; blocking, when no append is on its way any more.

        `digest` turns records into the body they are remembered by, None where that cannot be; bodies are
        joined. Nothing is left where the log has grown by less than `worth` bytes since the last one, where
        anything of it is not in order, or where it cannot be written.
        """
        tail = self._tail
        if tail is None or not tail.is_durable or self.health.spans:
            return
        extend_bookmark(self._folder, self.session_id, self.last_seq, digest, worth=worth)

    def close(self) -> None:
        """Give up the lease and the files; calling again does nothing. Await pending appends first."""
        if self._tail is not None:
            self._tail.close()
        if self._folder >= 0:
            folder, self._folder = self._folder, -1
            os.close(folder)

    def _line(self, location: Location) -> tuple[bytes, bytes, bytes]:
        with (
            storage_errors("read the session"),
            open_segment(self._folder, self.session_id, location.segment) as fd,
        ):
            pieces = read_data(fd, location, self._seed)
        if pieces is None:
            raise Corrupt(
                "a record no longer matches its checksum",
                hint="session/health lists what is damaged",
                segment=location.segment,
                offset=location.offset,
            )
        return pieces

    def _look_again(self) -> list[Record]:
        scans, recovered = self._scan_settled(self._resume_at)
        if scans:
            self._note(scans, recovered)
        return recovered.records

    def _open_to_read(self) -> None:
        scans, recovered = self._scan_settled(0)
        if recovered.min_reader > VERSION:
            raise StorageFailed("the session was written by a newer version", hint="update ctxd")
        self._load(scans, recovered)

    def _open_to_write(self, layout: Layout, client: str, segment_bytes: int) -> None:
        lease = acquire_lease(self._folder, lock_name(self.session_id), client)
        try:
            scans, recovered = self._scan_behind_bookmark() or self._scan_whole()
            if max(recovered.format, recovered.min_reader) > VERSION:
                raise ReadOnly("the session was written by a newer version", hint="update ctxd")
            self._load(scans, recovered)
            self._quarantine(layout)
            if recovered.is_damaged:
                lease.release()
                return
            self._tail = Tail(
                self._folder,
                self.session_id,
                lease,
                recovered,
                [span for span in self.health.spans if span not in self._known],
                next_number=max(self._sizes, default=0) + 1,
                places=self.bookmark.places if self.bookmark else NOWHERE,
                segment_bytes=segment_bytes,
            )
        except BaseException:
            lease.release()
            raise
        written = self._tail.begin()
        if written:
            while self.records and self.records[-1].seq >= written[0].seq:
                self.records.pop()
            self.records += written

    def _scan_whole(self) -> tuple[list[Scan], Recovered]:
        scans = self._scan(0)
        return scans, recover(scans)

    def _scan_behind_bookmark(self) -> tuple[list[Scan], Recovered] | None:
        """What came after the bookmark; None without one, and wherever anything is not plainly in order."""
        mark = load_bookmark(self._folder, self.session_id)
        if mark is None:
            return None
        newest = mark.covered[-1]
        self._newest = Scan(newest.number, newest.size, mark.head, mark.opening)
        scans = self._scan(newest.size)
        recovered = recover(scans, after=mark.last_seq, proven=mark.last_seq)
        is_superseded = any(s.opening is None or s.opening.base <= mark.last_seq for s in scans[1:])
        if is_superseded or recovered.found or scans[0].number != newest.number:
            self._newest = None
            return None
        self._sizes.update((covered.number, covered.size) for covered in mark.covered)
        self._last_seen, self._resume_at = mark.last_seq, newest.size
        self.bookmark = mark
        return scans, recovered

    def _load(self, scans: Sequence[Scan], recovered: Recovered) -> None:
        self.records = recovered.records
        self._note(scans, recovered)
        fresh = [span for span in self.health.spans if span.reason == "torn" and span not in self._known]
        self.recovered = fresh[-1] if fresh else None

    def _quarantine(self, layout: Layout) -> None:
        """Copy what did not verify. On a full disk the copy waits for the next opening: the bytes stay."""
        with contextlib.suppress(OSError):
            folder = open_folder(layout.quarantine)
            try:
                for span in self.health.spans:
                    with open_segment(self._folder, self.session_id, span.segment) as fd:
                        keep_span(folder, fd, span)
            finally:
                os.close(folder)

    def _note(self, scans: Sequence[Scan], recovered: Recovered) -> None:
        """Remember what was seen, where to look on, and what it says about the log's health."""
        self._last_seen = recovered.last_seq
        self._max_epoch = max(self._max_epoch, recovered.max_epoch)
        self._sizes.update((scan.number, scan.size) for scan in scans)
        if recovered.records:
            number = recovered.records[-1].location.segment
            self._newest = next(scan for scan in scans if scan.number == number)
            self._resume_at = recovered.starts[-1]
        self._known |= recovered.known
        spans = {(s.segment, s.offset): s for s in self.health.spans}
        spans.update(((s.segment, s.offset), s) for s in self._digest(recovered))
        is_torn = any(s.reason == "torn" and s not in self._known for s in spans.values())
        is_damaged = recovered.is_damaged or self.health.status == "damaged"
        self.health = LogHealth(
            status="damaged" if is_damaged else "torn" if is_torn else "clean",
            spans=tuple(spans[key] for key in sorted(spans)),
            bytes=sum(self._sizes.values()),
            segments=len(self._sizes),
        )

    def _digest(self, recovered: Recovered) -> list[Span]:
        spans = []
        for found in recovered.found:
            with open_segment(self._folder, self.session_id, found.segment) as fd:
                spans.append(digest_span(fd, found))
        return spans

    def _scan_settled(self, offset: int) -> tuple[list[Scan], Recovered]:
        """Scan from the newest known segment on; again when a holder appeared while scanning."""
        name = lock_name(self.session_id)
        while True:
            held = probe_lease(self._folder, name)
            scans = self._scan(offset)
            acked = held[1] if held else None
            if held or probe_lease(self._folder, name) is None:
                self.holder = held[0] if held else None
                return scans, recover(scans, after=self._last_seen, acked=acked)

    def _scan(self, offset: int) -> list[Scan]:
        known = self._newest
        scans = []
        for number in segment_numbers(names_in(self._folder), self.session_id):
            if known is not None and number < known.number:
                continue
            with open_segment(self._folder, self.session_id, number) as fd:
                if known is None or number > known.number:
                    scans.append(scan_segment(fd, number, self._seed))
                    continue
                begin = offset if known.opening else 0
                scan = scan_segment(fd, number, self._seed, offset=begin)
            if known.head is not None and known.opening is not None:
                scan.head = msgspec.structs.replace(known.head, batch=None)
                scan.opening = known.opening
                scan.max_epoch = max(scan.max_epoch, known.head.ep)
            scans.append(scan)
        return scans

    def refusal(self) -> CtxdError:
        """Why this process may not append."""
        if self.health.status == "damaged":
            return Damaged(
                "acknowledged records of this session are unreadable; it is read-only",
                hint="session/health lists the damage; fork the session to go on",
            )
        if self.holder is not None:
            return SessionLocked(
                "another process writes this session",
                hint="fork it, or close it there",
                holder=self.holder.as_facts(),
            )
        return ReadOnly("the session was opened read-only", hint="open it again without readOnly")


def open_log(
    layout: Layout,
    session_id: str,
    *,
    writer: Writer,
    client: str = "",
    mode: Mode = "write",
    create: bool = False,
    segment_bytes: int = SEGMENT_BYTES,
) -> SessionLog:
    """Open a session's log; blocking.

    `write` takes the lease and begins a new segment with a new epoch; a log found damaged is opened
    without lease, read only (D5). A disk that refuses the new segment leaves `durable` False (D9).
    `client` is told to others who find the session held.

    Raises SessionLocked (`write` only) with the `holder`, SessionNotFound unless `create`, ReadOnly
    for a log of a newer format, InvalidParams for a bad id, StorageFull, StorageFailed.
    """
    is_new = not layout.has_session(session_id)
    if is_new and not (create and mode == "write"):
        raise SessionNotFound(f"no session {session_id}", hint="session/list names those there are")
    with storage_errors("open the session"):
        sessions = open_folder(layout.sessions)
        try:
            folder = open_folder(session_id, dir_fd=sessions, create=mode == "write")
        finally:
            os.close(sessions)
        log = SessionLog(folder, session_id, writer)
        try:
            if mode == "read":
                log._open_to_read()
            else:
                log._open_to_write(layout, client, segment_bytes)
        except BaseException:
            log.close()
            raise
    return log
