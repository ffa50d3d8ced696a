"""The only caller of the compaction policy: plans it, checks it, commits it as one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import anyio
import msgspec

from ctxd.compaction import fallback, gate
from ctxd.compaction.audit import Audit, audit
from ctxd.compaction.extract import Item
from ctxd.core.facts import Weigher, describe
from ctxd.core.projection import Projection
from ctxd.model.errors import CheckpointFailed, StoreError
from ctxd.model.events import (
    CheckpointCommitted,
    CompactionReason,
    Kept,
    Placed,
    Replacement,
    Strategy,
    Trigger,
    UnitFate,
)
from ctxd.model.messages import MessageFacts, Native
from ctxd.model.summary import SessionSummary
from ctxd.service.rendering import encode
from ctxd.service.session import Session, Written

Outcome: TypeAlias = Literal["applied", "planned", "noop", "failed", "cannotReach"]

CHECKPOINT_VERSION = 1
MAX_MESSAGES = 4096
MAX_BYTES = 16 * 1024 * 1024
"""Bounds of a checkpoint, checked the same on write and on read (behaviour.md, section 5)."""


class Size(msgspec.Struct, frozen=True):
    """A view: calibrated tokens of its messages, how many, and their bytes."""

    tokens: int
    messages: int
    bytes: int


class Compaction(msgspec.Struct, frozen=True):
    """The outcome of one attempt. `failure` names a reason when the outcome is no success."""

    outcome: Outcome
    trigger: Trigger
    reason: CompactionReason
    before: Size
    after: Size
    target: int
    floor: int
    strategy: Strategy | None = None
    checkpoint_id: str = ""
    units: tuple[UnitFate, ...] = ()
    summary: SessionSummary | None = None
    audit: Audit | None = None
    failure: str = ""


async def compact(
    session: Session,
    *,
    trigger: Trigger,
    reason: CompactionReason,
    requested: int | None = None,
    dry_run: bool = False,
) -> Compaction:
    """Replace the view by a deterministic plan. The caller holds the lane and has settled counts.

    Raises CheckpointFailed when the checkpoint cannot be made durable; the old view stays.
    """
    state = session.state
    projection = session.project()
    before = Size(_tokens(session), len(state.view), state.view_bytes)
    goal = gate.target(before.tokens, session.window().value, requested)

    def ended(outcome: Outcome, failure: str = "") -> Compaction:
        return Compaction(outcome, trigger, reason, before, before, goal, projection.floor, failure=failure)

    if not projection.reachable and reason == "threshold":
        return ended("cannotReach", "floor")
    natives = await session.natives([entry.facts.id for entry in state.view])
    weigher = await session.weigher()
    plan, replacement, bodies, shown = await anyio.to_thread.run_sync(
        _plan, session, natives, weigher, requested
    )
    placed = [item.facts for item in replacement if isinstance(item, Placed)]
    if not gate.is_gain(before.tokens, plan.after):
        return ended("noop", "insufficientReduction")
    if failure := _unlawful(session, natives, replacement, bodies):
        return ended("failed", failure)
    kept_ids = {item.message_id for item in replacement if isinstance(item, Kept)}
    kept_bytes = sum(entry.size for entry in state.view if entry.facts.id in kept_ids)
    result = Compaction(
        outcome="planned" if dry_run else "applied",
        trigger=trigger,
        reason=reason,
        before=before,
        after=Size(plan.after, len(replacement), kept_bytes + sum(f.bytes for f in placed)),
        target=plan.target,
        floor=projection.floor,
        strategy="deterministic",
        checkpoint_id="" if dry_run else session.environment.new_id("c"),
        units=plan.units,
        summary=plan.state,
        audit=audit(
            state.view, kept_ids, shown, plan.quotes, plan.state.exact_records, state.positions.keys()
        ),
    )
    if not dry_run:
        await _commit(session, plan, result, replacement, bodies)
    return result


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


async def _commit(
    session: Session,
    plan: fallback.Plan,
    result: Compaction,
    replacement: Sequence[Replacement],
    bodies: Sequence[bytes],
) -> None:
    event = CheckpointCommitted(
        checkpoint_id=result.checkpoint_id,
        version=CHECKPOINT_VERSION,
        covers=len(session.state.view),
        replacement=tuple(replacement),
        summary=plan.state,
        trigger=result.trigger,
        reason=result.reason,
        strategy="deterministic",
        tokens_before=result.before.tokens,
        tokens_after=result.after.tokens,
        units=result.units,
        elisions=plan.elisions,
    )
    if len(replacement) > MAX_MESSAGES or sum(map(len, bodies)) > MAX_BYTES:
        raise CheckpointFailed("the replacement is too large for a checkpoint", hint="lower the target")
    try:
        await session.commit([Written(event, tuple(bodies))])
    except StoreError as error:
        raise CheckpointFailed(
            "the checkpoint could not be made durable; the view is unchanged",
            hint=error.hint,
            cause=error.kind,
        ) from error
    session.environment.note("compactions")


def _tokens(session: Session) -> int:
    return round(session.state.view_tokens * session.state.ratio) + session.state.view_media


def _plan(
    session: Session, natives: Sequence[Native], weigher: Weigher, requested: int | None
) -> tuple[fallback.Plan, list[Replacement], list[bytes], str]:
    """The plan as replacement items, bodies of the placed, and all plain text it shows. Runs in a thread."""
    state = session.state
    view = session.dialect.view
    items = [Item(entry, view(native.value)) for entry, native in zip(state.view, natives, strict=True)]
    plan = fallback.plan(
        state,
        items,
        window=session.window().value,
        keep_messages=session.environment.settings.compaction.keep_messages,
        count=weigher.count,
        requested=requested,
    )
    bodies: list[bytes] = []

    def place(insert: fallback.Insert) -> Placed:
        value = session.dialect.make("user", insert.text)
        native = Native(raw=encode(value), value=value)
        facts = describe(session.environment.new_id("m"), native, view(value), weigher)
        bodies.append(native.raw)
        return Placed(facts=_inserted(facts, insert), body=len(bodies) - 1)

    kept: list[Replacement] = [Kept(item.entry.facts.id) for item in items[plan.tail :]]
    head: list[Replacement] = [place(plan.summary)]
    tail: list[Replacement] = [place(plan.task)] if plan.task else []
    replacement = [*head, *tail, *kept] if plan.task_first else [*head, *kept, *tail]
    texts = [plan.summary.text, plan.task.text if plan.task else ""]
    texts += [item.view.text for item in items[plan.tail :]]
    return plan, replacement, bodies, "\n".join(texts)


def _inserted(facts: MessageFacts, insert: fallback.Insert) -> MessageFacts:
    return msgspec.structs.replace(facts, inserted=insert.kind, user_turn=False)


def _unlawful(
    session: Session, natives: Sequence[Native], replacement: Sequence[Replacement], bodies: Sequence[bytes]
) -> str:
    """The rule a replacement would break beyond mending; "" when it is sendable."""
    by_id = {entry.facts.id: native for entry, native in zip(session.state.view, natives, strict=True)}
    view = session.dialect.view
    views = []
    for item in replacement:
        if isinstance(item, Kept):
            views.append(view(by_id[item.message_id].value))
        else:
            views.append(view(msgspec.json.decode(bodies[item.body])))
    for rule in session.dialect.rules:
        for violation in rule.violations(views):
            if violation.mend == "refuse":
                return violation.rule
    return ""
