"""Recall: what left the view, byte for byte, for as long as the log exists.

Handles resolve through the folded log, so a restart forgets none of them. Offsets and pages are
of the stored form (protocol.md, section 10). What no handle names is `notFound`; what was removed on
purpose is `expired`, what no longer matches its digest `corrupt`.
"""

from __future__ import annotations

import re

import anyio
import msgspec

from ctxd.core.fold import SessionState
from ctxd.model.blocks import Media, MessageView, ToolResult
from ctxd.model.errors import Ambiguous, Corrupt, InvalidParams, NotFound
from ctxd.model.messages import CallFacts, MessageFacts, Native, ResultFacts
from ctxd.service.recall.large_bodies import LARGE_BYTES, read_stored
from ctxd.service.recall.stored_form import Part, Shelf, StoredForm, check
from ctxd.service.session import Session, decode

IN_THREAD_BYTES = 512 * 1024

_SHORTENED = re.compile(r"(?:sha256:)?([0-9a-f]{8,64})")
"""A digest, or enough of its beginning."""


class Handle(msgspec.Struct, frozen=True):
    """What to fetch: exactly one of the three ids. `occurrence` tells owners of a reused call id apart."""

    tool_call_id: str = ""
    digest: str = ""
    message_id: str = ""
    occurrence: int | None = None


class Owner(msgspec.Struct, frozen=True):
    """One output that a handle can mean."""

    occurrence: int
    message_id: str
    digest: str
    bytes: int
    tool_name: str


class Found(msgspec.Struct, frozen=True):
    """What a handle names. `result` and `call` are None for a message, `call` for an orphan too.

    `occurrence` is the owner of the call id it came from: the next call must not land at a newer one.
    `redactions`: how many secrets were cut out of what is stored.
    """

    facts: MessageFacts
    result: ResultFacts | None = None
    call: CallFacts | None = None
    occurrence: int | None = None
    candidates: tuple[Owner, ...] = ()

    @property
    def tool_name(self) -> str:
        return self.call.name if self.call else ""

    @property
    def redacted(self) -> tuple[str, ...]:
        """The rules of the secrets that were cut out of it before it was stored, one for each secret."""
        wanted = self.result.call_id if self.result else None
        cuts = [cut for cut in self.facts.redacted if wanted in (None, cut.call_id)]
        return tuple([cut.rule for cut in cuts for _ in range(cut.count)])


class Fetched(msgspec.Struct, frozen=True):
    """A part of a stored form. `next` are the part's parameters for the exact next call."""

    found: Found
    content: str
    encoding: str
    page: int
    pages: int
    total_bytes: int
    digest: str
    next: Part | None


class Listed(msgspec.Struct, frozen=True):
    """One output that can be fetched. `turn` 0 is the first user turn; `target` what its call was about."""

    tool_call_id: str
    tool_name: str
    target: str
    turn: int
    bytes: int
    digest: str
    in_context: bool


async def fetch(session: Session, shelf: Shelf, part: Part, handle: Handle) -> Fetched:
    """Fetch one part. Raises as `find` and `read` do, and InvalidParams for a part there is not."""
    found = find(session.state, handle)
    check(part)
    form = await read(session, shelf, found)
    taken = form.take(part, session.environment.settings.recall.page_bytes)
    return Fetched(
        found=found,
        content=taken.content,
        encoding=taken.encoding,
        page=taken.page,
        pages=taken.pages,
        total_bytes=len(form.data),
        digest=form.digest,
        next=taken.next,
    )


def find(state: SessionState, handle: Handle) -> Found:
    """What a handle names; of a reused call id without `occurrence` the newest, with all its owners.

    A digest may be shortened to 8 hexadecimal digits or more. Raises InvalidParams unless just one id is
    given, NotFound for an unknown one, Ambiguous where a shortened digest begins several.
    """
    given = [name for name in ("tool_call_id", "digest", "message_id") if getattr(handle, name)]
    if len(given) != 1:
        raise InvalidParams.at("toolCallId", "give exactly one of toolCallId, digest and messageId")
    if handle.message_id:
        message = state.find(handle.message_id)
        if message is None:
            raise _unknown("messageId")
        return Found(message)
    if handle.digest:
        message_id, call_id = _of_digest(state, handle.digest)
        return _found(state, message_id, call_id)
    owners = state.results.get(handle.tool_call_id, [])
    if not owners:
        raise _unknown("toolCallId")
    if handle.occurrence is not None and handle.occurrence >= len(owners):
        raise NotFound("this call id has fewer outputs", hint="occurrence is 0-based, oldest first")
    number = len(owners) - 1 if handle.occurrence is None else handle.occurrence
    found = _found(state, owners[number], handle.tool_call_id)
    several = len(owners) > 1 and handle.occurrence is None
    return msgspec.structs.replace(
        found, occurrence=number, candidates=_owners(state, handle.tool_call_id) if several else ()
    )


