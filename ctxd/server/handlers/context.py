"""`context/*`: the call before a request, the call after it, and what stands beside them."""

from __future__ import annotations

from ctxd.dialects import registry as dialects
from ctxd.dialects.base import BadShape
from ctxd.dialects.clearing import clearing_payload
from ctxd.dialects.overflow import ProviderError
from ctxd.model.errors import InvalidParams
from ctxd.model.messages import Usage
from ctxd.server.calls import Call
from ctxd.server.handlers import shapes
from ctxd.server.handlers.guard import list_redacted
from ctxd.server.handlers.sessions import check_meta
from ctxd.server.wire import compactions, projections
from ctxd.server.wire import context as wire
from ctxd.service import opening, validate
from ctxd.service.compacting import compactor
from ctxd.service.compacting.compactions import Job
from ctxd.service.intake.guarding import redact
from ctxd.service.registry import Registry
from ctxd.service.requests import prepare as preparing
from ctxd.service.requests import recovery
from ctxd.service.requests import report as reporting
from ctxd.service.session import Session


async def prepare(
    registry: Registry, params: wire.ContextPrepareParams, call: Call
) -> wire.ContextPrepareResult:
    session = registry.get(params.session_id)
    pending = params.pending or []
    made = await preparing.prepare(session, params.phase, pending)
    projection = shapes.projection(session, made.projection, sealed=made.fingerprint)
    state = session.state
    limits = made.projection.limits
    over = limits is not None and made.projection.decisive > limits.available
    return wire.ContextPrepareResult(
        request_id=made.request_id,
        revision=made.revision,
        generation=made.generation,
        messages=made.messages,
        system=state.system.encode("utf-8") if state.system else None,
        tools=opening.tools_of(state.tools) or None,
        fingerprint=made.fingerprint,
        projection=projection,
        report=wire.PromptReport(
            phase=made.phase,
            prompt_replaced=made.replaced,
            compaction_performed=made.compacted,
            messages_before=made.messages_before,
            messages_after=len(state.view),
            tokens_before=made.before.tokens,
            tokens_after=made.projection.tokens,
            generation=made.generation,
            stages=[
                wire.Stage(stage=s.stage, reason=s.reason, edits=s.edits, tokens_freed=s.tokens_freed)
                for s in made.stages
            ],
            outcome="overBudget" if over else "ok",
        ),
        context_management=clearing_payload(session.dialect.name, session.environment.settings.clearing),
        cache=shapes.cache(session, made.cache),
        steering=[
            wire.SteerNote(
                id=note.steer.id,
                kind=note.steer.kind,
                content=note.steer.content or None,
                message_id=note.message_id or None,
            )
            for note in made.steering
        ],
        losses=shapes.losses(made.lost),
    )


async def report(
    registry: Registry, params: wire.ContextReportParams, call: Call
) -> wire.ContextReportResult:
    session = registry.get(params.session_id)
    messages = params.messages or []
    check_meta(params.meta, len(messages))
    error = _provider_error(params.error) if params.outcome == "error" else None
    done = await reporting.report(
        session,
        params.request_id,
        params.outcome,
        messages,
        shapes.metas(params.meta, len(messages)),
        _usage(session, params),
        error=error,
        output_started=params.output_started,
    )
    return wire.ContextReportResult(
        revision=session.state.revision,
        message_ids=list(done.message_ids),
        projection=shapes.projection(session, session.project()),
        redacted=list_redacted(done.redacted) or None,
        recovery=_recovery(session, done.recovery) if done.recovery else None,
        pending_steering=len(session.state.steering.waiting) or None,
    )


async def project(
    registry: Registry, params: projections.ContextProjectParams, call: Call
) -> projections.Projection:
    session = registry.get(params.session_id)
    session.refresh()
    if session.state.uncounted:
        async with session.lane:
            await session.settle()
    pending = await redact(session, session.own(params.pending or []))
    load, size = await preparing.weigh_pending(session, pending)
    found = session.project(load, size)
    return shapes.projection(session, found, b"".join(n.raw for n in pending), params.detail)


async def compact(
    registry: Registry, params: compactions.ContextCompactParams, call: Call
) -> compactions.CompactionReport:
    session = registry.get(params.session_id)
    job = Job(
        trigger=params.trigger,
        reason="manual" if params.trigger == "manual" else "threshold",
        strategy=params.strategy,
        requested=params.target_tokens,
        up_to=params.up_to,
        instructions=params.instructions or "",
        dry_run=params.dry_run,
        delivery=params.delivery,
    )
    call.progress("compacting")
    return shapes.compaction(session, await compactor.compact(session, job))


async def commit(
    registry: Registry, params: compactions.ContextCommitParams, call: Call
) -> compactions.CompactionReport:
    session = registry.get(params.session_id)
    return shapes.compaction(session, await compactor.commit_plan(session, params.plan_id, params.summary))


async def undo(
    registry: Registry, params: compactions.ContextUndoParams, call: Call
) -> wire.ContextUndoResult:
    session = registry.get(params.session_id)
    await compactor.undo(session, params.checkpoint_id)
    return wire.ContextUndoResult(
        revision=session.state.revision,
        generation=session.state.generation,
        projection=shapes.projection(session, session.project()),
    )


async def validate_messages(
    registry: Registry, params: wire.ContextValidateParams, call: Call
) -> wire.ContextValidateResult:
    found = validate.check(dialects.get(params.dialect), params.messages, repair=params.repair)
    return wire.ContextValidateResult(
        ok=not found.violations,
        violations=[
            wire.Violation(rule=v.rule, index=v.index, detail=v.detail, mend=v.mend) for v in found.violations
        ],
        repaired=list(found.repaired) if found.repaired is not None else None,
        edits=[wire.Edit(rule=e.rule, index=e.index, action=e.action, detail=e.detail) for e in found.edits]
        if found.repaired is not None
        else None,
    )


def _provider_error(error: wire.ProviderError | None) -> ProviderError:
    if error is None:
        return ProviderError()
    return ProviderError(
        status=error.status, code=error.code or "", message=error.message or "", body=error.body
    )


def _recovery(session: Session, verdict: recovery.Recovery) -> wire.Recovery:
    made = verdict.compaction
    return wire.Recovery(
        action=verdict.action,
        reason=verdict.reason,
        report=shapes.compaction(session, made) if made is not None else None,
    )


def _usage(session: Session, params: wire.ContextReportParams) -> Usage | None:
    if params.usage is None:
        return None
    try:
        return session.dialect.usage(params.usage)
    except BadShape as error:
        raise InvalidParams.at(f"usage.{error.path}" if error.path else "usage", error.message) from error
