"""From what the service answers to wire models. The only place where both are known side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ctxd.compaction.preservation import Preserved
from ctxd.core.fingerprint import fingerprint
from ctxd.core.projection import Projection
from ctxd.model import events
from ctxd.model.records import Span
from ctxd.model.summary import PlanSnapshot, SessionSummary
from ctxd.server.handlers import guard
from ctxd.server.handlers.items import category_of, items_of
from ctxd.server.wire import compactions, hosts, projections, sessions
from ctxd.server.wire.base import NativeValue
from ctxd.service.compacting import pins
from ctxd.service.compacting.compactions import Compaction, Remembered, Size
from ctxd.service.host import SampleRequest
from ctxd.service.intake.description import Meta
from ctxd.service.opening import Fixed
from ctxd.service.past.listing import Row
from ctxd.service.requests.prepare import CacheFacts
from ctxd.service.requests.rendering import Lost
from ctxd.service.session import Session

_EMPTY_AUDIT = compactions.Audit(
    constraints=compactions.ConstraintAudit(total=0, verbatim=0, reinjected=0),
    exact_records=compactions.RecordAudit(total=0, verbatim=0),
    artifacts=compactions.ArtifactAudit(total=0, referenced=0, reinjected=0),
    invariants=compactions.InvariantAudit(total=0, held=0, reinjected=0),
    tool_outputs=compactions.ToolOutputAudit(evicted=0, recoverable=0),
    files_mentioned=compactions.FileAudit(before=0, after=0, recoverable=0),
)


def session_info(session: Session, lost: Sequence[Lost] = ()) -> sessions.SessionInfo:
    """A session that is open here; `lost` is what did not cross into a dialect it was just switched to."""
    state = session.state
    window = session.window()
    holder = session.log.holder if not session.writable else None
    return sessions.SessionInfo(
        session_id=session.session_id,
        workspace=_uri(state.created.workspace if state.created else ""),
        dialect=session.dialect.name,
        model=_model(state.model),
        window=sessions.Window(value=window.value, source=window.source),
        revision=state.revision,
        epoch=state.epoch,
        generation=state.generation,
        access="write" if session.writable else "readOnly",
        holder=sessions.Holder(**{**holder.as_facts(), "client": holder.client or None}) if holder else None,
        recovered=[_span(session.log.recovered)] if session.log.recovered else None,
        durable=session.log.durable,
        created_at=state.created_at,
        updated_at=state.updated_at,
        losses=losses(lost),
        guard=guard.describe(session),
    )


def losses(lost: Sequence[Lost]) -> list[sessions.Loss] | None:
    """What did not cross into another dialect; None where everything did."""
    found = [sessions.Loss(message_id=one.message_id, what=one.what, detail=one.detail) for one in lost]
    return found or None


def health(session: Session) -> sessions.Health:
    """The state of a session's log."""
    found = session.log.health
    size, segments = session.log.measure()
    holder = session.log.holder if not session.writable else None
    return sessions.Health(
        status=found.status,
        spans=[_span(span) for span in found.spans],
        bytes=size,
        segments=segments,
        durable=session.log.durable,
        access="write" if session.writable else "readOnly",
        holder=sessions.Holder(**{**holder.as_facts(), "client": holder.client or None}) if holder else None,
        unreadable=len(session.unreadable),
    )


