"""`context/prepare` and `context/report`: the one call before a request and the one after it.

Everything `prepare` decides is planned first and committed as one batch of events; when anything
fails, the answer is the last valid view and the failure is said (behaviour.md, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import anyio
import msgspec

from ctxd.compaction import elision
from ctxd.compaction.extract import Item
from ctxd.compaction.tail import clip_unit
from ctxd.core.budget import Limits
from ctxd.core.facts import weigh
from ctxd.core.fingerprint import fingerprint
from ctxd.core.projection import Projection
from ctxd.core.units import divide
from ctxd.model.errors import CtxdError
from ctxd.model.events import Load, StageFailed, ViewElided
from ctxd.model.messages import Native
from ctxd.service import compactor
from ctxd.service.append import read_views
from ctxd.service.rendering import Shown
from ctxd.service.session import Prepared, Session, Written

PreparePhase: TypeAlias = Literal["turnStart", "iteration", "retry"]


class Stage(msgspec.Struct, frozen=True):
    """One step that changed the view or failed to. Tokens are calibrated."""

    stage: str
    reason: str
    edits: int
    tokens_freed: int


class Cost(msgspec.Struct, frozen=True):
    """What a change of the prefix costs and saves, tokens; after `break_even_calls` it has paid."""

    write_tokens: int
    saved_tokens: int
    break_even_calls: int


class CacheFacts(msgspec.Struct, frozen=True):
    """How much of the previous request's beginning is unchanged."""

    stable_prefix: int
    invalidated_at: int | None
    reason: str
    cost: Cost | None


class Request(msgspec.Struct, frozen=True):
    """A request ready to send."""

    request_id: str
    revision: int
    generation: int
    messages: tuple[bytes, ...]
    fingerprint: str
    before: Projection
    projection: Projection
    messages_before: int
    phase: PreparePhase
    stages: tuple[Stage, ...]
    compacted: bool
    replaced: bool
    cache: CacheFacts


async def prepare(session: Session, phase: PreparePhase, pending: Sequence[Native]) -> Request:
    """Plan, commit and answer the next request."""
    async with session.lane:
        if not session.writable:
            session.refresh()
        await session.settle()
        load, size = await weigh_pending(session, pending)
        before = session.project(load, size)
        messages_before = len(session.state.view)
        generation = session.state.generation
        stages: list[Stage] = []
        cost: Cost | None = None
        compacted = False
        if session.writable:
            try:
                cost, compacted = await _shrink(session, phase, before, load, stages)
            except CtxdError as error:
                stages.append(Stage("pipeline", f"failed:{error.kind}", 0, 0))
                await _say_failure(session, error)
        projection = session.project(load, size)
        shown = await render(session, pending)
        sealed = fingerprint(session.state, b"".join(native.raw for native in pending))
        state = session.state
        request_id = f"r{state.revision}.{state.generation}.{sealed[:16]}"
        previous = session.last_shown
        reason = stages[-1].reason if stages and state.generation != generation else ""
        cache = _compare(previous, shown, reason, cost)
        session.last_shown = shown
        weight = session.state.load
        session.prepared = Prepared(
            request_id=request_id,
            load=Load(weight.fixed, weight.view + load.view, weight.media + load.media),
            predicted=projection.tokens if state.anchor else 0,
            epoch=state.epoch,
        )
        session.environment.note("prepares")
        return Request(
            request_id=request_id,
            revision=state.revision,
            generation=state.generation,
            messages=tuple(item.raw for item in shown),
            fingerprint=sealed,
            before=before,
            projection=projection,
            messages_before=messages_before,
            phase=phase,
            stages=tuple(stages),
            compacted=compacted,
            replaced=state.generation != generation,
            cache=cache,
        )


async def weigh_pending(session: Session, pending: Sequence[Native]) -> tuple[Load, int]:
    """What pending messages weigh, and their bytes. Raises InvalidMessages for shapes that are wrong."""
    if not pending:
        return Load(), 0
    views = read_views(session.dialect.view, pending)
    weigher = await session.weigher()
    weights = [weigh(view, weigher) for view in views]
    load = Load(view=sum(w[0] for w in weights), media=sum(w[1] for w in weights))
    return load, sum(len(native.raw) for native in pending)


