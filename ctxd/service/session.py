"""One session: its log, its folded state, its lane. The only writer of its events.

Order is the point of this module: an event is on disk before it is applied, and applied before
anyone is told. Everything that changes a session holds its lane.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from ctxd.core.budget import Limits, Window, limit, resolve_window
from ctxd.core.facts import Weigher, weigh
from ctxd.core.fold import SessionState
from ctxd.core.projection import Projection, project
from ctxd.dialects import registry as dialects
from ctxd.dialects.base import Dialect
from ctxd.model import events
from ctxd.model.blocks import Media, MessageView
from ctxd.model.events import (
    AnyEvent,
    Load,
)
from ctxd.model.messages import Native
from ctxd.model.records import Draft, Record
from ctxd.service.bodies import IN_THREAD_BYTES, Bodies
from ctxd.service.digest import digest, read_digest
from ctxd.service.environment import Environment
from ctxd.service.files.confined import Files
from ctxd.service.homes import beside
from ctxd.service.intake import guarding
from ctxd.service.reading import placed, read_events
from ctxd.service.requests.rendering import Rendering, Shown, encode
from ctxd.store.indexes.outputs import OutputIndex
from ctxd.store.ledger import Ledger
from ctxd.store.log.event_log import SessionLog
from ctxd.tokenizer.catalog import Price
from ctxd.tokenizer.windows import price_of, window_of

if TYPE_CHECKING:
    from ctxd.service.compacting.compactions import Planned, Waiting
    from ctxd.service.requests.steering import Note


class Written(msgspec.Struct, frozen=True):
    """An event to commit with the native messages of its body, in the order its facts name them."""

    event: AnyEvent
    bodies: tuple[bytes, ...] = ()
    id: str = ""


class Prepared(msgspec.Struct, frozen=True):
    """What is known of a prepared request until its report comes."""

    request_id: str
    load: Load
    predicted: int
    epoch: int
    generation: int


class Session:
    """A session that is open in this daemon. `lane` orders everything that writes."""

    def __init__(
        self,
        log: SessionLog,
        ledger: Ledger,
        environment: Environment,
        session_id: str,
        index_path: Path | None,
        snapshot_store: Path,
    ) -> None:
        self.log = log
        self.ledger = ledger
        self.environment = environment
        self.session_id = session_id
        self.state = SessionState()
        self.bodies = Bodies(log, ledger)
        self.rendering = Rendering()
        self.lane = anyio.Lock(fast_acquire=True)
        self.search_lock = anyio.Lock()
        self.output_index = OutputIndex(index_path and index_path / "outputs.sqlite3")
        self.message_index = OutputIndex(index_path and index_path / "messages.sqlite3")
        self.files = Files(lambda workspace: beside(workspace, environment.host.folders))
        self.snapshot_store = snapshot_store
        self.prepared: Prepared | None = None
        self.untold: list[Note] = []
        self.last_shown: list[Shown] | None = None
        self._flight: anyio.Event | None = None
        self.plans: dict[str, Planned] = {}
        self.waiting: dict[str, Waiting] = {}
        self._attempt: tuple[int, int] | None = None
        self._catalog: tuple[str, int | None] = ("", None)
        self._price: Price | None = None
        self.unreadable: list[int] = []
        self.rescans = guarding.Rescans()
        self._resume()
        self._take(log.records)
        log.records.clear()

    @property
    def home(self) -> str:
        """The name of its workspace's folder in the state folder."""
        return self.snapshot_store.parent.name

    @property
    def writable(self) -> bool:
        return self.log.is_writable

    @property
    def dialect(self) -> Dialect:
        """The dialect it speaks now."""
        return dialects.get(self.state.dialect)

    def name_of(self, native: Native) -> str:
        """The dialect a message is in."""
        return native.dialect or (self.state.created.dialect if self.state.created else "")

    def view(self, native: Native) -> MessageView:
        """A message of this session's as blocks, whatever dialect it is in. Raises BadShape."""
        return dialects.get(self.name_of(native)).view(native.value)

    def own(self, natives: Sequence[Native]) -> Sequence[Native]:
        """Messages that have just come, as ones of the dialect spoken now."""
        created = self.state.created
        if created is None or created.dialect == self.state.dialect:
            return natives
        return [msgspec.structs.replace(native, dialect=self.state.dialect) for native in natives]

    def make(self, text: str) -> Native:
        """A message of ctxd's own, said as the user's in the dialect spoken now."""
        value = self.dialect.make("user", text)
        return self.own([Native(raw=encode(value), value=value)])[0]

    async def commit(self, written: Sequence[Written]) -> None:
        """Make events durable together, then apply them. The caller holds the lane.

        Raises SessionLocked, ReadOnly, StorageFull, StorageFailed, Damaged; then nothing was applied.
        """
        if sum([len(body) for item in written for body in item.bodies]) > IN_THREAD_BYTES:
            drafts = await anyio.to_thread.run_sync(self._drafts, written)
        else:
            drafts = self._drafts(written)
        was_durable = self.log.durable
        try:
            records = await self.log.append(drafts)
        finally:
            if self.log.durable != was_durable:
                self.environment.host.session_changed(self)
        for item, record in zip(written, records, strict=True):
            self._apply(item.event, record)
            for facts, raw in zip(placed(item.event), item.bodies, strict=True):
                self.bodies.remember(facts.id, raw)
        self.environment.watching.note(self, [item.event for item in written])

    def refresh(self) -> None:
        """Take in what the holder of a read-only session has written since. A writer has missed nothing."""
        if not self.writable:
            self._take(self.log.refresh())

    async def natives(self, ids: Sequence[str]) -> list[Native]:
        """Messages of the transcript or the view, decoded. Large reads are decoded in a thread."""
        raws = await self.bodies.read(ids)
        if sum(map(len, raws)) > 1_000_000:
            natives = await anyio.to_thread.run_sync(_decode_all, raws)
        else:
            natives = _decode_all(raws)
        if not self.state.is_mixed:
            return natives
        return [
            msgspec.structs.replace(native, dialect=self.bodies.dialect_of(message_id))
            for message_id, native in zip(ids, natives, strict=True)
        ]

    def window(self) -> Window:
        """The session's context window and where the number comes from."""
        model = self.state.model
        catalog = self._catalog[1] if self._catalog[0] == model.id else None
        return resolve_window(model, self.environment.settings.model.windows, catalog)

    async def look_up_window(self) -> None:
        """Ask the catalog about the session's model, once per model; the first look-up ever is slow."""
        model = self.state.model
        if not model.id or self._catalog[0] == model.id:
            return
        option = self.environment.settings.storage.cache

        def look() -> tuple[int | None, Price | None]:
            cache = Path(option).expanduser() if option else None
            window = window_of(model.id, model.provider, cache=cache)
            return window, price_of(model.id, model.provider, cache=cache)

        window, self._price = await anyio.to_thread.run_sync(look)
        self._catalog = (model.id, window)

    def money(self, written: int, saved: int) -> tuple[float | None, float | None]:
        """US dollars for writing and for reading so many cached tokens; None where a price is not known."""
        price = self._price
        if price is None:
            return None, None
        write = price.cache_write if price.cache_write is not None else price.input
        read = price.cache_read if price.cache_read is not None else price.input
        return (
            None if write is None else round(write * max(0, written) / 1e6, 6),
            None if read is None else round(read * max(0, saved) / 1e6, 6),
        )

    def tokens(self, end: int | None = None) -> int:
        """Calibrated tokens of the view's messages, or of its first `end`; system and tools not included."""
        state = self.state
        if end is None or end == len(state.view):
            return round(state.view_tokens * state.ratio) + state.view_media
        entries = state.view[:end]
        return round(sum(e.tokens for e in entries) * state.ratio) + sum(e.media for e in entries)

    def limits(self) -> Limits | None:
        return limit(self.window(), self.state.model, self.environment.settings.budget)

    async def weigher(self) -> Weigher:
        """How to weigh text in this session's base encoding."""
        encoding = self.state.created.encoding if self.state.created else "o200k_base"
        return await self.environment.weigher(self.state.model, encoding)

    def media_weigher(self) -> Callable[[Media], int]:
        """How to weigh media for this session's model."""
        return self.environment.media_weigher(self.state.model)

    def project(self, pending: Load | None = None, pending_bytes: int = 0) -> Projection:
        """The projection of the next request. Constant time but for the newest unit."""
        return project(
            self.state,
            self.limits(),
            pending=pending,
            pending_bytes=pending_bytes,
            newest=self._newest_load(),
        )

    async def settle(self) -> None:
        """Scan and count what was appended without. The caller holds the lane."""
        await self.rescan()
        waiting = sorted(self.state.uncounted, key=self.state.positions.__getitem__)
        if not waiting:
            return
        weigher = await self.weigher()
        counts: list[tuple[str, int, tuple[int, ...]]] = []
        for start in range(0, len(waiting), 512):
            ids = waiting[start : start + 512]
            natives = await self.natives(ids)
            counts += await self.environment.counting.run(_weigh_all, self.view, ids, natives, weigher)
        counted = events.TokensCounted(counts=tuple(counts))
        if self.writable:
            await self.commit([Written(counted)])
        else:
            self.state.apply(counted, self.state.updated_at)

    async def rescan(self) -> None:
        """Scan what could not be scanned; what held secrets leaves the ledger. The caller holds the lane."""
        if self.writable and (found := await guarding.rescan(self)) is not None:
            await self.commit([Written(found.event, found.bodies)])
            self.rendering.abridged.clear()
            await anyio.to_thread.run_sync(self.output_index.begin_anew)
            self.environment.host.view_changed(self, "guard")
        if self.writable and len(self.state.withdrawn) > self.rescans.dropped:
            self.rescans.dropped = await anyio.to_thread.run_sync(guarding.drop, self)

    @property
    def compacting(self) -> bool:
        """Whether a compaction runs."""
        return self._flight is not None

    def start_flight(self) -> None:
        """A compaction begins; there must be none."""
        assert self._flight is None
        self._flight = anyio.Event()

    def end_flight(self) -> None:
        """The compaction has ended, however it did."""
        assert self._flight is not None
        self._flight.set()
        self._flight = None

    async def wait_for_flight(self) -> None:
        """Return once no compaction runs. Must be called without the lane."""
        while self._flight is not None:
            await self._flight.wait()

    def must_shrink(self) -> bool:
        """Whether a retry would send again what was too large: nothing has changed the view since."""
        if self.prepared is not None:
            return self.prepared.generation == self.state.generation
        return self.state.overflowed_at in (None, self.state.generation)

    def remember_attempt(self) -> None:
        """Note that compacting gained nothing."""
        self._attempt = (self.state.epoch, self.state.view_tokens)

    def worth_compacting(self) -> bool:
        """False while the view has hardly grown since compacting it gained nothing (reports B.21, B.26)."""
        if self._attempt is None or self._attempt[0] != self.state.epoch:
            return True
        return (self.state.view_tokens - self._attempt[1]) * 20 >= self._attempt[1]

    def close(self) -> None:
        """Release the lease. Blocking."""
        if not self.unreadable:
            self.log.leave_bookmark(digest, worth=self.environment.settings.storage.bookmark_bytes)
        self.output_index.close()
        self.message_index.close()
        self.files.close()
        self.log.close()

    def _newest_load(self) -> Load:
        view = self.state.view
        start = len(view)
        while start > 0 and view[start - 1].facts.results:
            start -= 1
        said = start
        while start > 0 and view[start - 1].facts.role == "assistant":
            start -= 1
        tail = view[start if start < said else max(0, start - 1) :]
        return Load(view=sum(e.tokens for e in tail), media=sum(e.media for e in tail))

    def _drafts(self, written: Sequence[Written]) -> list[Draft]:
        return [self._draft(item) for item in written]

    def _draft(self, item: Written) -> Draft:
        event = item.event
        tag = str(event.__struct_config__.tag)
        draft_id = item.id or self.environment.new_id("e")
        facts = placed(event)
        parts = [b"0" if f.blob else raw for f, raw in zip(facts, item.bodies, strict=True)]
        data = b"[%b]" % b",".join(parts) if parts else b"null"
        return Draft(id=draft_id, type=tag, data=data, facts=events.encode(event))

    def _resume(self) -> None:
        """Take in what the log's bookmark has of it."""
        mark, self.log.bookmark = self.log.bookmark, None
        if mark is None:
            return
        for steps in read_digest(mark.body):
            for step in steps:
                if step.seqs:
                    self.bodies.learn_run(mark.places, step.seqs, step.sizes, placed(step.event))
                self.state.apply_run(step.event, step.count, step.at)

    def _take(self, records: Sequence[Record]) -> None:
        """Fold records from disk. What cannot be read is kept in the log and counted."""
        for readable, found in read_events(records, self.unreadable):
            for record, event in zip(readable, found):
                if messages := placed(event):
                    self.bodies.learn(record.location, messages)
            self.state.apply_all(zip(found, [record.at for record in readable]))

    def _apply(self, event: AnyEvent, record: Record) -> None:
        if messages := placed(event):
            self.bodies.learn(record.location, messages)
        self.state.apply(event, record.at)


def decode(raw: bytes) -> dict[str, Any]:
    """A stored native message as a value; lone surrogates are allowed."""
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        value = json.loads(raw)
    if not isinstance(value, dict):
        raise TypeError("a native message is a JSON object")
    return value


def _decode_all(raws: Sequence[bytes]) -> list[Native]:
    return [Native(raw=raw, value=decode(raw)) for raw in raws]


def _weigh_all(
    view: Callable[[Native], MessageView], ids: Sequence[str], natives: Sequence[Native], weigher: Weigher
) -> list[tuple[str, int, tuple[int, ...]]]:
    found: list[tuple[str, int, tuple[int, ...]]] = []
    for message_id, native in zip(ids, natives, strict=True):
        tokens, _, sizes = weigh(view(native), weigher)
        found.append((message_id, tokens, sizes))
    return found
