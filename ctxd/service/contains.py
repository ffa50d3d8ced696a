"""`context/contains`: whether the model still sees something, so that nobody says "see above" in vain."""

from __future__ import annotations

import msgspec

from ctxd.core.facts import is_file_read
from ctxd.core.paths import normalize
from ctxd.model.errors import InvalidParams, NotFound
from ctxd.service.recall import is_shown
from ctxd.service.session import Session


class Contained(msgspec.Struct, frozen=True):
    """`since` is the message that shows it; `reason` says why it is not shown any more."""

    in_context: bool
    since: str = ""
    reason: str = ""


def contains(session: Session, *, handle: str | None, path: str | None) -> Contained:
    """Look for an output (tool call id or digest), a message id, or a file's newest whole read.

    Raises InvalidParams unless just one of both is given, NotFound for an unknown handle.
    """
    if (handle is None) == (path is None):
        raise InvalidParams.at("handle", "give either handle or path")
    if path is not None:
        return _file(session, path)
    state = session.state
    assert handle is not None
    if handle in state.positions:
        shown = handle in state.places and not state.view[state.places[handle]].elided
        return Contained(True, handle) if shown else Contained(False, reason=_why(session, handle, ""))
    if handle.startswith("sha256:"):
        place = state.digests.get(handle)
    else:
        owners = state.results.get(handle)
        place = (owners[-1], handle) if owners else None
    if place is None:
        raise NotFound("nothing is stored under this handle", hint="recall/list names every stored output")
    message_id, call_id = place
    if is_shown(session, message_id, call_id):
        return Contained(True, message_id)
    return Contained(False, reason=_why(session, message_id, call_id))


def _file(session: Session, path: str) -> Contained:
    """The newest successful read of a file, unless a write came after it."""
    state = session.state
    root = state.created.workspace if state.created else ""
    wanted = normalize(path, root)
    for facts in reversed(state.transcript):
        for call in facts.calls:
            if call.effect == "write" and call.path and normalize(call.path, root) == wanted:
                return Contained(False, reason="changed")
        for result in facts.results:
            call_made = state.call_of(result.call_id, facts.id)
            if call_made is None or result.is_error or not is_file_read(call_made):
                continue
            if normalize(call_made.path, root) != wanted:
                continue
            if is_shown(session, facts.id, result.call_id):
                return Contained(True, facts.id)
            return Contained(False, reason=_why(session, facts.id, result.call_id))
    return Contained(False, reason="neverRead")


def _why(session: Session, message_id: str, call_id: str) -> str:
    """The reason of the elision that hides it, else `compacted`."""
    state = session.state
    place = state.places.get(message_id)
    if place is None:
        return "compacted"
    elided = state.view[place].elided
    return next((e.reason for e in elided if e.call_id == call_id or not call_id), "compacted")