async def render(session: Session, pending: Sequence[Native] = ()) -> list[Shown]:
    """The model view as messages to send."""
    ids = session.rendering.stale(session.state)
    natives = await session.natives(ids)
    if len(natives) > 200:
        shown, _ = await anyio.to_thread.run_sync(session.rendering.render, session.state, natives, pending)
    else:
        shown, _ = session.rendering.render(session.state, natives, pending)
    return shown


async def _shrink(
    session: Session, phase: PreparePhase, before: Projection, pending: Load, stages: list[Stage]
) -> tuple[Cost | None, bool]:
    """Elide, else compact, else clip: at most one batch of events."""
    state = session.state
    settings = session.environment.settings
    weigher = await session.weigher()
    now = session.environment.now()
    expired = bool(state.last_call_at) and now - state.last_call_at >= settings.elision.cache_expired_ms
    batch = elision.plan(
        state,
        "oversizedOnly" if phase == "iteration" else "full",
        elision.Pressure(before.decisive, state.ratio, before.limits, state.provider_calls),
        settings.elision,
        settings.cache,
        count=weigher.count,
        expired=expired,
    )
    freed = batch.saved if batch else 0
    reason = compactor.due(session, before, freed)
    if reason is not None and session.worth_compacting():
        requested = _room(before, pending, state.ratio) if reason == "contextLimit" else None
        done = await compactor.compact(session, trigger="auto", reason=reason, requested=requested)
        stages.append(
            Stage(
                "compaction", done.failure or reason, len(done.units), done.before.tokens - done.after.tokens
            )
        )
        if done.outcome == "applied":
            return Cost(done.after.tokens, done.before.tokens - done.after.tokens, 0), True
        session.remember_attempt()
    if batch is not None:
        name = "cacheExpiry" if expired else "elision"
        await session.commit([Written(ViewElided(elisions=batch.elisions, stage=name))])
        reasons = sorted({e.reason for e in batch.elisions})
        stages.append(Stage(name, ",".join(reasons), len(batch.elisions), batch.saved))
        session.environment.note("elisions", len(batch.elisions))
        return Cost(batch.rewritten, batch.saved, batch.break_even), False
    if before.limits is not None and before.decisive > before.limits.available:
        await _clip_newest(session, before, before.limits, stages)
    return None, False


async def _clip_newest(session: Session, before: Projection, limits: Limits, stages: list[Stage]) -> None:
    """Last resort: head and tail of the newest results, so that the request can be sent at all."""
    state = session.state
    units = divide([entry.facts for entry in state.view])
    if not units or units[-1].kind != "tools":
        return
    unit = units[-1]
    entries = state.view[unit.start : unit.end]
    natives = await session.natives([entry.facts.id for entry in entries])
    items = [Item(e, session.dialect.view(n.value)) for e, n in zip(entries, natives, strict=True)]
    cost = sum(entry.tokens for entry in entries)
    room = cost - int((before.decisive - limits.available) / state.ratio) - 1
    weigher = await session.weigher()
    local = msgspec.structs.replace(unit, start=0, end=len(entries))
    cuts = clip_unit(state, items, local, max(0, room), weigher.count)
    if not cuts:
        return
    await session.commit([Written(ViewElided(elisions=tuple(e for e, _ in cuts), stage="clip"))])
    freed = round(sum(e.saved - shown for e, shown in cuts) * state.ratio)
    stages.append(Stage("clip", "clippedNewest", len(cuts), freed))


def _room(before: Projection, pending: Load, ratio: float) -> int:
    """Tokens that messages may have when the fixed part alone is beyond the threshold."""
    assert before.limits is not None
    return max(1, before.limits.available - before.floor - round(pending.view * ratio))


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
    stable = 0
    for old, new in zip(previous, shown, strict=False):
        if old is not new and old.raw != new.raw:
            break
        stable += 1
    if stable == len(previous):
        return CacheFacts(stable, None, "", None)
    return CacheFacts(stable, stable, reason or "mended", cost)
