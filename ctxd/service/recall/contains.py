"""`context/contains`: whether the model still sees something, so that nobody says "see above" in vain."""

from __future__ import annotations

import msgspec

from ctxd.core.facts import is_file_read
from ctxd.core.paths import normalize
from ctxd.core.recent import Touch, recent
from ctxd.model.errors import InvalidParams, NotFound
from ctxd.model.messages import MessageFacts, ResultFacts
from ctxd.service.recall.fetching import is_shown
from ctxd.service.session import Session


class Contained(msgspec.Struct, frozen=True):
    """`since` is the message that shows it; `reason` says why it is not shown any more."""

    in_context: bool
    since: str = ""
    reason: str = ""


def contains(session: Session, *, handle: str | None, path: str | None) -> Contained:
    """Look for an output (tool call id or digest), a message id, or the content of a file.

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
        return _digest(session, handle)
    owners = state.results.get(handle)
    if not owners:
        raise _unknown()
    return _shown(session, owners[-1], handle)


def _shown(session: Session, message_id: str, call_id: str) -> Contained:
    if is_shown(session, message_id, call_id):
        return Contained(True, message_id)
    return Contained(False, reason=_why(session, message_id, call_id))


def _digest(session: Session, digest: str) -> Contained:
    """The newest message that shows these bytes, whichever call printed them."""
    place = session.state.digests.get(digest)
    if place is None:
        raise _unknown()
    for entry in reversed(session.state.view):
        for result in entry.facts.results:
            if result.digest == digest and is_shown(session, entry.facts.id, result.call_id):
                return Contained(True, entry.facts.id)
    return Contained(False, reason=_why(session, *place))


def _file(session: Session, path: str) -> Contained:
    """The newest read of a whole file, or a compaction's copy of it, unless a write came after it.

    A failed write changed nothing; a call that is not answered yet may have.
    """
    state = session.state
    root = state.created.workspace if state.created else ""
    wanted = normalize(path, root, state.former)
    touch = next((touch for touch in recent(state, root) if touch.path == wanted), None)
    if touch is None:
        return Contained(False, reason="neverRead")
    written = _last_write(session, touch, wanted, root)
    copy, at = _restored(session, wanted, root)
    seen = touch.seen
    whole: Contained | None = None
    if seen is not None and state.positions[seen.message_id] > written:
        whole = _shown(session, seen.message_id, seen.result.call_id)
        if whole.in_context:
            return whole
    if copy is not None and at > written:
        return copy
    after = max(written, state.positions[seen.message_id] if seen else -1)
    parts = (
        f for f in reversed(state.transcript) if f.id not in state.gone and state.positions[f.id] > after
    )
    part = next((f.id for f in parts if any(_shows(session, f, r, wanted) for r in f.results)), "")
    if part:
        return Contained(False, part, "partial")
    return whole or Contained(False, reason="changed")


def _last_write(session: Session, touch: Touch, path: str, root: str) -> int:
    """Place in the transcript of the last write of a file, -1 for none: done, or perhaps under way."""
    state = session.state
    done = -1 if touch.written is None else state.positions.get(touch.written, 0)
    for position in range(len(state.transcript) - 1, done, -1):
        facts = state.transcript[position]
        if facts.id in state.gone:
            continue
        writes = [call for call in facts.calls if call.effect == "write" and call.path]
        for call in writes:
            here = normalize(call.path, root, state.former) == path
            if here and not _has_failed(session, facts.id, call.call_id):
                return position
    return done


def _restored(session: Session, path: str, root: str) -> tuple[Contained | None, int]:
    """What the newest compaction shows of a file, and the last message that was there before it was read."""
    state = session.state
    if not state.checkpoints:
        return None, -1
    newest = state.checkpoints[-1].checkpoint_id
    for told in state.touched:
        if (
            told.op != "read"
            and told.checkpoint == newest
            and normalize(told.path, root, state.former) == path
        ):
            return None, -1
    before = state.befores[newest]
    for entry in state.view:
        for file in entry.facts.files if entry.facts.inserted == "restoredFiles" else ():
            if normalize(file.path, root, state.former) == path:
                whole = file.shown == file.lines
                shown = Contained(whole, entry.facts.id, "" if whole else "partial")
                return shown, before.transcript - 1
    return None, -1


def _shows(session: Session, facts: MessageFacts, result: ResultFacts, path: str) -> bool:
    """Whether the model sees a part of a file in this result."""
    state = session.state
    call = state.call_of(result.call_id, facts.id)
    if call is None or result.is_error or not is_file_read(call):
        return False
    root = state.created.workspace if state.created else ""
    return normalize(call.path, root, state.former) == path and is_shown(session, facts.id, result.call_id)


def _has_failed(session: Session, message_id: str, call_id: str) -> bool:
    """Whether the call's result, the first after it, is an error."""
    state = session.state
    asked = state.positions[message_id]
    answers = [at for owner in state.results.get(call_id, ()) if (at := state.positions[owner]) > asked]
    if not answers:
        return False
    facts = state.transcript[min(answers)]
    return any(result.call_id == call_id and result.is_error for result in facts.results)


def _unknown() -> NotFound:
    return NotFound("nothing is stored under this handle", hint="recall/list names every stored output")


def _why(session: Session, message_id: str, call_id: str) -> str:
    """The reason of the elision that hides it, else `compacted`."""
    state = session.state
    place = state.places.get(message_id)
    if place is None:
        return "compacted"
    elided = state.view[place].elided
    return next((e.reason for e in elided if e.call_id == call_id or not call_id), "compacted")
