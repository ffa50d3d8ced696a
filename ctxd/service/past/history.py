"""Reading a session back: the transcript for people, the view as the model gets it."""

from __future__ import annotations

import msgspec

from ctxd.core import fidelity
from ctxd.core.fidelity import Shown
from ctxd.core.fold import SessionState
from ctxd.model.errors import NotFound
from ctxd.model.events import Fidelity
from ctxd.model.messages import MessageFacts
from ctxd.service.requests.prepare import render
from ctxd.service.session import Session


class Line(msgspec.Struct, frozen=True):
    """One message of a history.

    `fidelity` says how much of it the model is shown, None for all; `handle` fetches what the line lacks.
    """

    message_id: str
    raw: bytes
    hidden: bool = False
    fidelity: Fidelity | None = None
    handle: str = ""


async def read(session: Session, view: str, after: str | None, limit: int) -> tuple[list[Line], str | None]:
    """A page of history and the `after` of the next. Raises NotFound for an unknown `after`."""
    if view == "model":
        async with session.lane:
            session.refresh()
            lines = await _model(session)
        return _page(lines, after, limit)
    session.refresh()
    return await _transcript(session, after, limit)


async def _transcript(session: Session, after: str | None, limit: int) -> tuple[list[Line], str | None]:
    state = session.state
    start = 0
    if after is not None:
        if after not in state.positions:
            raise _unknown()
        start = state.positions[after] + 1
    shown: list[MessageFacts] = []
    position = start
    while position < len(state.transcript) and len(shown) < limit:
        if _is_seen(state, state.transcript[position]):
            shown.append(state.transcript[position])
        position += 1
    raws = await session.bodies.read([facts.id for facts in shown])
    fates = fidelity.departed(state)
    lines = [
        Line(facts.id, raw, fidelity=_less(fidelity.of_message(facts.id, state, fates)))
        for facts, raw in zip(shown, raws, strict=True)
    ]
    more = any(_is_seen(state, facts) for facts in state.transcript[position:])
    return lines, shown[-1].id if more and shown else None


def _is_seen(state: SessionState, facts: MessageFacts) -> bool:
    """Whether people see a message: it is not hidden, and the conversation was not rewound past it."""
    return not facts.hidden and facts.id not in state.gone


async def _model(session: Session) -> list[Line]:
    state = session.state
    lines: list[Line] = []
    stubs = 0
    for item in await render(session):
        place = state.places.get(item.message_id)
        if place is None:
            stubs += 1
            lines.append(Line(f"stub_{stubs}", item.raw))
            continue
        entry = state.view[place]
        seen = fidelity.of_entry(entry, state)
        lines.append(Line(item.message_id, item.raw, entry.facts.hidden, _less(seen), seen.handle))
    return lines


def _less(shown: Shown) -> Fidelity | None:
    """The level, None for all."""
    return None if shown.fidelity == "full" else shown.fidelity


def _page(lines: list[Line], after: str | None, limit: int) -> tuple[list[Line], str | None]:
    start = 0
    if after is not None:
        start = next((i + 1 for i, line in enumerate(lines) if line.message_id == after), -1)
        if start < 0:
            raise _unknown()
    page = lines[start : start + limit]
    return page, page[-1].message_id if start + limit < len(lines) and page else None


def _unknown() -> NotFound:
    return NotFound("no such message in this view", hint="`after` is a messageId of the same view")
