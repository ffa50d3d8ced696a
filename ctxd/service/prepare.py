"""`context/prepare` and `context/report`: the one call before a request and the one after it.

Everything `prepare` decides is planned first and committed as one batch of events; when anything
fails, the answer is the last valid view and the failure is said (behaviour.md, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from ctxd.core.facts import weigh
from ctxd.core.fingerprint import fingerprint
from ctxd.core.projection import Projection
from ctxd.model.errors import CtxdError
from ctxd.model.events import Load, StageFailed
from ctxd.model.messages import Native
from ctxd.service.admission import read_views
from ctxd.service.rendering import Lost, Shown
from ctxd.service.session import Prepared, Session, Written
from ctxd.service.shrinking import Cost, PreparePhase, Shrunk, Stage, Wanted, is_settled, shrink


class CacheFacts(msgspec.Struct, frozen=True):
    """How much of the previous request's beginning is unchanged."""

    stable_prefix: int
    invalidated_at: int | None
    reason: str
    cost: Cost | None


class Request(msgspec.Struct, frozen=True):
    """A request ready to send. `messages` is the JSON of its messages, neighbours may be joined by commas.

    `lost` is what of them did not cross from the dialect it came in.
    """

    request_id: str
    revision: int
    generation: int
    messages: list[bytes]
    fingerprint: str
    before: Projection
    projection: Projection
    messages_before: int
    phase: PreparePhase
    stages: tuple[Stage, ...]
    compacted: bool
    replaced: bool
    cache: CacheFacts
    lost: tuple[Lost, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """A call of `prepare` as the session stood when it came: `messages` in the view, its `generation`."""

    phase: PreparePhase
    pending: Sequence[Native]
    wanted: Wanted
    messages: int
    generation: int


async def prepare(session: Session, phase: PreparePhase, pending: Sequence[Native]) -> Request:
    """Plan, commit and answer the next request."""
    async with session.lane:
        session.refresh()
        await session.settle()
        load, size = await weigh_pending(session, pending)
        state = session.state
        wanted = Wanted(session.project(load, size), state.revision, load, size)
        asked = Asked(phase, pending, wanted, len(state.view), state.generation)
        if not session.writable or is_settled(session, phase, wanted.projection):
            return await _answer(session, asked, Shrunk())
    try:
        shrunk = await shrink(session, phase, wanted)
    except CtxdError as error:
        shrunk = Shrunk((Stage("pipeline", f"failed:{error.kind}", 0, 0),))
        await _say_failure(session, error)
    async with session.lane:
        await session.settle()
        return await _answer(session, asked, shrunk)


async def _answer(session: Session, asked: Asked, shrunk: Shrunk) -> Request:
    """The request as the view stands now. The caller holds the lane."""
    state = session.state
    load = asked.wanted.pending
    projection = asked.wanted.at(session).projection
    shown = await render(session, asked.pending)
    sealed = fingerprint(state, b"".join(native.raw for native in asked.pending))
    request_id = f"r{state.revision}.{state.generation}.{sealed[:16]}"
    replaced = state.generation != asked.generation
    reason = shrunk.stages[-1].reason if shrunk.stages and replaced else ""
    cache = _compare(session.last_shown, shown, reason, shrunk.cost)
    session.last_shown = shown
    weight = state.load
    session.prepared = Prepared(
        request_id=request_id,
        load=Load(weight.fixed, weight.view + load.view, weight.media + load.media),
        predicted=projection.tokens if state.anchor else 0,
        epoch=state.epoch,
        generation=state.generation,
    )
    session.environment.note("prepares")
    return Request(
        request_id=request_id,
        revision=state.revision,
        generation=state.generation,
        messages=session.rendering.texts(shown),
        fingerprint=sealed,
        before=asked.wanted.projection,
        projection=projection,
        messages_before=asked.messages,
        phase=asked.phase,
        stages=shrunk.stages,
        compacted=shrunk.compacted,
        replaced=replaced,
        cache=cache,
        lost=tuple(session.rendering.lost),
    )


async def weigh_pending(session: Session, pending: Sequence[Native]) -> tuple[Load, int]:
    """What pending messages add to the view's weight, and their bytes.

    They take away the reasoning that lapses when the user speaks. Raises InvalidMessages for wrong shapes.
    """
    if not pending:
        return Load(), 0
    views = read_views(session.dialect.view, pending, "pending")
    weigher = await session.weigher()
    weights = [weigh(view, weigher) for view in views]
    lapsing = session.state.lapsing if any(view.role == "user" for view in views) else ()
    gone = sum(entry.tokens for entry in lapsing)
    load = Load(view=sum(w[0] for w in weights) - gone, media=sum(w[1] for w in weights))
    return load, sum(len(native.raw) for native in pending)


async def render(session: Session, pending: Sequence[Native] = ()) -> list[Shown]:
    """The model view as messages to send."""
    pending = session.own(pending)
    ids = session.rendering.stale(session.state)
    natives = await session.natives(ids)
    if len(natives) > 200:
        shown, _ = await anyio.to_thread.run_sync(session.rendering.render, session.state, natives, pending)
    else:
        shown, _ = session.rendering.render(session.state, natives, pending)
    return shown


async def _say_failure(session: Session, error: CtxdError) -> None:
    """Record that the pipeline failed, where recording still works."""
    try:
        await session.commit([Written(StageFailed(stage="pipeline", kind=error.kind))])
    except CtxdError:
        # The answer's report already names the first failure, and `durable` says the rest.
        return


def _compare(
    previous: Sequence[Shown] | None, shown: Sequence[Shown], reason: str, cost: Cost | None
) -> CacheFacts:
    """The common beginning of two requests; closed parts are the same objects, so this is cheap."""
    if previous is None:
        return CacheFacts(0, None, "", None)
    stable = len(previous)
    if previous != shown[:stable]:
        pairs = enumerate(zip(previous, shown, strict=False))
        changed = (i for i, (old, new) in pairs if old is not new and old.raw != new.raw)
        stable = next(changed, min(len(previous), len(shown)))
    if stable == len(previous):
        return CacheFacts(stable, None, "", None)
    return CacheFacts(stable, stable, reason or "mended", cost)
