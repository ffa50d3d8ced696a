"""Admission: what a host appends is checked whole, described, and written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import anyio
import msgspec

from ctxd.compaction.placeholder import clipped
from ctxd.core.facts import Weigher, describe, digest_of
from ctxd.core.fold import SessionState
from ctxd.dialects.base import BadShape
from ctxd.model.blocks import MessageView, ToolResult, Violation
from ctxd.model.errors import InvalidMessages, InvalidParams, RevisionConflict
from ctxd.model.events import Elision, Load, MessagesAppended
from ctxd.model.messages import CallFacts, MessageFacts, Native, Usage
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
    tail = await tail_views(session)
    job = _Job(session, tuple(natives), tuple(metas), weigher, tail)
    if size > IN_THREAD_BYTES:
        described = await anyio.to_thread.run_sync(job.run)
    else:
        described = job.run()
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


async def tail_views(session: Session) -> list[MessageView]:
    """Views of the newest message unit: what new messages can answer."""
    view = session.state.view
    start = len(view)
    while start > 0 and view[start - 1].facts.results:
        start -= 1
    start = max(0, start - 1)
    ids = [entry.facts.id for entry in view[start:] if not entry.facts.inserted]
    return [session.dialect.view(native.value) for native in await session.natives(ids)]


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
        metas: tuple[Meta, ...],
        weigher: Weigher | None,
        tail: list[MessageView],
    ) -> None:
        self._session = session
        self._natives = natives
        self._metas = metas
        self._weigher = weigher
        self._tail = tail

    def run(self) -> _Described:
        views = read_views(self._session.dialect.view, self._natives)
        repeats, warnings = self._repeats(views)
        fresh = [index for index in range(len(views)) if index not in repeats]
        self._check([views[index] for index in fresh], fresh)
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

    def _ids(self, repeats: Mapping[int, str]) -> list[str]:
        ids: list[str] = []
        for index, meta in enumerate(self._metas):
            wanted = repeats.get(index) or meta.id
            if index not in repeats and wanted and (wanted in self._session.state.positions or wanted in ids):
                raise InvalidParams.at(
                    f"meta.{index}.id", "this message id is taken", hint="ids are for one message"
                )
            ids.append(wanted or self._session.environment.new_id("m"))
        return ids

    def _repeats(self, views: Sequence[MessageView]) -> tuple[dict[int, str], list[str]]:
        """Messages that only repeat results already given: index to the id of the first giving.

        Identical repeats are dropped with a warning, differing ones refused (protocol.md, section 10).
        """
        state = self._session.state
        repeats: dict[int, str] = {}
        warnings: list[str] = []
        for index, view in enumerate(views):
            results = view.results
            if not results or len(results) != len(view.blocks):
                continue
            owners = [_answered(state, result) for result in results]
            if not any(owners):
                continue
            if all(
                owner and owner[1] == digest_of(result.text)
                for owner, result in zip(owners, results, strict=True)
            ):
                repeats[index] = owners[0][0] if owners[0] else ""
                warnings.append(f"messages.{index} repeats results that are already there; dropped")
                continue
            raise InvalidMessages.of(
                [
                    {
                        "rule": "duplicateResult",
                        "index": index,
                        "detail": "a call of it is answered already, differently",
                    }
                ]
            )
        return repeats, warnings

    def _check(self, views: Sequence[MessageView], positions: Sequence[int]) -> None:
        refused = [
            {"rule": v.rule, "index": positions[v.index], "detail": v.detail}
            for v in refusals(self._session, self._tail, views)
        ]
        if refused:
            raise InvalidMessages.of(refused)

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


def read_views(view: Any, natives: Sequence[Native]) -> list[MessageView]:
    """Block views of native messages. Raises InvalidMessages naming every shape that is wrong."""
    views: list[MessageView] = []
    bad: list[dict[str, object]] = []
    for index, native in enumerate(natives):
        try:
            views.append(view(native.value))
        except BadShape as error:
            path = f"messages.{index}.{error.path}" if error.path else f"messages.{index}"
            bad.append({"rule": "shape", "index": index, "detail": error.message, "path": path})
    if bad:
        failure = InvalidMessages.of([{k: v for k, v in item.items() if k != "path"} for item in bad])
        failure.facts["errors"] = [{"path": item["path"], "message": item["detail"]} for item in bad]
        raise failure
    return views


def refusals(session: Session, tail: Sequence[MessageView], views: Sequence[MessageView]) -> list[Violation]:
    """Violations among `views`, as they follow `tail`, that ctxd does not mend; indices into `views`.

    A lawful stand-in for everything before the tail keeps the work proportional to what is new.
    """
    before: list[MessageView] = list(tail)
    if session.state.view:
        before.insert(0, session.dialect.view(session.dialect.make("user", "start")))
    given = [*before, *views]
    found = [v for rule in session.dialect.rules for v in rule.violations(given) if v.mend == "refuse"]
    return [
        msgspec.structs.replace(v, index=v.index - len(before))
        for v in sorted(found, key=lambda v: v.index)
        if v.index >= len(before)
    ]


def _answered(state: SessionState, result: ToolResult) -> tuple[str, str] | None:
    """(message id, digest) of the result that already answers this call, if there is one."""
    owners = state.calls.get(result.call_id)
    given = state.results.get(result.call_id)
    if not owners or not given or state.positions[given[-1]] < state.positions[owners[-1][0]]:
        return None
    facts = state.transcript[state.positions[given[-1]]]
    digest = next(r.digest for r in facts.results if r.call_id == result.call_id)
    return facts.id, digest


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