async def read(session: Session, shelf: Shelf, found: Found) -> StoredForm:
    """The verified stored form of what was found; large ones are read in a thread.

    Raises Corrupt when the bytes do not match their digest, Expired when they were removed, and the
    store's errors.
    """
    facts, result = found.facts, found.result
    if result is not None and (known := shelf.get(result.digest)) is not None:
        return known
    (raw,) = await session.bodies.read([facts.id])
    page_bytes = session.environment.settings.recall.page_bytes

    def make() -> StoredForm:
        form = read_form(session, facts, raw, result)
        form.pages(page_bytes)
        return form

    form = await anyio.to_thread.run_sync(make) if len(raw) > IN_THREAD_BYTES else make()
    shelf.put(form)
    return form


def read_form(session: Session, facts: MessageFacts, raw: bytes, result: ResultFacts | None) -> StoredForm:
    """The stored form of a result in a message's bytes, or what the message says where `result` is None.

    Raises Corrupt when it does not match the result's digest. Belongs in a thread where `raw` is large.
    """
    if result is not None and len(raw) > LARGE_BYTES:
        try:
            form = StoredForm(read_stored(raw, result.call_id, session.view, facts.dialect))
        except (ValueError, StopIteration):
            form = StoredForm(b"")
        if form.digest == result.digest:
            return form
    native = Native(raw, decode(raw), facts.dialect)
    form = StoredForm(_stored_text(session, native, result).encode("utf-8", "surrogatepass"))
    if result is not None and form.digest != result.digest:
        raise Corrupt("the stored output does not match its digest", digest=result.digest)
    return form


def listing(session: Session, after: str | None, limit: int) -> tuple[list[Listed], str | None]:
    """Outputs in the order they were stored, and where the next page begins. Raises NotFound."""
    state = session.state
    first = 0
    skip = 0
    if after is not None:
        mid, _, number = after.rpartition("#")
        if mid not in state.positions or not number.isdigit():
            raise _unknown("after")
        first, skip = state.positions[mid], int(number) + 1
    entries: list[Listed] = []
    last = ""
    for facts in state.transcript[first:]:
        for position, result in enumerate(facts.results):
            if facts is state.transcript[first] and position < skip:
                continue
            if len(entries) == limit:
                return entries, last
            call = state.call_of(result.call_id, facts.id)
            entries.append(
                Listed(
                    tool_call_id=result.call_id,
                    tool_name=call.name if call else "",
                    target=call.target if call else "",
                    turn=max(0, state.turn_of(facts.id) - 1),
                    bytes=result.bytes,
                    digest=result.digest,
                    in_context=is_shown(session, facts.id, result.call_id),
                )
            )
            last = f"{facts.id}#{position}"
    return entries, None


def is_shown(session: Session, message_id: str, call_id: str) -> bool:
    """Whether the model view shows this output whole."""
    place = session.state.places.get(message_id)
    if place is None:
        return False
    return not any(e.call_id == call_id for e in session.state.view[place].elided)


def _stored_text(session: Session, native: Native, result: ResultFacts | None) -> str:
    view = session.view(native)
    if result is None:
        text = "" if any(isinstance(b, Media) for b in view.blocks) else _message_text(view)
        return text or native.raw.decode("utf-8", "replace")
    return next(b.text for b in view.blocks if isinstance(b, ToolResult) and b.call_id == result.call_id)


def _message_text(view: MessageView) -> str:
    """What a message says in words; its JSON stands for one that shows pictures or only calls."""
    results = [block.text for block in view.results]
    return "\n".join([view.text, *results] if view.text else results)


def _found(state: SessionState, message_id: str, call_id: str) -> Found:
    facts = state.transcript[state.positions[message_id]]
    result = next(result for result in facts.results if result.call_id == call_id)
    return Found(facts, result, state.call_of(call_id, facts.id))


def _owners(state: SessionState, call_id: str) -> tuple[Owner, ...]:
    return tuple(
        [_owner(number, _found(state, owner, call_id)) for number, owner in enumerate(state.results[call_id])]
    )


def _owner(number: int, found: Found) -> Owner:
    assert found.result is not None
    return Owner(number, found.facts.id, found.result.digest, found.result.bytes, found.tool_name)


def _of_digest(state: SessionState, digest: str) -> tuple[str, str]:
    """(message id, call id) of the newest output with a digest, or the only one that begins so."""
    place = state.digests.get(digest)
    if place is not None:
        return place
    match = _SHORTENED.fullmatch(digest)
    if match is None:
        raise _unknown("digest")
    begun = "sha256:" + match[1]
    places = [place for known, place in state.digests.items() if known.startswith(begun)]
    if not places:
        raise _unknown("digest")
    if len(places) > 1:
        owners = [_named(state, *place) for place in places]
        raise Ambiguous(
            "several outputs have digests that begin like this",
            hint="give more of the digest",
            candidates=[
                {
                    "occurrence": owner.occurrence,
                    "messageId": owner.message_id,
                    "digest": owner.digest,
                    "bytes": owner.bytes,
                    "toolName": owner.tool_name,
                }
                for owner in owners
            ],
        )
    return places[0]


def _named(state: SessionState, message_id: str, call_id: str) -> Owner:
    return _owner(state.results[call_id].index(message_id), _found(state, message_id, call_id))


def _unknown(field: str) -> NotFound:
    return NotFound(
        "nothing is stored under this handle", hint="recall/list names every stored output", field=field
    )
