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
from ctxd.service.intake.admission import read_views
from ctxd.service.intake.guarding import redact
from ctxd.service.requests.abridging import read_shown
from ctxd.service.requests.rendering import Lost, Shown
from ctxd.service.requests.shrinking import Cost, PreparePhase, Shrunk, Stage, Wanted, is_settled, shrink
from ctxd.service.requests.steering import Intake, Note, take_in
from ctxd.service.session import Prepared, Session, Written


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
    steering: tuple[Note, ...]
    lost: tuple[Lost, ...] = ()


class Asked(msgspec.Struct, frozen=True):
    """A call of `prepare` as the session stood when it came: `messages` in the view, its `generation`.

    `wanted` is the request with `pending` alone, what steering adds is not in it.
    """

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
        pending = await redact(session, session.own(pending))
        load, size = await weigh_pending(session, pending)
        intake = await take_in(session, begins_turn=phase == "turnStart", retries=phase == "retry")
        state = session.state
        wanted = Wanted(session.project(load, size), state.revision, load, size)
        asked = Asked(phase, pending, wanted, len(state.view), state.generation)
        wanted = wanted.with_more(session, intake.load, intake.bytes)
        settled = intake.cancels or is_settled(session, phase, wanted.projection)
        if not session.writable or settled:
            return await _answer(session, asked, Shrunk(), intake)
    try:
        shrunk = await shrink(session, phase, wanted, intake)
    except CtxdError as error:
        shrunk = Shrunk((Stage("pipeline", f"failed:{error.kind}", 0, 0),))
        await _say_failure(session, error)
        if not intake.committed:
            intake = Intake()
    async with session.lane:
        await session.settle()
        return await _answer(session, asked, shrunk, intake)


async def _answer(session: Session, asked: Asked, shrunk: Shrunk, intake: Intake) -> Request:
    """The request as the view stands now, what `intake` has not committed yet included.

    The caller holds the lane.
    """
    state = session.state
    stages = [*await _steer(session, intake), *shrunk.stages]
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
    told, session.untold = session.untold, []
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
        stages=tuple(stages),
        compacted=shrunk.compacted,
        replaced=replaced,
        cache=cache,
        steering=tuple(told),
        lost=tuple(session.rendering.lost),
    )


async def _steer(session: Session, intake: Intake) -> list[Stage]:
    """Take in what the plan has not taken in with it; steps for the report."""
    stages: list[Stage] = []
    try:
        await intake.commit(session)
    except CtxdError as error:
        stages.append(Stage("steering", f"failed:{error.kind}", 0, 0))
    if intake.committed > intake.dropped:
        stages.append(Stage("steering", "drained", intake.committed - intake.dropped, 0))
    if intake.dropped:
        stages.append(Stage("steering", "turnOver", intake.dropped, 0))
    return stages


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
    natives = await read_shown(session, ids)
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
