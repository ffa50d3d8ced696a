"""Appending: what a host gives is checked whole, described, and written whole or not at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import anyio
import msgspec

from ctxd.model.blocks import MessageView
from ctxd.model.errors import RevisionConflict
from ctxd.model.events import Elision, Load, MessagesAppended
from ctxd.model.messages import MessageFacts, Native, Redacted, Usage
from ctxd.service.intake.admission import Named, find_repeats, named_by, read_views, recollect, refuse
from ctxd.service.intake.description import Described, Meta, describe_all
from ctxd.service.intake.guarding import foresee, redact, warn
from ctxd.service.intake.sanitizing import Place, Said, sanitized
from ctxd.service.intake.shortening import may_shorten, result_limits
from ctxd.service.past.snapshots import snapshot
from ctxd.service.session import Session, Written

IN_THREAD_BYTES = 64 * 1024
"""Appends larger than this are read, described and counted in a thread."""

DEFER_BYTES = 1024 * 1024
"""Appends up to this, some 30 ms of counting, are counted before they are written, larger ones afterwards."""

RECORD_BYTES = 8 * 1024 * 1024
"""One record carries about this many bytes; longer appends are one batch of records."""

FACTS_BYTES = 400
"""Bytes taken for the facts of a message, and of each of its calls and results: few need more."""


class Appended(msgspec.Struct, frozen=True):
    """What became of an append. `spilled`: (message id, call id, bytes). `redacted`: by message id.

    `sanitized`: (message id, call id, kinds of what was found).
    """

    revision: int
    message_ids: tuple[str, ...]
    spilled: tuple[tuple[str, str, int], ...] = ()
    sanitized: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    redacted: tuple[tuple[str, Redacted], ...] = ()
    warnings: tuple[str, ...] = ()


class Admitted(msgspec.Struct, frozen=True):
    """Messages ready to be written: events with bodies, and the ids to answer with."""

    written: tuple[Written, ...]
    message_ids: tuple[str, ...]
    spilled: tuple[tuple[str, str, int], ...]
    sanitized: tuple[tuple[str, str, tuple[str, ...]], ...]
    redacted: tuple[tuple[str, Redacted], ...]
    warnings: tuple[str, ...]
    facts: tuple[MessageFacts, ...]
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
        taken, failed = await snapshot(session, admitted.facts)
        if admitted.written:
            await session.commit([*taken, *admitted.written])
        return Appended(
            revision=state.revision,
            message_ids=admitted.message_ids,
            spilled=admitted.spilled,
            sanitized=admitted.sanitized,
            redacted=admitted.redacted,
            warnings=(*admitted.warnings, *failed),
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
    natives = await redact(session, session.own(natives))
    size = sum([len(native.raw) for native in natives])
    defer = not count and size > DEFER_BYTES
    large = size > IN_THREAD_BYTES

    def read() -> tuple[list[MessageView], Named, Mapping[Place, Said]]:
        views = read_views(session.dialect.view, natives)
        return views, named_by(views), sanitized(session, natives, views, result_limits(session).result)

    views, named, said = await anyio.to_thread.run_sync(read) if large else read()
    foresee(session, views)
    past = await recollect(session, named)
    counted = not defer or bool(said) or may_shorten(session, natives, views)
    weigher = await session.weigher() if counted else None

    def take() -> tuple[Described, Admitted]:
        refuse(session.dialect, past, views)
        repeats = find_repeats(past, views)
        described = describe_all(session, natives, views, metas, repeats, weigher, said, defer=defer)
        return described, _admitted(session, described, metas, client_id, repeats, said)

    described, admitted = await session.environment.counting.run(take) if large else take()
    if any(facts.blob for facts in described.facts):
        await anyio.to_thread.run_sync(_store_blobs, session, described)
    return admitted


def _admitted(
    session: Session,
    described: Described,
    metas: Sequence[Meta],
    client_id: str,
    repeats: Collection[int],
    said: Mapping[Place, Said],
) -> Admitted:
    return Admitted(
        written=tuple(_events(described, session.dialect.usage, metas, client_id)),
        message_ids=described.ids,
        spilled=tuple(
            (e.message_id, e.call_id, size)
            for e, size in zip(described.elisions, described.sizes, strict=True)
            if e.hides
        ),
        sanitized=tuple(
            (described.ids[index], call_id, known.kinds)
            for (index, call_id), known in said.items()
            if index not in repeats
        ),
        redacted=tuple([(f.id, cut) for f in described.facts for cut in f.redacted]),
        warnings=(
            *(f"messages.{index} repeats results that are already there; dropped" for index in repeats),
            *warn(session, described.natives, described.positions),
        ),
        facts=described.facts,
        load=Load(
            view=sum([max(0, f.tokens) for f in described.facts]) - sum(e.saved for e in described.elisions),
            media=sum([f.media_tokens for f in described.facts]),
        ),
    )


def _store_blobs(session: Session, described: Described) -> None:
    for facts, native in zip(described.facts, described.natives, strict=True):
        if facts.blob:
            session.ledger.put(native.raw)


def _events(described: Described, usage_of: Any, metas: Sequence[Meta], client_id: str) -> list[Written]:
    """The append as events: a new one before a message with usage and when a record is full."""
    written: list[Written] = []
    facts: list[MessageFacts] = []
    raws: list[bytes] = []

    def flush(usage: Usage | None = None) -> None:
        if facts:
            elisions: tuple[Elision, ...] = ()
            if described.elisions:
                ids = {f.id for f in facts}
                elisions = tuple(e for e in described.elisions if e.message_id in ids)
            event = MessagesAppended(messages=tuple(facts), elisions=elisions, usage=usage)
            written.append(Written(event, tuple(raws)))
            facts.clear()
            raws.clear()

    size = 0
    for position, known, native in zip(described.positions, described.facts, described.natives, strict=True):
        native_usage = metas[position].usage
        length = 1 if known.blob else len(native.raw)
        length += FACTS_BYTES * (1 + len(known.calls) + len(known.results))
        if native_usage is not None or size + length > RECORD_BYTES:
            flush()
            size = 0
        facts.append(known)
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