def row_info(row: Row) -> sessions.SessionInfo:
    """A session as the index knows it."""
    return sessions.SessionInfo(
        session_id=row.session_id,
        workspace=_uri(row.workspace),
        dialect=row.dialect,
        model=_model(row.model),
        window=sessions.Window(value=row.window, source=row.window_source),
        revision=row.revision,
        epoch=row.epoch,
        generation=row.generation,
        access=row.access,
        durable=True,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def projection(
    session: Session,
    found: Projection,
    pending: bytes = b"",
    detail: str = "summary",
    *,
    sealed: str | None = None,
) -> projections.Projection:
    """A projection; `pending` is the JSON text of pending messages, `sealed` the fingerprint if known."""
    limits = found.limits
    options = session.environment.settings.wire
    return projections.Projection(
        tokens=found.tokens,
        low=found.low,
        high=found.high,
        source=found.source,
        estimated_pending_tokens=max(0, found.pending) if found.pending is not None else None,
        phase=found.phase,
        window=limits.window if limits else None,
        reserve=limits.reserve if limits else None,
        available_for_input=limits.available if limits else None,
        handoff_threshold=limits.handoff if limits else None,
        compaction_threshold=limits.compaction if limits else None,
        floor=found.floor,
        reachable=found.reachable,
        bytes=projections.ByteSize(
            value=found.bytes, limit=options.max_bytes or session.dialect.max_request_bytes
        ),
        categories=_categories(session) if detail in ("categories", "items") else None,
        items=items_of(session) if detail == "items" else None,
        fingerprint=fingerprint(session.state, pending) if sealed is None else sealed,
        revision=session.state.revision,
        generation=session.state.generation,
    )


def compaction(session: Session, done: Compaction) -> compactions.CompactionReport:
    """The report of a compaction."""
    return compactions.CompactionReport(
        outcome=done.outcome,
        strategy=done.strategy,
        trigger=done.trigger,
        reason=done.reason,
        checkpoint_id=done.checkpoint_id or None,
        plan_id=done.plan_id or None,
        before=_size(done.before),
        after=_size(done.after),
        target=done.target,
        floor=done.floor,
        units=[
            compactions.UnitReport(
                message_ids=list(u.message_ids), fidelity=u.fidelity, handle=u.handle or None
            )
            for u in done.units
        ],
        ledger=_summary(done.summary) if done.summary else None,
        audit=_audit(done),
        restored_files=[
            compactions.RestoredFile(
                path=file.path,
                bytes=file.size,
                changed=file.freshness == "changed",
                changed_since=file.freshness,
                lines=file.shown,
                digest=file.digest,
            )
            for file in done.files.files
        ],
        memory=_remembered(done.remembered) if done.remembered else None,
        rejected_files=[
            compactions.RejectedFile(path=file.path, reason=file.reason) for file in done.files.rejected
        ]
        or None,
        pins=pins.count(session),
        attempts=done.attempts,
        input_reductions=done.reductions,
        usage=done.usage,
        failure_reason=done.failure or None,
        sampling=sampling(done.sampling) if done.sampling is not None else None,
        cache=compactions.CacheReport(
            stable_prefix_messages=0 if done.outcome == "applied" else len(session.state.view),
            invalidated_at=0 if done.outcome == "applied" else None,
            reason=done.reason if done.outcome == "applied" else None,
        ),
    )


def sampling(request: SampleRequest) -> hosts.SamplingCreateMessageParams:
    """The request for a summary as it goes to a host, in a request or inline."""
    return hosts.SamplingCreateMessageParams(
        messages=[
            hosts.SamplingMessage(role=role, content=hosts.TextContent(text=text))
            for role, text in request.messages
        ],
        system_prompt=request.system,
        max_tokens=request.max_tokens,
        metadata=hosts.SamplingMetadata(session_id=request.session_id, attempt=request.attempt),
    )


def cache(session: Session, facts: CacheFacts) -> compactions.CacheReport:
    """What a request does to the provider's cache, in tokens and, where prices are known, in money."""
    cost = facts.cost
    write, saved = (None, None) if cost is None else session.money(cost.write_tokens, cost.saved_tokens)
    return compactions.CacheReport(
        stable_prefix_messages=facts.stable_prefix,
        invalidated_at=facts.invalidated_at,
        reason=facts.reason or None,
        cost=compactions.CacheCost(
            write_tokens=max(0, cost.write_tokens),
            saved_tokens=max(0, cost.saved_tokens),
            break_even_calls=max(0, cost.break_even_calls),
            write_usd=write,
            saved_usd=saved,
        )
        if cost
        else None,
    )


def metas(given: Sequence[sessions.MessageMeta | None] | None, count: int) -> list[Meta]:
    """What the host says of each message; as many as there are messages."""
    if given is None:
        return [Meta()] * count
    return [
        Meta(
            id=meta.id or "",
            kind=meta.kind or "",
            is_error=meta.is_error,
            files=tuple((f.path, f.op) for f in meta.files or ()),
            pin=meta.pin,
            hidden=meta.hidden,
            usage=meta.usage,
        )
        if meta is not None
        else Meta()
        for meta in given
    ]


def fixed(params: sessions.SessionOpenParams | sessions.SessionUpdateParams) -> Fixed:
    """The fixed part of requests, with its JSON text as it came."""
    system: NativeValue | None = params.system
    tools = params.tools
    return Fixed(
        model=model(params.model) if params.model else None,
        system=system.value if system else None,
        system_raw=system.raw.decode("utf-8") if system else None,
        tools=tuple(tool.value for tool in tools) if tools is not None else None,
        tools_raw=("[" + ",".join(t.raw.decode("utf-8") for t in tools) + "]") if tools is not None else None,
    )


def model(given: sessions.Model) -> events.Model:
    """The model as sessions keep it; zero tokens are unknown tokens."""
    return events.Model(
        id=given.id,
        provider=given.provider,
        context_window=given.context_window or None,
        max_output_tokens=given.max_output_tokens or None,
    )


def _model(kept: events.Model) -> sessions.Model | None:
    if not kept.id:
        return None
    return sessions.Model(
        id=kept.id,
        provider=kept.provider,
        context_window=kept.context_window,
        max_output_tokens=kept.max_output_tokens,
    )


def _uri(path: str) -> str:
    return Path(path).as_uri() if path.startswith("/") else path


def _span(span: Span) -> sessions.RecoveredSpan:
    return sessions.RecoveredSpan(**msgspec.structs.asdict(span))


def _size(size: Size) -> compactions.Size:
    return compactions.Size(**msgspec.structs.asdict(size))


def _categories(session: Session) -> list[projections.Category]:
    state = session.state
    found: dict[str, list[int]] = {
        "system": [state.system_tokens, len(state.system)],
        "tools": [state.tools_tokens, len(state.tools)],
    }
    for entry in state.view:
        name = category_of(entry.facts)
        share = found.setdefault(name, [0, 0])
        share[0] += entry.tokens
        share[1] += entry.size
        if entry.media:
            found.setdefault("media", [0, 0])[0] += entry.media
    ratio = state.ratio
    if state.unseen >= 1:
        found["unseen"] = [round(state.unseen / ratio), 0]
    return [
        projections.Category(name=name, tokens=max(0, round(tokens * ratio)), bytes=max(0, size))
        for name, (tokens, size) in found.items()
    ]


def _remembered(kept: Remembered) -> compactions.RememberedReport:
    return compactions.RememberedReport(
        outcome=kept.outcome,
        entries=kept.entries,
        topics=list(kept.topics),
        rejected=kept.rejected,
        duplicates=kept.duplicates,
        episodes=kept.episodes,
        failure=kept.failure or None,
    )


def _summary(summary: SessionSummary) -> compactions.SessionSummary:
    return compactions.SessionSummary(
        schema_version=1,
        goal=summary.goal,
        constraints=[
            compactions.Quote(
                text=q.text, message_id=q.message_id, superseded_by=q.superseded_by, about=q.about or None
            )
            for q in summary.constraints
        ],
        decisions=[
            compactions.Decision(
                at_turn=d.at_turn, summary=d.summary, rationale=d.rationale, stale=d.stale or None
            )
            for d in summary.decisions
        ],
        mutations=[compactions.Mutation(path=m.path, role=m.role) for m in summary.mutations],
        evidence=list(summary.evidence),
        progress_done=list(summary.progress_done),
        progress_in_progress=list(summary.progress_in_progress),
        risks=list(summary.risks),
        next_steps=list(summary.next_steps),
        exact_records=[
            compactions.ExactRecord(heading=r.heading, payload=r.payload) for r in summary.exact_records
        ],
        plan=_plan(summary.plan) if summary.plan else None,
    )


def _plan(plan: PlanSnapshot) -> compactions.PlanSnapshot:
    return compactions.PlanSnapshot(
        message_id=plan.message_id,
        steps=[compactions.PlanStep(text=s.title, status=s.status) for s in plan.steps],
        text=plan.text or None,
    )


def _audit(done: Compaction) -> compactions.Audit:
    if done.audit is None:
        return _EMPTY_AUDIT
    found = done.audit
    kept = done.preserved or Preserved(0, 0, 0, 0)
    return _EMPTY_AUDIT.model_copy(
        update={
            "artifacts": compactions.ArtifactAudit(
                total=kept.artifacts,
                referenced=kept.artifacts - kept.artifacts_reinjected,
                reinjected=kept.artifacts_reinjected,
            ),
            "invariants": compactions.InvariantAudit(
                total=kept.invariants,
                held=kept.invariants - kept.invariants_reinjected,
                reinjected=kept.invariants_reinjected,
            ),
            "constraints": compactions.ConstraintAudit(**msgspec.structs.asdict(found.constraints)),
            "exact_records": compactions.RecordAudit(
                total=found.exact_records.total, verbatim=found.exact_records.verbatim
            ),
            "tool_outputs": compactions.ToolOutputAudit(**msgspec.structs.asdict(found.tool_outputs)),
            "files_mentioned": compactions.FileAudit(**msgspec.structs.asdict(found.files_mentioned)),
        }
    )
