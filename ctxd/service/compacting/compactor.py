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
from ctxd.compaction.extract import Item
from ctxd.compaction.sampling import Ask
from ctxd.core.projection import Projection
from ctxd.core.units import Unit
from ctxd.model.errors import Busy, CheckpointFailed, InvalidParams, NotFound, RevisionConflict, StoreError
from ctxd.model.events import CheckpointCommitted, CompactionReason, ViewElided, ViewUndone
from ctxd.service.compacting import partial
from ctxd.service.compacting.compactions import (
    CHECKPOINT_VERSION,
    Compaction,
    Job,
    Planned,
    Size,
    Snapshot,
    Waiting,
)
from ctxd.service.compacting.outcomes import ended, planned
from ctxd.service.compacting.replacing import MAX_BYTES, MAX_MESSAGES, Drafted, broken_rule, draft, gone
from ctxd.service.compacting.summaries import (
    Summarised,
    concluded,
    prepare_sampling,
    request_of,
    settle,
    summarise,
    take_reply,
    wants_model,
)
from ctxd.service.files.restoring import recent_files
from ctxd.service.host import HookReply, HookRequest
from ctxd.service.memory.remembering import remember
from ctxd.service.requests.eliding import plan_everything
from ctxd.service.session import Session, Written

PLANS_KEPT = 8
"""Dry runs that can still be committed, per session."""


async def compact(session: Session, job: Job) -> Compaction:
    """Replace the view, or its beginning up to `job.up_to`. Must be called without the lane.

    Raises Busy while another compaction of the session runs, NotFound for an unknown `up_to`,
    SessionLocked or ReadOnly where nothing can be written, and CheckpointFailed when the checkpoint
    cannot be made durable; the old view stays then.
    """
    async with _single_flight(session):
        if not job.dry_run:
            # Nothing to write refuses as any write would: before anybody is asked for a summary.
            await session.log.append([])
        async with session.lane:
            await session.settle()
            snapshot = await _take(session, job)
        async with _announced(session):
            return await remember(session, await _run(session, job, snapshot))


async def commit_plan(session: Session, plan_id: str, summary: str | None) -> Compaction:
    """Apply a dry run, or go on with a plan that asked for input.

    Raises NotFound for an unknown plan, InvalidParams when one that needs a text has none or one that
    needs none has a text, and RevisionConflict when the session moved on.
    """
    async with _single_flight(session):
        waiting = session.waiting.get(plan_id)
        plan = session.plans.get(plan_id)
        if waiting is None and plan is None:
            raise NotFound("no such plan", hint="plans are used once and end with the daemon", planId=plan_id)
        if waiting is not None and summary is None:
            raise InvalidParams.at("summary", "this plan asked for a model's text")
        if waiting is None and summary is not None:
            raise InvalidParams.at("summary", "this plan asked for no text")
        _check_revision(session, waiting.snapshot.revision if waiting else plan.revision if plan else 0)
        async with _announced(session):
            if waiting is not None:
                del session.waiting[plan_id]
                return await remember(session, await _take_input(session, waiting, summary or ""))
            assert plan is not None
            async with session.lane:
                _check_revision(session, plan.revision)
                done = await _commit(session, plan)
                del session.plans[plan_id]
            return await remember(session, done)


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
    tokens = projection.decisive_without(freed)
    if tokens < limits.compaction:
        return None
    if projection.reachable:
        return "modelChange" if session.state.model_changed else "threshold"
    # What cannot be compacted is at the threshold: only a request that would not fit is worth one, if it can.
    return "contextLimit" if projection.floor <= limits.available < tokens else None


