"""Admission: what a host appends is checked whole, described, and written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import anyio
import msgspec

from ctxd.compaction.placeholder import clipped
from ctxd.core.facts import Weigher, describe
from ctxd.model.blocks import MessageView, ToolResult
from ctxd.model.errors import InvalidMessages, InvalidParams, RevisionConflict
from ctxd.model.events import Elision, Load, MessagesAppended
from ctxd.model.messages import CallFacts, MessageFacts, Native, Usage
from ctxd.service.admission import Past, find_repeats, read_views, recollect, refusals
from ctxd.service.bodies import BLOB_BYTES
from ctxd.service.session import Session, Written

INLINE_BYTES = 64 * 1024
"""Messages up to this are counted before they are written; larger appends are counted afterwards."""

IN_THREAD_BYTES = 256 * 1024
"""Appends larger than this are read and described in a thread."""

RECORD_BYTES = 8 * 1024 * 1024
"""One record carries at most this many bytes of messages; longer appends are one batch of records."""


class Meta(msgspec.Struct, frozen=True):
    """What the host says of a message beside its native form."""

    id: str = ""
    kind: Literal["", "read", "write"] = ""
    is_error: bool | None = None
    files: tuple[tuple[str, str], ...] = ()
    pin: bool = False
    hidden: bool = False
    usage: Mapping[str, Any] | None = None


class Appended(msgspec.Struct, frozen=True):
    """What became of an append. `spilled`: (message id, call id, bytes)."""

    revision: int
    message_ids: tuple[str, ...]
    spilled: tuple[tuple[str, str, int], ...] = ()
    warnings: tuple[str, ...] = ()


class Admitted(msgspec.Struct, frozen=True):
    """Messages ready to be written: events with bodies, and the ids to answer with."""

    written: tuple[Written, ...]
    message_ids: tuple[str, ...]
    spilled: tuple[tuple[str, str, int], ...]
    warnings: tuple[str, ...]
    load: Load
    """What they weigh; its tokens are incomplete while counting is deferred."""


async def append(
    session: Session,
    natives: Sequence[Native],
    metas: Sequence[Meta],
    *,
    expected_revision: int | None = None,
    client_id: str = "",
) -> Appended:
    """`session/append`. Returns when the messages are on disk.

    Raises RevisionConflict, InvalidMessages, InvalidParams, ReadOnly and the store's errors; then
    nothing was appended.
    """
    async with session.lane:
        state = session.state
        if client_id and client_id in state.client_ids:
            revision, ids = state.client_ids[client_id]
            return Appended(
                revision=revision, message_ids=ids, warnings=("repeated clientId: nothing appended",)
            )
        if expected_revision is not None and expected_revision != state.revision:
            raise RevisionConflict(
                "the session has moved on",
                hint="read the session's revision again, then decide",
                expected=expected_revision,
                actual=state.revision,
            )
        admitted = await admit(session, natives, metas, client_id=client_id)
        if admitted.written:
            await session.commit(admitted.written)
        return Appended(
            revision=state.revision,
            message_ids=admitted.message_ids,
            spilled=admitted.spilled,
            warnings=admitted.warnings,
        )


async def admit(
    session: Session,
    natives: Sequence[Native],
    metas: Sequence[Meta],
    *,
    client_id: str = "",
    count: bool = False,
) -> Admitted:
    """Check and describe messages without writing any. The caller holds the lane.

    With `count` nothing is deferred, however large. Blobs are put in the ledger here: bytes are
    durable before an event names them.
    """
    size = sum(len(native.raw) for native in natives)
    spills = any(len(n.raw) > session.environment.settings.recall.spill_bytes for n in natives)
    weigher = await session.weigher() if count or spills or size <= INLINE_BYTES else None
    large = size > IN_THREAD_BYTES
    read = session.dialect.view
    views = await anyio.to_thread.run_sync(read_views, read, natives) if large else read_views(read, natives)
    past = await recollect(session, views)
    job = _Job(session, tuple(natives), tuple(views), tuple(metas), weigher, past)
    described = await anyio.to_thread.run_sync(job.run) if large else job.run()
    if any(f.blob for f in described.facts):
        await anyio.to_thread.run_sync(_store_blobs, session, described)
    return Admitted(
        written=tuple(_events(described, session.dialect.usage, metas, client_id)),
        message_ids=described.ids,
        spilled=tuple(
            (e.message_id, e.call_id, size)
            for e, size in zip(described.elisions, described.sizes, strict=True)
        ),
        warnings=described.warnings,
        load=Load(
            view=sum(max(0, f.tokens) for f in described.facts) - sum(e.saved for e in described.elisions),
            media=sum(f.media_tokens for f in described.facts),
        ),
    )


class _Described(msgspec.Struct, frozen=True):
    ids: tuple[str, ...]
    facts: tuple[MessageFacts, ...]
    natives: tuple[Native, ...]
    positions: tuple[int, ...]
    elisions: tuple[Elision, ...]
    sizes: tuple[int, ...]
    warnings: tuple[str, ...]


class _Job:
    """Reads, checks and describes one append. Touches the session's state but changes nothing."""

    def __init__(
        self,
        session: Session,
        natives: tuple[Native, ...],
        views: tuple[MessageView, ...],
        metas: tuple[Meta, ...],
        weigher: Weigher | None,
        past: Past,
    ) -> None:
        self._session = session
        self._natives = natives
        self._views = views
        self._metas = metas
        self._weigher = weigher
        self._past = past

    def run(self) -> _Described:
        views = self._views
        self._check()
        repeats = find_repeats(self._past, views)
        warnings = [f"messages.{index} repeats results that are already there; dropped" for index in repeats]
        fresh = [index for index in range(len(views)) if index not in repeats]
        ids = self._ids(repeats)
        facts: list[MessageFacts] = []
        elisions: list[Elision] = []
        sizes: list[int] = []
        calls: dict[str, CallFacts] = {}
        for index in fresh:
            described = self._describe(ids[index], index, views[index])
            facts.append(described)
            calls.update((call.call_id, call) for call in described.calls)
            for elision, size in self._spill(described, views[index], calls):
                elisions.append(elision)
                sizes.append(size)
        return _Described(
            tuple(ids),
            tuple(facts),
            tuple(self._natives[index] for index in fresh),
            tuple(fresh),
            tuple(elisions),
            tuple(sizes),
            tuple(warnings),
        )

    def _check(self) -> None:
        refused = [
            {"rule": v.rule, "index": v.index, "detail": v.detail}
            for v in refusals(self._session.dialect, self._past, self._views)
        ]
        if refused:
            raise InvalidMessages.of(refused)

    def _ids(self, repeats: Mapping[int, str | int]) -> list[str]:
        """An id for each message; one that only repeats another has that one's."""
        ids: list[str] = []
        for index, meta in enumerate(self._metas):
            first = repeats.get(index)
            if first is not None:
                ids.append(ids[first] if isinstance(first, int) else first)
                continue
            if meta.id and (meta.id in self._session.state.positions or meta.id in ids):
                raise InvalidParams.at(
                    f"meta.{index}.id", "this message id is taken", hint="ids are for one message"
                )
            ids.append(meta.id or self._session.environment.new_id("m"))
        return ids

    def _describe(self, message_id: str, index: int, view: MessageView) -> MessageFacts:
        meta = self._metas[index]
        native = self._natives[index]
        facts = describe(message_id, native, view, self._weigher, hidden=meta.hidden)
        if len(native.raw) > BLOB_BYTES:
            facts = msgspec.structs.replace(facts, blob="sha256:" + facts.digest)
        return _with_meta(facts, meta)

    def _spill(
        self, facts: MessageFacts, view: MessageView, calls: Mapping[str, CallFacts]
    ) -> list[tuple[Elision, int]]:
        options = self._session.environment.settings.recall
        found: list[tuple[Elision, int]] = []
        blocks = {block.call_id: block for block in view.blocks if isinstance(block, ToolResult)}
        for result in facts.results:
            if result.bytes <= options.spill_bytes:
                continue
            call = calls.get(result.call_id) or self._session.state.call_of(result.call_id)
            text = clipped(
                call,
                result,
                "spilled",
                blocks[result.call_id].text,
                head_bytes=options.head_bytes,
                tail_bytes=options.tail_bytes,
            )
            assert self._weigher is not None, "whatever spills is counted at once"
            elision = Elision(
                message_id=facts.id,
                call_id=result.call_id,
                reason="spilled",
                placeholder=text,
                saved=result.tokens - self._weigher.count(text),
                saved_bytes=result.bytes - len(text.encode("utf-8", "replace")),
            )
            found.append((elision, result.bytes))
        return found


