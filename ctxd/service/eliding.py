"""Elision as the service drives it: planned on a session as it stands, with its settings."""

from __future__ import annotations

from typing import Literal

import msgspec

from ctxd.compaction import elision
from ctxd.core.projection import Projection
from ctxd.model.events import ViewElided
from ctxd.service.session import Session, Written


async def plan_elisions(
    session: Session, phase: Literal["turnStart", "iteration", "retry"], before: Projection
) -> elision.Batch | None:
    """What is worth eliding before the next request; None for nothing."""
    state = session.state
    settings = session.environment.settings
    pressure = elision.Pressure(before.decisive, state.ratio, before.limits, state.provider_calls)
    if not elision.is_pressed(pressure, settings.elision):
        return None
    weigher = await session.weigher()
    return elision.plan(
        state,
        "oversizedOnly" if phase == "iteration" else "full",
        pressure,
        settings.elision,
        settings.cache,
        count=weigher.count,
        expired=is_cache_expired(session),
    )


async def plan_everything(session: Session) -> elision.Batch | None:
    """Whatever any rule names, pressure or not."""
    settings = session.environment.settings
    weigher = await session.weigher()
    return elision.plan(
        session.state,
        "full",
        elision.Pressure(session.project().decisive, session.state.ratio, None, 0),
        msgspec.structs.replace(settings.elision, start_at=0.0, min_messages=1, keep_turns=1),
        settings.cache,
        count=weigher.count,
        expired=True,
    )


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