def aim(session: Session, projection: Projection, reason: CompactionReason) -> int | None:
    """Tokens the messages should come to when ctxd decides on its own.

    Well below the threshold, so that the next compaction is not due at once: six tenths of what the
    fixed part leaves, seven where that is little. At the context limit, what still fits beside the fixed
    part.
    """
    limits = projection.limits
    if limits is None:
        return None
    fixed = max(0, projection.tokens - session.tokens())
    if reason == "contextLimit":
        return max(1, (limits.available - fixed) * 8 // 10)
    room = max(1, limits.compaction - fixed)
    return max(room * 6 // 10, min(gate.TARGET_MIN, room * 7 // 10))


@asynccontextmanager
async def _single_flight(session: Session) -> AsyncIterator[None]:
    """One compaction at a time per session (reports B.28)."""
    if session.compacting:
        raise Busy("a compaction of this session is running", hint="wait for its report")
    session.start_flight()
    try:
        yield
    finally:
        session.end_flight()


@asynccontextmanager
async def _announced(session: Session) -> AsyncIterator[None]:
    """Tell the host that a compaction began and that it ended, however it ends."""
    host = session.environment.host
    state = session.state
    host.phase(session, "start", {"tokens": session.tokens(), "messages": len(state.view)})
    try:
        yield
    finally:
        host.phase(session, "complete", {"tokens": session.tokens(), "messages": len(state.view)})


async def _take(session: Session, job: Job) -> Snapshot:
    state = session.state
    end = len(state.view)
    if job.up_to is not None:
        end = await partial.end_of(session, job.up_to)
    entries = state.view[:end]
    before = Size(session.tokens(end), end, sum(entry.size for entry in entries))
    return Snapshot(
        entries=tuple(entry.copy() for entry in entries),
        natives=tuple(await session.natives([entry.facts.id for entry in entries])),
        end=end,
        generation=state.generation,
        revision=state.revision,
        before=before,
        goal=gate.target(before.tokens, session.window().value, job.requested),
        projection=session.project(),
    )


async def _run(session: Session, job: Job, snapshot: Snapshot) -> Compaction:
    if not snapshot.projection.reachable and job.reason in ("threshold", "modelChange"):
        return ended(job, snapshot, "cannotReach", Summarised(), "floor")
    verdict = await _ask_hook(session, job, snapshot)
    if not verdict.allow:
        return ended(job, snapshot, "blocked", Summarised(), verdict.reason or "blocked by the host")
    joined = "\n\n".join(part for part in (job.instructions, verdict.instructions) if part)
    job = msgspec.structs.replace(job, instructions=joined, hook_failure=verdict.failure)
    if (elided := await _elide_first(session, job, snapshot)) is not None:
        return elided
    plain = await _draft(session, job, snapshot, Summarised())
    if not wants_model(session, job):
        return await _finish(session, job, snapshot, plain, Summarised())
    items, units = await anyio.to_thread.run_sync(gone, session, snapshot.entries, snapshot.natives, plain)
    if not units:
        return await _finish(session, job, snapshot, plain, Summarised(failure="nothingToSummarise"))
    if job.delivery == "inline":
        return await _wait_for_input(session, job, snapshot, plain, items, units)
    summary = await summarise(session, job, items, units)
    if summary.failure == "hostGone":
        # Whoever wanted this is not there any more; the next one finds the session as it was.
        return ended(job, snapshot, "failed", summary)
    made, summary = await _word(session, job, snapshot, plain, summary)
    settle(session, summary)
    return await _finish(session, job, snapshot, made, summary)


async def _word(
    session: Session, job: Job, snapshot: Snapshot, plain: Drafted, summary: Summarised
) -> tuple[Drafted, Summarised]:
    """The draft that words a summary where it reaches what it must; else the plain one, and why."""
    if summary.digest is None:
        return plain, summary
    worded = await _draft(session, job, snapshot, summary)
    fits = worded.plan.after <= max(worded.plan.target, plain.plan.after)
    if fits and _is_gain(job, snapshot, worded):
        return worded, summary
    return plain, msgspec.structs.replace(summary, digest=None, failure="insufficientReduction", counts=True)


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
        session.environment.host.view_changed(session, "compaction")
        size = Size(session.tokens(), len(state.view), state.view_bytes)
    done = ended(job, snapshot, "applied", Summarised())
    return msgspec.structs.replace(done, after=size, strategy="elision")


async def _finish(
    session: Session, job: Job, snapshot: Snapshot, made: Drafted, summary: Summarised
) -> Compaction:
    """Check a draft and commit it, or keep it as a plan."""
    if not _is_gain(job, snapshot, made):
        if not snapshot.projection.reachable:
            return ended(job, snapshot, "cannotReach", summary, "floor")
        failure = "" if summary.failure else "insufficientReduction"
        return ended(job, snapshot, "noop", summary, failure)
    if rule := broken_rule(session, snapshot.entries, snapshot.natives, made):
        return ended(job, snapshot, "failed", summary, rule)
    async with session.lane:
        if session.state.generation != snapshot.generation:
            return ended(job, snapshot, "failed", summary, "viewChanged")
        ready = Planned(
            report=planned(session, job, snapshot, made, summary),
            drafted=made,
            covers=snapshot.end,
            revision=session.state.revision,
        )
        return _keep(session, ready) if job.dry_run else await _commit(session, ready)


def _is_gain(job: Job, snapshot: Snapshot, made: Drafted) -> bool:
    """Whether a draft is worth a new view: of a person's wish by its messages, else by the whole request."""
    before, after = snapshot.before.tokens, made.plan.after
    fixed = 0 if job.trigger == "manual" else max(0, snapshot.projection.tokens - before)
    return gate.is_gain(fixed + before, fixed + after)


async def _draft(session: Session, job: Job, snapshot: Snapshot, summary: Summarised) -> Drafted:
    recent = await recent_files(session, partial=job.up_to is not None)
    behind = partial.behind(session, snapshot.end) if job.up_to is not None else None
    extra = fallback.Extra(digest=summary.digest, unshown=summary.unshown, recent=recent, behind=behind)
    weigher = await session.weigher()
    return await session.environment.counting.run(
        draft, session, snapshot.entries, snapshot.natives, weigher, job.requested, extra
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
    session: Session,
    job: Job,
    snapshot: Snapshot,
    plain: Drafted,
    items: Sequence[Item],
    units: Sequence[Unit],
) -> Compaction:
    """Answer what the host should ask its model; `context/commit` brings the text."""
    sampling = await prepare_sampling(session, job, items, units)
    step = sampling.begin()
    if not isinstance(step, Ask):
        return await _finish(session, job, snapshot, plain, Summarised(failure="contextExhausted"))
    plan_id = session.environment.new_id("p")
    request = request_of(session, step)
    revision = session.state.revision
    session.waiting = {k: w for k, w in session.waiting.items() if w.snapshot.revision == revision}
    session.waiting[plan_id] = Waiting(job, snapshot, sampling, plain, request)
    while len(session.waiting) > PLANS_KEPT:
        session.waiting.pop(next(iter(session.waiting)))
    asked = ended(job, snapshot, "inputRequired", Summarised())
    return msgspec.structs.replace(asked, plan_id=plan_id, sampling=request)


async def _take_input(session: Session, waiting: Waiting, text: str) -> Compaction:
    """Go on with a summary given inline; it passes the same gate as a sampled one."""
    step = await take_reply(session, waiting.sampling, text, last=True)
    assert not isinstance(step, Ask)
    summary = concluded(waiting.sampling, step)
    job, snapshot = waiting.job, waiting.snapshot
    made, summary = await _word(session, job, snapshot, waiting.plain, summary)
    return await _finish(session, job, snapshot, made, summary)


def _check_revision(session: Session, planned: int) -> None:
    """Raises RevisionConflict when the session moved on since something was planned."""
    actual = session.state.revision
    if planned != actual:
        raise RevisionConflict(
            "the session has moved on since the plan was made",
            hint="plan again",
            expected=planned,
            actual=actual,
        )


def _keep(session: Session, plan: Planned) -> Compaction:
    """Remember a dry run so that it can be committed; those the session has left behind are forgotten."""
    plan_id = session.environment.new_id("p")
    session.plans = {k: p for k, p in session.plans.items() if p.revision == plan.revision}
    session.plans[plan_id] = plan
    while len(session.plans) > PLANS_KEPT:
        session.plans.pop(next(iter(session.plans)))
    return msgspec.structs.replace(plan.report, plan_id=plan_id)


async def _commit(session: Session, plan: Planned) -> Compaction:
    """Make the checkpoint durable and the view it stands for visible. The caller holds the lane."""
    made = plan.drafted
    checkpoint_id = session.environment.new_id("c")
    report = msgspec.structs.replace(plan.report, outcome="applied", checkpoint_id=checkpoint_id)
    event = CheckpointCommitted(
        checkpoint_id=checkpoint_id,
        version=CHECKPOINT_VERSION,
        covers=plan.covers,
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
    session.environment.host.view_changed(session, "compaction")
    return report
