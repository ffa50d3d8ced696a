"""The only caller of the compaction policy: snapshot, plan, check, commit as one event.

The lane is held while the view is read and while the checkpoint is committed, not in between:
messages may arrive while a summary is made, and stay behind the replacement in order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec

from ctxd.compaction import fallback, gate
from ctxd.compaction.audit import audit
from ctxd.core.projection import Projection
from ctxd.core.units import divide
from ctxd.model.errors import Busy, CheckpointFailed, NotFound, RevisionConflict, StoreError
from ctxd.model.events import CheckpointCommitted, CompactionReason, Kept, Placed, ViewUndone
from ctxd.model.messages import Native
from ctxd.service.compactions import CHECKPOINT_VERSION, Compaction, Job, Outcome, Planned, Size
from ctxd.service.replacing import MAX_BYTES, MAX_MESSAGES, Drafted, broken_rule, draft
from ctxd.service.session import Session, Written

PLANS_KEPT = 8
"""Dry runs that can still be committed, per session."""


class Snapshot(msgspec.Struct, frozen=True):
    """The part of a view that is to be replaced, as it stood. `end` is exclusive."""

    natives: tuple[Native, ...]
    end: int
    generation: int
    revision: int
    before: Size
    goal: int
    projection: Projection


async def compact(session: Session, job: Job) -> Compaction:
    """Replace the view, or its beginning up to `job.up_to`. Must be called without the lane.

    Raises Busy while another compaction of the session runs, NotFound for an unknown `up_to`, and
    CheckpointFailed when the checkpoint cannot be made durable; the old view stays then.
    """
    async with _single_flight(session):
        async with session.lane:
            await session.settle()
            snapshot = await _take(session, job)
        host = session.environment.host
        host.phase(session, "start", {"tokens": snapshot.before.tokens, "messages": snapshot.before.messages})
        try:
            done = await _run(session, job, snapshot)
        finally:
            host.phase(session, "complete", {"tokens": session.tokens(), "messages": len(session.state.view)})
        if done.outcome == "applied":
            host.view_changed(session, "compaction")
        return done


async def commit_plan(session: Session, plan_id: str) -> Compaction:
    """Apply a dry run. Raises NotFound for an unknown plan, RevisionConflict when the session moved on."""
    async with _single_flight(session), session.lane:
        planned = session.plans.get(plan_id)
        if planned is None:
            raise NotFound(
                "no such plan", hint="plans are kept until the daemon ends; plan again", planId=plan_id
            )
        if planned.revision != session.state.revision:
            raise RevisionConflict(
                "the session has moved on since the plan was made",
                hint="plan again",
                expected=planned.revision,
                actual=session.state.revision,
            )
        done = await _commit(session, planned)
        del session.plans[plan_id]
    session.environment.host.view_changed(session, "compaction")
    return done


async def undo(session: Session, checkpoint_id: str | None) -> None:
    """Bring back the view before a checkpoint, the newest when none is named. Raises NotFound."""
    async with session.lane:
        state = session.state
        wanted = checkpoint_id or (state.checkpoints[-1].checkpoint_id if state.checkpoints else "")
        if wanted not in state.befores:
            raise NotFound("no such checkpoint stands", hint="session/history shows the view as it is")
        await session.commit([Written(ViewUndone(checkpoint_id=wanted))])
    session.environment.host.view_changed(session, "undo")


def due(session: Session, projection: Projection, freed: int) -> CompactionReason | None:
    """Why a compaction must happen before the next request, after `freed` tokens of elision; else None."""
    limits = projection.limits
    if limits is None or not session.environment.settings.compaction.auto:
        return None
    tokens = projection.decisive - freed
    if tokens < limits.compaction:
        return None
    if projection.reachable:
        return "threshold"
    return "contextLimit" if tokens > limits.available else None


def aim(session: Session, projection: Projection, reason: CompactionReason) -> int | None:
    """Tokens the messages should come to when ctxd decides on its own.

    Well below the threshold, so that the next compaction is not due at once: six tenths of what the
    fixed part leaves. At the context limit, what still fits beside the fixed part.
    """
    limits = projection.limits
    if limits is None:
        return None
    fixed = max(0, projection.tokens - session.tokens())
    if reason == "contextLimit":
        return max(1, (limits.available - fixed) * 8 // 10)
    return max(gate.TARGET_MIN, (limits.compaction - fixed) * 6 // 10)


@asynccontextmanager
async def _single_flight(session: Session) -> AsyncIterator[None]:
    """One compaction at a time per session (reports B.28)."""
    if session.compacting:
        raise Busy("a compaction of this session is running", hint="wait for its report")
    session.compacting = True
    try:
        yield
    finally:
        session.compacting = False


async def _take(session: Session, job: Job) -> Snapshot:
    state = session.state
    end = len(state.view)
    if job.up_to is not None:
        end = _end_of(session, job.up_to)
    entries = state.view[:end]
    before = Size(session.tokens(end), end, sum(entry.size for entry in entries))
    return Snapshot(
        natives=tuple(await session.natives([entry.facts.id for entry in entries])),
        end=end,
        generation=state.generation,
        revision=state.revision,
        before=before,
        goal=gate.target(before.tokens, session.window().value, job.requested),
        projection=session.project(),
    )


def _end_of(session: Session, message_id: str) -> int:
    """Where the unit of a message ends in the view. Raises NotFound."""
    place = session.state.places.get(message_id)
    if place is None:
        raise NotFound("this message is not in the model view", hint="session/history view=model lists it")
    units = divide([entry.facts for entry in session.state.view])
    return next(unit.end for unit in units if unit.start <= place < unit.end)


async def _run(session: Session, job: Job, snapshot: Snapshot) -> Compaction:
    def ended(outcome: Outcome, failure: str) -> Compaction:
        return Compaction(
            outcome,
            job.trigger,
            job.reason,
            snapshot.before,
            snapshot.before,
            snapshot.goal,
            snapshot.projection.floor,
            failure=failure,
        )

    if not snapshot.projection.reachable and job.reason == "threshold":
        return ended("cannotReach", "floor")
    entries = session.state.view[: snapshot.end]
    weigher = await session.weigher()
    extra = fallback.Extra(keep_nothing=job.up_to is not None)
    made = await anyio.to_thread.run_sync(
        draft, session, entries, snapshot.natives, weigher, job.requested, extra
    )
    if not gate.is_gain(snapshot.before.tokens, made.plan.after):
        return ended("noop", "insufficientReduction")
    if rule := broken_rule(session, entries, snapshot.natives, made):
        return ended("failed", rule)
    async with session.lane:
        if session.state.generation != snapshot.generation:
            return ended("failed", "viewChanged")
        planned = Planned(
            report=_report(session, job, snapshot, made),
            drafted=made,
            covers=snapshot.end,
            revision=session.state.revision,
        )
        if job.dry_run:
            return _keep(session, planned)
        return await _commit(session, planned)


def _report(session: Session, job: Job, snapshot: Snapshot, made: Drafted) -> Compaction:
    state = session.state
    entries = state.view[: snapshot.end]
    plan = made.plan
    kept = {item.message_id for item in made.replacement if isinstance(item, Kept)}
    placed = [item.facts for item in made.replacement if isinstance(item, Placed)]
    size = sum(entry.size for entry in entries if entry.facts.id in kept) + sum(f.bytes for f in placed)
    return Compaction(
        outcome="planned",
        trigger=job.trigger,
        reason=job.reason,
        before=snapshot.before,
        after=Size(plan.after, len(made.replacement), size),
        target=plan.target,
        floor=snapshot.projection.floor,
        strategy="deterministic",
        units=plan.units,
        summary=plan.state,
        audit=audit(entries, kept, made.shown, plan.quotes, plan.state.exact_records, state.positions.keys()),
    )


def _keep(session: Session, planned: Planned) -> Compaction:
    """Remember a dry run so that it can be committed."""
    plan_id = session.environment.new_id("p")
    session.plans[plan_id] = planned
    while len(session.plans) > PLANS_KEPT:
        session.plans.pop(next(iter(session.plans)))
    return msgspec.structs.replace(planned.report, plan_id=plan_id)


async def _commit(session: Session, planned: Planned) -> Compaction:
    """Make the checkpoint durable and the view it stands for visible. The caller holds the lane."""
    made = planned.drafted
    checkpoint_id = session.environment.new_id("c")
    report = msgspec.structs.replace(planned.report, outcome="applied", checkpoint_id=checkpoint_id)
    event = CheckpointCommitted(
        checkpoint_id=checkpoint_id,
        version=CHECKPOINT_VERSION,
        covers=planned.covers,
        replacement=made.replacement,
        summary=made.plan.state,
        trigger=report.trigger,
        reason=report.reason,
        strategy=report.strategy or "deterministic",
        tokens_before=report.before.tokens,
        tokens_after=report.after.tokens,
        units=report.units,
        elisions=made.plan.elisions,
    )
    if len(made.replacement) > MAX_MESSAGES or sum(map(len, made.bodies)) > MAX_BYTES:
        raise CheckpointFailed("the replacement is too large for a checkpoint", hint="lower the target")
    try:
        await session.commit([Written(event, tuple(made.bodies))])
    except StoreError as error:
        raise CheckpointFailed(
            "the checkpoint could not be made durable; the view is unchanged",
            hint=error.hint,
            cause=error.kind,
        ) from error
    session.environment.note("compactions")
    return report
