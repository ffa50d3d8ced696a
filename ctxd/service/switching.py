"""`session/update` with another dialect: a host that changes providers in the middle of a conversation.

Messages stay in the dialect they came in; from here on every view says them in the new one, and new
messages come in it. Calls that still wait would have to be answered in the old one, so there must be none.
"""

from __future__ import annotations

import json

import anyio

from ctxd.core.units import divide
from ctxd.dialects import registry as dialects
from ctxd.dialects.base import BadShape, Dialect
from ctxd.dialects.translate import translate_system
from ctxd.model.errors import InvalidParams
from ctxd.model.events import SessionUpdated
from ctxd.model.messages import Native
from ctxd.service.environment import choice_of
from ctxd.service.opening import Fixed, weigh_system, weigh_tools
from ctxd.service.requests.rendering import Lost, carry_into
from ctxd.service.session import Session, Written


async def switch(session: Session, name: str, fixed: Fixed) -> list[Lost]:
    """Go on in another dialect; what of the view does not cross. The caller holds the lane.

    A system prompt that is not given crosses as its text. Raises UnknownDialect, and InvalidParams for
    calls that wait, tools that are not declared anew, and a system or tools of wrong shape.
    """
    target = dialects.get(name)
    state = session.state
    units = divide([entry.facts for entry in state.view])
    if units and units[-1].open:
        raise InvalidParams.at(
            "dialect", "calls wait for their results", hint="append the results first, as they are now"
        )
    if state.tools not in ("", "[]") and fixed.tools_raw is None:
        raise InvalidParams.at(
            "tools", "tools are declared anew in another dialect", hint="give them as that dialect wants them"
        )
    fixed = _with_system(session, target, fixed)
    weigher = await session.weigher()
    model = fixed.model if fixed.model is not None and fixed.model != state.model else None
    event = SessionUpdated(
        model=model,
        factor=choice_of(model).factor if model is not None else None,
        system=fixed.system_raw,
        tools=fixed.tools_raw,
        system_tokens=weigh_system(target, fixed, weigher) if fixed.system_raw is not None else None,
        tools_tokens=weigh_tools(target, fixed, weigher) if fixed.tools_raw is not None else None,
        dialect=name,
    )
    ids = [entry.facts.id for entry in state.view]
    natives = await session.natives(ids)
    lost = await anyio.to_thread.run_sync(_losses, session, target, ids, natives)
    await session.commit([Written(event)])
    # What was asked in the old dialect weighed something else.
    session.prepared = None
    return lost


def _with_system(session: Session, target: Dialect, fixed: Fixed) -> Fixed:
    """The fixed part with the session's system prompt in the new form, where none is given."""
    if fixed.system_raw is not None or not session.state.system:
        return fixed
    try:
        system = translate_system(json.loads(session.state.system), session.dialect, target)
    except BadShape as error:
        raise InvalidParams.at("system", error.message, hint="give the system prompt anew") from error
    raw = json.dumps(system, ensure_ascii=False)
    return Fixed(fixed.model, system, raw, fixed.tools, fixed.tools_raw)


def _losses(session: Session, target: Dialect, ids: list[str], natives: list[Native]) -> list[Lost]:
    first = session.state.created.dialect if session.state.created else ""
    return carry_into(target, list(zip(ids, natives, strict=True)), first)[1]
