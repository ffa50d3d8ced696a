"""Elision as the service drives it: planned on a session as it stands, with its settings."""

from __future__ import annotations

from typing import Literal

import msgspec

from ctxd.compaction import elision
from ctxd.compaction.evidence import evidence
from ctxd.core.projection import Projection
from ctxd.model.events import ViewElided
from ctxd.model.settings import ElisionOptions
from ctxd.service.session import Session, Written

IN_THREAD_MESSAGES = 500
"""Elisions of a longer view, some 10 ms of work, are planned in a thread."""


async def plan_elisions(
    session: Session, phase: Literal["turnStart", "iteration", "retry"], before: Projection
) -> elision.Batch | None:
    """What is worth eliding before the next request; None for nothing. The caller holds the lane."""
    state = session.state
    settings = session.environment.settings
    pressure = elision.Pressure(before.decisive, state.ratio, before.limits, state.provider_calls)
    if not elision.is_pressed(pressure, settings.elision):
        return None
    kind: elision.Pass = "oversizedOnly" if phase == "iteration" else "full"
    return await _plan(session, kind, pressure, settings.elision, expired=is_cache_expired(session))


async def plan_everything(session: Session) -> elision.Batch | None:
    """Whatever any rule names, pressure or not. The caller holds the lane."""
    anything = elision.Pressure(session.project().decisive, session.state.ratio, None, 0)
    options = msgspec.structs.replace(
        session.environment.settings.elision, start_at=0.0, min_messages=1, keep_turns=1
    )
    return await _plan(session, "full", anything, options, expired=True)


async def _plan(
    session: Session,
    kind: elision.Pass,
    pressure: elision.Pressure,
    options: ElisionOptions,
    *,
    expired: bool,
) -> elision.Batch | None:
    weigher = await session.weigher()

    def plan() -> elision.Batch | None:
        return elision.plan(
            session.state,
            kind,
            pressure,
            options,
            session.environment.settings.cache,
            count=weigher.count,
            expired=expired,
            protected=evidence(session.state),
        )

    if len(session.state.view) <= IN_THREAD_MESSAGES:
        return plan()
    return await session.environment.counting.run(plan)


async def elide_all(session: Session) -> bool:
    """Elide whatever any rule names; False when nothing was. The caller holds the lane."""
    batch = await plan_everything(session)
    if batch is None:
        return False
    await session.commit([Written(ViewElided(elisions=batch.elisions, stage="retry"))])
    return True


def is_cache_expired(session: Session) -> bool:
    """Whether the provider's prompt cache has gone cold since the last call."""
    last = session.state.last_call_at
    after = session.environment.settings.elision.cache_expired_ms
    return bool(last) and session.environment.now() - last >= after
