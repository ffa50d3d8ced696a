"""The only caller of the compaction policy: snapshot, plan, check, commit as one event.

The lane is held while the view is read and while the checkpoint is committed, not in between:
messages may arrive while a summary is made, and stay behind the replacement in order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import msgspec

from ctxd.compaction import fallback, gate
from ctxd.compaction.audit import audit
from ctxd.compaction.extract import Item
from ctxd.compaction.sampling import Ask, Made
from ctxd.core.fold import Entry
from ctxd.core.projection import Projection
from ctxd.core.units import Unit, divide
from ctxd.model.errors import Busy, CheckpointFailed, InvalidParams, NotFound, RevisionConflict, StoreError
from ctxd.model.events import CheckpointCommitted, CompactionReason, Kept, Placed, ViewElided, ViewUndone
from ctxd.model.summary import SessionSummary
from ctxd.service.compactions import (
    CHECKPOINT_VERSION,
    Compaction,
    Job,
    Outcome,
    Planned,
    Size,
    Snapshot,
    Waiting,
)
from ctxd.service.eliding import plan_everything
from ctxd.service.host import HookReply, HookRequest
from ctxd.service.replacing import MAX_BYTES, MAX_MESSAGES, Drafted, broken_rule, draft, gone
from ctxd.service.restoring import recent_files
from ctxd.service.session import Session, Written
from ctxd.service.summaries import Summarised, prepare_sampling, request_of, summarise, wants_model

PLANS_KEPT = 8
"""Dry runs that can still be committed, per session."""


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


async def commit_plan(session: Session, plan_id: str, summary: str | None) -> Compaction:
    """Apply a dry run, or go on with a plan that asked for input.

    Raises NotFound for an unknown plan, InvalidParams when one that needs a text has none, and
    RevisionConflict when the session moved on.
    """
    async with _single_flight(session):
        waiting = session.waiting.get(plan_id)
        if waiting is not None:
            if summary is None:
                raise InvalidParams.at("summary", "this plan asked for a model's text")
            done = await _take_input(session, plan_id, waiting, summary)
        else:
            async with session.lane:
                planned = session.plans.get(plan_id)
                if planned is None:
                    raise NotFound(
                        "no such plan",
                        hint="plans are kept until the daemon ends; plan again",
                        planId=plan_id,
                    )
                if planned.revision != session.state.revision:
                    raise _moved_on(planned.revision, session.state.revision)
                done = await _commit(session, planned)
                del session.plans[plan_id]
    if done.outcome == "applied":
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
        return "modelChange" if session.state.model_changed else "threshold"
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
        return _ended(job, snapshot, outcome, failure)

    if not snapshot.projection.reachable and job.reason in ("threshold", "modelChange"):
        return ended("cannotReach", "floor")
    verdict = await _ask_hook(session, job, snapshot)
    if not verdict.allow:
        return ended("blocked", verdict.reason or "blocked by the host")
    if verdict.instructions:
        joined = "\n\n".join(part for part in (job.instructions, verdict.instructions) if part)
        job = msgspec.structs.replace(job, instructions=joined)
    if (elided := await _elide_first(session, job, snapshot)) is not None:
        return elided
    entries = session.state.view[: snapshot.end]
    made = await _draft(session, job, snapshot, entries, None)
    summary = Summarised(None, "")
    if wants_model(session, job):
        items, units = gone(session, entries, snapshot.natives, made)
        if units and job.delivery == "inline":
            return await _wait_for_input(session, job, snapshot, items, units)
        if units:
            summary = await summarise(session, job, items, units)
    if summary.digest is not None:
        worded = await _draft(session, job, snapshot, entries, summary.digest)
        if gate.is_gain(snapshot.before.tokens, worded.plan.after):
            return await _finish(session, job, snapshot, worded, summary)
        summary = msgspec.structs.replace(summary, digest=None, failure="insufficientReduction")
    return await _finish(session, job, snapshot, made, summary)


async def _elide_first(session: Session, job: Job, snapshot: Snapshot) -> Compaction | None:
    """Elision alone, where a person asked for "auto" and it reaches the target (behaviour.md, section 5)."""
    if job.strategy != "auto" or job.trigger != "manual" or job.dry_run or job.up_to is not None:
        return None
    async with session.lane:
        batch = await plan_everything(session)
        state = session.state
        after = snapshot.before.tokens - (batch.saved if batch else 0)
        if batch is None or after > snapshot.goal or state.generation != snapshot.generation:
            return None
        await session.commit([Written(ViewElided(elisions=batch.elisions, stage="manual"))])
        size = Size(session.tokens(), len(state.view), state.view_bytes)
    done = _ended(job, snapshot, "applied", "")
    return msgspec.structs.replace(done, after=size, strategy="elision")


async def _finish(
    session: Session, job: Job, snapshot: Snapshot, made: Drafted, summary: Summarised
) -> Compaction:
    """Check a draft and commit it, or keep it as a plan."""
    if not gate.is_gain(snapshot.before.tokens, made.plan.after):
        return _ended(job, snapshot, "noop", summary.failure or "insufficientReduction")
    entries = session.state.view[: snapshot.end]
    if rule := broken_rule(session, entries, snapshot.natives, made):
        return _ended(job, snapshot, "failed", rule)
    async with session.lane:
        if session.state.generation != snapshot.generation:
            return _ended(job, snapshot, "failed", "viewChanged")
        planned = Planned(
            report=_report(session, job, snapshot, made, summary),
            drafted=made,
            covers=snapshot.end,
            revision=session.state.revision,
        )
        if job.dry_run:
            return _keep(session, planned)
        return await _commit(session, planned)


def _ended(job: Job, snapshot: Snapshot, outcome: Outcome, failure: str) -> Compaction:
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


async def _draft(
    session: Session, job: Job, snapshot: Snapshot, entries: Sequence[Entry], digest: SessionSummary | None
) -> Drafted:
    partial = job.up_to is not None
    recent = await recent_files(session, partial=partial)
    extra = fallback.Extra(digest=digest, recent=recent, keep_nothing=partial)
    weigher = await session.weigher()
    return await anyio.to_thread.run_sync(
        draft, session, entries, snapshot.natives, weigher, job.requested, extra
    )


async def _ask_hook(session: Session, job: Job, snapshot: Snapshot) -> HookReply:
    """The host's word on this compaction; one that does not come in time allows it (E §6.2)."""
    request = HookRequest(
        session_id=session.session_id,
        trigger=job.trigger,
        reason=job.reason,
        messages_before=snapshot.before.messages,
        tokens_before=snapshot.before.tokens,
    )
    within = session.environment.settings.compaction.hook_timeout_ms / 1000
    return await session.environment.host.before_compaction(request, within)