def _with_meta(facts: MessageFacts, meta: Meta) -> MessageFacts:
    """Facts with the host's word: effect, error flag and files of its calls, pin."""
    calls = facts.calls
    if meta.kind and calls:
        calls = tuple(msgspec.structs.replace(call, effect=meta.kind) for call in calls)
    for position, (path, op) in enumerate(meta.files[: len(calls)]):
        if not calls[position].path:
            effect: Literal["read", "write"] = "read" if op == "read" else "write"
            call = msgspec.structs.replace(calls[position], path=path, effect=effect)
            calls = (*calls[:position], call, *calls[position + 1 :])
    results = facts.results
    if meta.is_error is not None and results:
        results = tuple(msgspec.structs.replace(result, is_error=meta.is_error) for result in results)
    return msgspec.structs.replace(facts, calls=calls, results=results, pinned=meta.pin)


def _store_blobs(session: Session, described: _Described) -> None:
    for facts, native in zip(described.facts, described.natives, strict=True):
        if facts.blob:
            session.ledger.put(native.raw)


def _events(described: _Described, usage_of: Any, metas: Sequence[Meta], client_id: str) -> list[Written]:
    """The append as events: a new one before a message with usage and when a record is full."""
    written: list[Written] = []
    facts: list[MessageFacts] = []
    raws: list[bytes] = []

    def flush(usage: Usage | None = None) -> None:
        if facts:
            ids = {f.id for f in facts}
            elisions = tuple(e for e in described.elisions if e.message_id in ids)
            event = MessagesAppended(messages=tuple(facts), elisions=elisions, usage=usage)
            written.append(Written(event, tuple(raws)))
            facts.clear()
            raws.clear()

    size = 0
    for position, described_facts, native in zip(
        described.positions, described.facts, described.natives, strict=True
    ):
        native_usage = metas[position].usage
        length = 1 if described_facts.blob else len(native.raw)
        if native_usage is not None or size + length > RECORD_BYTES:
            flush()
            size = 0
        facts.append(described_facts)
        raws.append(native.raw)
        size += length
        if native_usage is not None:
            flush(usage_of(native_usage))
            size = 0
    flush()
    if client_id and written:
        # The last event of the batch carries the id, so a repeat finds the whole batch there.
        last = written[-1]
        assert isinstance(last.event, MessagesAppended)
        event = msgspec.structs.replace(last.event, client_id=client_id, all_ids=described.ids)
        written[-1] = Written(event, last.bodies)
    return written
