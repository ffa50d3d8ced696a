"""Bodies of the model view, without what the view leaves out of very large ones.

A result of many megabytes is shown as head and tail: reading it whole before every request would hold the
interpreter each time, and bring nothing into the request.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from ctxd.core.fold import Entry
from ctxd.dialects import registry as dialects
from ctxd.model.messages import Native
from ctxd.service.recall.large_bodies import LARGE_BYTES, leave_out
from ctxd.service.session import Session

KEPT = 64
"""Abridged bodies that are kept for the next request."""


async def read_shown(session: Session, ids: Sequence[str]) -> list[Native]:
    """Messages of the view, decoded, for showing them with their elisions. Raises as `Session.natives`."""
    state = session.state
    abridged: dict[str, Native] = {}
    for message_id in ids:
        entry = state.view[state.places[message_id]]
        if entry.facts.bytes > LARGE_BYTES and entry.elided:
            native = await _abridge(session, entry)
            if native is not None:
                abridged[message_id] = native
    if not abridged:
        return await session.natives(ids)
    rest = [message_id for message_id in ids if message_id not in abridged]
    whole = dict(zip(rest, await session.natives(rest), strict=True))
    return [abridged.get(message_id) or whole[message_id] for message_id in ids]


async def _abridge(session: Session, entry: Entry) -> Native | None:
    """A large message without the results that are elided from it; None where that leaves something large."""
    facts = entry.facts
    elided = frozenset([elision.call_id for elision in entry.elided])
    known = session.rendering.abridged
    if (facts.id, elided) not in known:
        (raw,) = await session.bodies.read([facts.id])
        dialect = dialects.get(session.name_of(Native(raw, {}, facts.dialect)))
        short = await anyio.to_thread.run_sync(
            leave_out, raw, lambda value: dialect.with_results(value, dict.fromkeys(elided, ""))
        )
        while len(known) >= KEPT:
            del known[next(iter(known))]
        made = None if short is None else Native(short, msgspec.json.decode(short), facts.dialect)
        known[facts.id, elided] = made
    return known[facts.id, elided]
