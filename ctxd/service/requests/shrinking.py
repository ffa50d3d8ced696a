"""What `prepare` does to make a request fit: elision, else compaction, else a clip; then the handoff.

Each is planned on what the one before it leaves. All that is not a compaction is committed as one
batch; a compaction commits itself.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ctxd.compaction import byte_budget, elision, gate, handoff
from ctxd.compaction.evidence import evidence
from ctxd.compaction.extract import read_item
from ctxd.compaction.tail import clip_unit
from ctxd.core.budget import Limits
from ctxd.core.facts import describe
from ctxd.core.projection import Projection
from ctxd.core.units import divide
from ctxd.model.events import Elision, HandoffRecorded, Load, ViewElided
from ctxd.service.compacting import compactor
from ctxd.service.compacting.compactions import Compaction, Job
from ctxd.service.requests.eliding import elide_all, is_cache_expired, plan_elisions
from ctxd.service.requests.steering import Intake
from ctxd.service.session import Session, Written

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


class Shrunk(msgspec.Struct, frozen=True):
    """What was done. `compaction` is the attempt that was made, successful or not."""

    stages: tuple[Stage, ...] = ()
    cost: Cost | None = None
    compaction: Compaction | None = None

    @property
    def compacted(self) -> bool:
        return self.compaction is not None and self.compaction.outcome == "applied"


class Wanted(msgspec.Struct, frozen=True):
    """A request to make fit: its projection as the session stood at `revision`, and what pends."""

    projection: Projection
    revision: int
    pending: Load
    pending_bytes: int

    def at(self, session: Session) -> Wanted:
        """The same request as the session stands now. The caller holds the lane."""
        if session.state.revision == self.revision:
            return self
        now = session.project(self.pending, self.pending_bytes)
        return msgspec.structs.replace(self, projection=now, revision=session.state.revision)

    def with_more(self, session: Session, load: Load, size: int) -> Wanted:
        """The same request with messages beside the pending ones, `size` bytes of them."""
        if not size:
            return self
        both = Load(view=self.pending.view + load.view, media=self.pending.media + load.media)
        size += self.pending_bytes
        return Wanted(session.project(both, size), session.state.revision, both, size)


def is_settled(session: Session, phase: PreparePhase, before: Projection) -> bool:
    """Whether nothing needs to be done: no retry, and small enough for every stage. Constant time."""
    limits = before.limits
    settings = session.environment.settings
    pressure = elision.Pressure(before.decisive, session.state.ratio, limits, session.state.provider_calls)
    return (
        phase != "retry"
        and before.bytes <= (settings.wire.max_bytes or session.dialect.max_request_bytes)
        and (limits is None or before.decisive < min(limits.handoff, limits.compaction))
        and not elision.is_pressed(pressure, settings.elision)
    )


async def shrink(session: Session, phase: PreparePhase, wanted: Wanted, intake: Intake) -> Shrunk:
    """Make the next request fit, as far as it can be. Must be called without the lane.

    What steering adds is weighed in `wanted`, and committed with what is decided beside a compaction.

    Raises what committing and compacting raise; then the view is as it was.
    """
    if session.compacting:
        before = wanted.projection
        limits = before.limits
        if phase != "retry" and (limits is None or before.decisive <= limits.available):
            # What runs already makes room; another change of the view would spoil its plan.
            return Shrunk()
        await session.wait_for_flight()
    async with session.lane:
        wanted = wanted.at(session)
        before = wanted.projection
        batch = await plan_elisions(session, phase, before)
    freed = batch.saved if batch else 0
    stages: list[Stage] = []
    attempt: Compaction | None = None
    reason = compactor.due(session, before, freed)
    if reason is not None and session.worth_compacting() and not session.compacting:
        job = Job(trigger="auto", reason=reason, requested=compactor.aim(session, before, reason))
        attempt = await compactor.compact(session, job)
        gained = attempt.before.tokens - attempt.after.tokens
        stages.append(Stage("compaction", attempt.failure or reason, len(attempt.units), gained))
        if attempt.outcome == "applied":
            async with session.lane:
                written, more = await _fit_bytes(session, session.project().bytes)
                if written is not None:
                    await session.commit([written])
            return Shrunk((*stages, *more), Cost(attempt.after.tokens, gained, 0), attempt)
        session.remember_attempt()
    async with session.lane:
        if wanted.at(session) is not wanted:
            # Somebody else changed the session since; what was planned is not what is needed.
            before = wanted.at(session).projection
            batch = await plan_elisions(session, phase, before)
        more, cost = await _commit_rest(session, before, batch, intake)
    stages += more
    if phase == "retry" and session.must_shrink():
        forced, done = await _force(session)
        stages += forced
        attempt = done or attempt
    return Shrunk(tuple(stages), cost, attempt)


async def _force(session: Session) -> tuple[list[Stage], Compaction | None]:
    """Make a retry smaller that nothing has made smaller yet: elide, and compact if that is little."""
    before = session.tokens()
    async with session.lane:
        elided = await elide_all(session)
    gained = before - session.tokens()
    stages = [Stage("retry", "elided", 1, gained)] if elided else []
    if gate.is_gain(before, before - gained):
        return stages, None
    if session.environment.settings.compaction.auto and not session.compacting:
        job = Job(trigger="auto", reason="contextLimit", requested=max(1, before // 2))
        done = await compactor.compact(session, job)
        if done.outcome == "applied":
            freed = done.before.tokens - done.after.tokens
            return [*stages, Stage("compaction", "contextLimit", len(done.units), freed)], done
    return stages or [Stage("retry", "cannotShrink", 0, 0)], None


async def _commit_rest(
    session: Session, before: Projection, batch: elision.Batch | None, intake: Intake
) -> tuple[list[Stage], Cost | None]:
    """Commit steering, elisions, a clip and the handoff together. The caller holds the lane."""
    written: list[Written] = []
    stages: list[Stage] = []
    cost: Cost | None = None
    freed = 0
    if batch is not None:
        name = "cacheExpiry" if is_cache_expired(session) else "elision"
        written.append(Written(ViewElided(elisions=batch.elisions, stage=name)))
        reasons = sorted({e.reason for e in batch.elisions})
        stages.append(Stage(name, ",".join(reasons), len(batch.elisions), batch.saved))
        cost = Cost(batch.rewritten, batch.saved, batch.break_even)
        freed = batch.saved
        session.environment.note("elisions", len(batch.elisions))
    saved_bytes = sum(e.saved_bytes for e in batch.elisions) if batch else 0
    fitted, more = await _fit_bytes(session, before.bytes - saved_bytes)
    if fitted is not None:
        written.append(fitted)
        stages += more
        freed += sum(stage.tokens_freed for stage in more)
    limits = before.limits
    if limits is not None and before.decisive_without(freed) > limits.available:
        cuts, gained = await _clip_newest(session, before.decisive_without(freed), limits)
        if cuts:
            written.append(Written(ViewElided(elisions=cuts, stage="clip")))
            stages.append(Stage("clip", "clippedNewest", len(cuts), gained))
            freed += gained
    handed = await _handoff(session, before.decisive_without(freed), limits)
    if handed is not None:
        written.append(handed)
        stages.append(Stage("handoff", "band", 1, 0))
    await intake.commit(session, written)
    return stages, cost


async def _fit_bytes(session: Session, size: int) -> tuple[Written | None, list[Stage]]:
    """Placeholders for media and large outputs while the request is too large in bytes."""
    limit = session.environment.settings.wire.max_bytes or session.dialect.max_request_bytes
    if size <= limit:
        return None, []
    weigher = await session.weigher()
    spared = evidence(session.state)
    elisions = byte_budget.plan(session.state, size, limit, count=weigher.count, protected=spared)
    if not elisions:
        return None, []
    freed = round(sum(e.saved for e in elisions) * session.state.ratio) + sum(e.saved_media for e in elisions)
    session.environment.note("elisions", len(elisions))
    event = ViewElided(elisions=elisions, stage="bytes")
    return Written(event), [Stage("bytes", "byteBudget", len(elisions), freed)]


async def _clip_newest(session: Session, tokens: int, limits: Limits) -> tuple[tuple[Elision, ...], int]:
    """Last resort: head and tail of the newest results, so that the request can be sent at all."""
    state = session.state
    units = divide([entry.facts for entry in state.view])
    if not units or units[-1].kind != "tools":
        return (), 0
    unit = units[-1]
    entries = state.view[unit.start : unit.end]
    natives = await session.natives([entry.facts.id for entry in entries])
    items = [read_item(e, session.view(n)) for e, n in zip(entries, natives, strict=True)]
    cost = sum(entry.tokens for entry in entries)
    room = cost - int((tokens - limits.available) / state.ratio) - 1
    weigher = await session.weigher()
    local = msgspec.structs.replace(unit, start=0, end=len(entries))
    cuts = clip_unit(state, items, local, max(0, room), weigher.count)
    gained = round(sum(e.saved - shown for e, shown in cuts) * state.ratio)
    return tuple(e for e, _ in cuts), gained


async def _handoff(session: Session, tokens: int, limits: Limits | None) -> Written | None:
    """The one handoff of an epoch, in the band between the thresholds (behaviour.md, section 6)."""
    state = session.state
    settings = session.environment.settings
    if limits is None or not settings.handoff.enabled or not state.handoff.is_open:
        return None
    if not limits.handoff <= tokens < limits.compaction or not state.view:
        return None
    if divide([entry.facts for entry in state.view])[-1].open:
        # Nothing may stand between a call that waits and the result to come.
        return None
    text = handoff.reminder(limits.compaction - tokens)
    native = session.make(text)
    view = session.view(native)
    facts = describe(session.environment.new_id("h"), native, view, await session.weigher(), hidden=True)
    event = HandoffRecorded(
        version=1,
        observed_prompt_tokens=tokens,
        available_for_input=limits.available,
        handoff_threshold=limits.handoff,
        compaction_threshold=limits.compaction,
        facts=msgspec.structs.replace(facts, inserted="handoff", user_turn=False),
    )
    return Written(event, (native.raw,))