async def _wait_for_input(
    session: Session, job: Job, snapshot: Snapshot, items: Sequence[Item], units: Sequence[Unit]
) -> Compaction:
    """Answer what the host should ask its model; `context/commit` brings the text."""
    sampling = await prepare_sampling(session, job, items, units)
    step = sampling.begin()
    if not isinstance(step, Ask):
        made = await _draft(session, job, snapshot, session.state.view[: snapshot.end], None)
        return await _finish(session, job, snapshot, made, Summarised(None, "contextExhausted"))
    plan_id = session.environment.new_id("p")
    session.waiting[plan_id] = Waiting(job, snapshot, sampling, request_of(session, step))
    while len(session.waiting) > PLANS_KEPT:
        session.waiting.pop(next(iter(session.waiting)))
    asked = msgspec.structs.replace(_ended(job, snapshot, "inputRequired", ""), plan_id=plan_id)
    return msgspec.structs.replace(asked, sampling=session.waiting[plan_id].request)


async def _take_input(session: Session, plan_id: str, waiting: Waiting, text: str) -> Compaction:
    """Go on with a summary given inline; it passes the same gate as a sampled one."""
    state = session.state
    snapshot = waiting.snapshot
    if state.revision != snapshot.revision:
        raise _moved_on(snapshot.revision, state.revision)
    del session.waiting[plan_id]
    step = waiting.sampling.take_reply(text, is_text=True)
    summary = Summarised(None, "invalidOutput", 1)
    if isinstance(step, Made):
        summary = Summarised(step.digest, "", 1)
    entries = state.view[: snapshot.end]
    made = await _draft(session, waiting.job, snapshot, entries, summary.digest)
    return await _finish(session, waiting.job, snapshot, made, summary)


def _moved_on(expected: int, actual: int) -> RevisionConflict:
    return RevisionConflict(
        "the session has moved on since the plan was made",
        hint="plan again",
        expected=expected,
        actual=actual,
    )


def _report(session: Session, job: Job, snapshot: Snapshot, made: Drafted, summary: Summarised) -> Compaction:
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
        strategy="model" if summary.digest is not None else "deterministic",
        units=plan.units,
        summary=plan.state,
        audit=audit(entries, kept, made.shown, plan.quotes, plan.state.exact_records, state.positions.keys()),
        preserved=made.preserved,
        failure=_why_deterministic(job, summary),
        attempts=summary.attempts,
        reductions=summary.reductions,
        usage=summary.usage,
        files=plan.files,
    )


def _why_deterministic(job: Job, summary: Summarised) -> str:
    """Why a model's summary that was wanted is not in use; "" when none was, or nobody is there to ask."""
    if summary.failure == "noSampler" and job.strategy != "model":
        return ""
    return summary.failure


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
