"""Pins: what a person wants to stay, word for word, in every model view of a session."""

from __future__ import annotations

import msgspec

from ctxd.core import epochs
from ctxd.core.facts import describe
from ctxd.core.units import divide
from ctxd.model.errors import InvalidParams, NotFound, TooLarge
from ctxd.model.events import Pinned, Unpinned
from ctxd.service.session import Session, Written

PREFACE = "[Pinned by the user; it holds until it is unpinned.]\n\n"


class Pin(msgspec.Struct, frozen=True):
    """One pin. `tokens` are base tokens it costs in every view; `message_id` is "" for a text.

    A pinned message costs its whole unit: a call and its results stay together.
    """

    pin_id: str
    text: str
    message_id: str
    label: str
    tokens: int


class Pins(msgspec.Struct, frozen=True):
    """All pins of a session, oldest first, and what they may cost together."""

    pins: tuple[Pin, ...]
    tokens: int
    budget: int


def read(session: Session) -> Pins:
    """The pins as they stand."""
    held = tuple(
        Pin(pin.pin_id, pin.text, pin.message_id, pin.label, pin.tokens)
        for pin in session.state.pins.values()
    )
    limits = session.limits()
    most = session.environment.settings.compaction.pin_tokens
    budget = epochs.pin_budget(limits.available if limits else None, most)
    return Pins(held, sum(pin.tokens for pin in held), budget)


def count(session: Session) -> int:
    """How many messages of the model view are kept whole by a pin, the host's own included."""
    held = epochs.held(session.state)
    return sum(1 for entry in session.state.view if entry.facts.pinned or entry.facts.id in held)


async def pin(session: Session, *, text: str | None, message_id: str | None, label: str) -> tuple[Pin, int]:
    """Pin a text or a message; returns the pin and the budget left, base tokens.

    Raises InvalidParams unless just one of both is given, NotFound for an unknown message, TooLarge
    with `budget` and `tokens` when the pins would cost too much together.
    """
    if (text is None) == (message_id is None):
        raise InvalidParams.at("text", "give either text or messageId")
    async with session.lane:
        await session.settle()
        bodies: tuple[bytes, ...] = ()
        if message_id is not None:
            event = _pin_message(session, message_id, label)
        else:
            event, bodies = await _pin_text(session, text or "", label)
        held = read(session)
        if held.tokens + event.tokens > held.budget:
            raise TooLarge(
                "the pins would cost more than their budget",
                hint="unpin something, or pin less",
                budget=held.budget,
                tokens=held.tokens + event.tokens,
            )
        await session.commit([Written(event, bodies)])
        made = Pin(event.pin_id, event.text, event.message_id, event.label, event.tokens)
        left = held.budget - held.tokens - event.tokens
    session.environment.host.view_changed(session, "pin")
    return made, left


async def unpin(session: Session, pin_id: str) -> None:
    """Let a pin go. Raises NotFound."""
    async with session.lane:
        if pin_id not in session.state.pins:
            raise NotFound("no such pin", hint="context/pins lists them", pinId=pin_id)
        await session.commit([Written(Unpinned(pin_id=pin_id))])
    session.environment.host.view_changed(session, "unpin")


def _pin_message(session: Session, message_id: str, label: str) -> Pinned:
    state = session.state
    place = state.places.get(message_id)
    if place is None or message_id not in state.positions:
        raise NotFound("no such message in the model view", hint="session/history view=model lists them")
    for pin in state.pins.values():
        if pin.message_id == message_id:
            raise InvalidParams.at("messageId", "this message is pinned already", hint=pin.pin_id)
    if state.view[place].elided:
        raise InvalidParams.at(
            "messageId",
            "an output of this message is not shown whole",
            hint="recall/fetch brings it back; pin what matters of it as text",
        )
    unit = next(u for u in divide([e.facts for e in state.view]) if u.start <= place < u.end)
    tokens = sum(entry.tokens + entry.media for entry in state.view[unit.start : unit.end])
    return Pinned(pin_id=session.environment.new_id("pin"), tokens=tokens, message_id=message_id, label=label)


async def _pin_text(session: Session, text: str, label: str) -> tuple[Pinned, tuple[bytes, ...]]:
    if not text.strip():
        raise InvalidParams.at("text", "an empty text cannot be pinned")
    native = session.make(PREFACE + text)
    weigher = await session.weigher()
    facts = describe(session.environment.new_id("m"), native, session.view(native), weigher)
    facts = msgspec.structs.replace(facts, inserted="pin", user_turn=False)
    event = Pinned(
        pin_id=session.environment.new_id("pin"), tokens=facts.tokens, text=text, label=label, facts=facts
    )
    return event, (native.raw,)
