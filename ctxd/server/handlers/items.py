"""The model view message by message, as `context/project` itemises it. Knows no content of messages."""

from __future__ import annotations

from collections.abc import Mapping

from ctxd.core.fold import Entry
from ctxd.model.messages import CallFacts, MessageFacts
from ctxd.server.wire import projections, sessions
from ctxd.service.session import Session


def items(session: Session) -> list[projections.Item]:
    """Every message of the view, in its order; tokens calibrated."""
    view = session.state.view
    calls = {call.call_id: call for entry in view for call in entry.facts.calls}
    return [_item(entry, calls, session.state.ratio) for entry in view]


def category_of(facts: MessageFacts) -> str:
    """The category that a message counts for."""
    return facts.inserted or ("toolResults" if facts.results else facts.role)


def _item(entry: Entry, calls: Mapping[str, CallFacts], ratio: float) -> projections.Item:
    facts = entry.facts
    fidelity: sessions.Fidelity = "truncate" if entry.elided else "full"
    if facts.inserted == "summary":
        fidelity = "summary"
    answered = [calls[result.call_id] for result in facts.results if result.call_id in calls]
    label = ", ".join(f"{call.name} {call.target}".strip() for call in (*facts.calls, *answered))
    return projections.Item(
        message_id=facts.id,
        tokens=max(0, round(entry.tokens * ratio) + entry.media),
        bytes=max(0, entry.size),
        fidelity=fidelity,
        category=category_of(facts),
        label=label or None,
        handle=facts.results[0].call_id if len(facts.results) == 1 else None,
    )
