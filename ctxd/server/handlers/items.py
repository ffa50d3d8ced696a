"""The messages of a request one by one: what each is and weighs, and how much of it is shown.

Knows no content of messages.
"""

from __future__ import annotations

from ctxd.core import fidelity
from ctxd.core.units import divide
from ctxd.model.messages import MessageFacts
from ctxd.server.wire.projections import Item
from ctxd.service.session import Session


def items_of(session: Session) -> list[Item]:
    """Every message of the model view, in order; tokens calibrated."""
    state = session.state
    units = divide([entry.facts for entry in state.view])
    numbers = [number for number, unit in enumerate(units) for _ in range(unit.start, unit.end)]
    calls = {call.call_id: call for entry in state.view for call in entry.facts.calls}
    found: list[Item] = []
    for entry, number in zip(state.view, numbers, strict=True):
        facts = entry.facts
        seen = fidelity.of_entry(entry, state)
        answered = [calls[result.call_id] for result in facts.results if result.call_id in calls]
        label = ", ".join(f"{call.name} {call.target}".strip() for call in (*facts.calls, *answered))
        found.append(
            Item(
                message_id=facts.id,
                tokens=max(0, round(entry.tokens * state.ratio) + entry.media),
                bytes=max(0, entry.size),
                fidelity=seen.fidelity,
                unit=number,
                category=category_of(facts),
                label=label or None,
                handle=seen.handle or None,
                inserted=facts.inserted or None,
            )
        )
    return found


def category_of(facts: MessageFacts) -> str:
    """The category that a message counts for."""
    return facts.inserted or ("toolResults" if facts.results else facts.role)
