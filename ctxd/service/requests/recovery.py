"""Recovering from a request that was too large: once per success, and only if the next one is smaller."""

from __future__ import annotations

from typing import Literal

import msgspec

from ctxd.dialects.overflow import ProviderError, recognise
from ctxd.model.errors import StoreError
from ctxd.service.compacting import compactor
from ctxd.service.compacting.compactions import Compaction, Job
from ctxd.service.requests.eliding import elide_all
from ctxd.service.session import Session


class Recovery(msgspec.Struct, frozen=True):
    """What the host should do. `reason` is stable; `compaction` what was done to make a retry smaller."""

    action: Literal["retry", "fail"]
    reason: str
    compaction: Compaction | None = None


def judge(session: Session, error: ProviderError, output_started: bool) -> Recovery | None:
    """Why an error cannot be recovered from; None when it may be (behaviour.md, section 5, Reactive)."""
    found = recognise(error)
    if found.kind != "overflow":
        return Recovery("fail", found.kind)
    if output_started:
        return Recovery("fail", "outputStarted")
    if session.state.overflowed_at is not None:
        return Recovery("fail", "recoveredAlready")
    if not session.environment.settings.compaction.auto:
        return Recovery("fail", "autoOff")
    return None


async def recover(session: Session, error: ProviderError) -> Recovery:
    """Make the next request strictly smaller, or say that it cannot be. Must be called without the lane.

    What the request overflowed with is gone already where a compaction ran meanwhile, or where a restart
    came between the recovery and its answer.
    """
    await session.wait_for_flight()
    if session.state.overflowed_at not in (None, session.state.generation):
        return Recovery("retry", "recovered")
    before = session.tokens()
    target = _target(session, recognise(error).limit)
    try:
        done = await compactor.compact(session, Job(trigger="auto", reason="contextLimit", requested=target))
        if done.outcome == "applied":
            return Recovery("retry", "compacted", done)
        async with session.lane:
            if await elide_all(session) and session.tokens() < before:
                return Recovery("retry", "elided", done)
    except StoreError as failed:
        # The error that the provider gave stands; that it could not be mended is said with it.
        return Recovery("fail", failed.kind)
    return Recovery("fail", "cannotShrink", done)


def _target(session: Session, limit: int) -> int:
    """Tokens the messages may have: what the provider's own limit leaves, else half of what they are."""
    tokens = session.tokens()
    projected = session.project()
    limits = projected.limits
    known = limit or (limits.window if limits else 0)
    fixed = max(0, projected.tokens - tokens)
    reserve = min(limits.reserve if limits else known // 10, known // 2)
    half = max(1, tokens // 2)
    return max(1, min(half, known - fixed - reserve)) if known > fixed + reserve else half
