"""The messages of a request one by one: what each weighs, and how much of it is shown."""

from __future__ import annotations

from ctxd.core import fidelity
from ctxd.core.units import divide
from ctxd.server.wire.projections import Item
from ctxd.service.session import Session


def items_of(session: Session) -> list[Item]:
    """Every message of the model view, in order."""
    state = session.state
    units = divide([entry.facts for entry in state.view])
    numbers = [number for number, unit in enumerate(units) for _ in range(unit.start, unit.end)]
    found: list[Item] = []
    for entry, number in zip(state.view, numbers, strict=True):
        seen = fidelity.of_entry(entry, state)
        found.append(
            Item(
                message_id=entry.facts.id,
                tokens=max(0, round(entry.tokens * state.ratio) + entry.media),
                bytes=max(0, entry.size),
                fidelity=seen.fidelity,
                unit=number,
                handle=seen.handle or None,
                inserted=entry.facts.inserted or None,
            )
        )
    return found
