"""Compacting only the beginning of a view: where it may end, and what stays behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import anyio

from ctxd.core.units import divide
from ctxd.model.errors import NotFound
from ctxd.model.messages import Native
from ctxd.service.laws import cut_points
from ctxd.service.session import Session


async def end_of(session: Session, message_id: str) -> int:
    """How many entries of the view a compaction up to a message covers. The caller holds the lane.

    All of the message's unit, unless a call in it waits for its result; and no more than the
    provider's laws allow to be cut off. Raises NotFound for a message that is not in the view.
    """
    state = session.state
    place = state.places.get(message_id)
    if place is None:
        raise NotFound("this message is not in the model view", hint="session/history view=model lists it")
    units = divide([entry.facts for entry in state.view])
    unit = next(unit for unit in units if unit.start <= place < unit.end)
    end = unit.start if unit.open else unit.end
    natives = await session.natives([entry.facts.id for entry in state.view])
    lawful = await anyio.to_thread.run_sync(_cuts, session, natives)
    bounds = {0, *(unit.start for unit in units), len(state.view)}
    return max(
        bound for bound in bounds if bound <= end and (bound in lawful or bound in (0, len(state.view)))
    )


def behind(session: Session, end: int) -> Literal["request", "work"] | None:
    """What stays in the view from entry `end` on, None for nothing; steering is work, and no request."""
    entries = session.state.view[end:]
    if not entries:
        return None
    facts = [entry.facts for entry in entries]
    asked = any(one.user_turn and not one.inserted and not one.steered for one in facts)
    return "request" if asked else "work"


def _cuts(session: Session, natives: Sequence[Native]) -> frozenset[int]:
    return cut_points(natives, [session.view(native) for native in natives], session.name_of)
