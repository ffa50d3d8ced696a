"""Recall: what left the view, byte for byte, for as long as the log exists.

Handles resolve through the folded log, so a restart forgets none of them. Offsets and pages are
of the stored form (protocol.md, section 10).
"""

from __future__ import annotations

import base64
from collections import OrderedDict

import anyio
import msgspec

from ctxd.core.facts import digest_of
from ctxd.model.blocks import Media, MessageView, ToolResult
from ctxd.model.errors import Corrupt, InvalidParams, NotFound
from ctxd.model.messages import MessageFacts, ResultFacts
from ctxd.service.session import Session

CACHE_BYTES = 96 * 1024 * 1024
IN_THREAD_BYTES = 512 * 1024


class Part(msgspec.Struct, frozen=True):
    """Which part to fetch: a page (the default), a byte range, or a line range (1-based, inclusive)."""

    page: int | None = None
    offset: int | None = None
    length: int | None = None
    start_line: int | None = None
    end_line: int | None = None


class Owner(msgspec.Struct, frozen=True):
    """One output that a handle can mean."""

    occurrence: int
    message_id: str
    digest: str
    bytes: int
    tool_name: str


class Fetched(msgspec.Struct, frozen=True):
    """A part of a stored form. `next` are the part's parameters for the exact next call.

    `occurrence` is the owner of the call id it came from: the next call must not land at a newer one.
    """

    content: str
    encoding: str
    page: int
    pages: int
    total_bytes: int
    digest: str
    tool_name: str
    next: Part | None
    candidates: tuple[Owner, ...] = ()
    occurrence: int | None = None


class Listed(msgspec.Struct, frozen=True):
    """One output that can be fetched. `turn` 0 is the first user turn; `target` what its call was about."""

    tool_call_id: str
    tool_name: str
    target: str
    turn: int
    bytes: int
    digest: str
    in_context: bool


class Stored(msgspec.Struct, frozen=True):
    """A verified stored form and where its pages begin."""

    data: bytes
    starts: tuple[int, ...]


class Shelf:
    """Stored forms read lately, bounded in bytes; shared by all sessions of a daemon."""

    def __init__(self) -> None:
        self._forms: OrderedDict[tuple[str, int], Stored] = OrderedDict()
        self._bytes = 0

    def get(self, digest: str, page_bytes: int) -> Stored | None:
        stored = self._forms.get((digest, page_bytes))
        if stored is not None:
            self._forms.move_to_end((digest, page_bytes))
        return stored

    def put(self, digest: str, page_bytes: int, stored: Stored) -> None:
        self._forms[digest, page_bytes] = stored
        self._bytes += len(stored.data)
        while self._bytes > CACHE_BYTES and len(self._forms) > 1:
            _, dropped = self._forms.popitem(last=False)
            self._bytes -= len(dropped.data)


async def fetch(
    session: Session,
    shelf: Shelf,
    part: Part,
    *,
    tool_call_id: str | None = None,
    digest: str | None = None,
    message_id: str | None = None,
    occurrence: int | None = None,
) -> Fetched:
    """Fetch one part. Exactly one handle must be given.

    Raises InvalidParams, NotFound for an unknown handle, Corrupt when the stored bytes do not match.
    """
    given = [
        name
        for name, value in (("toolCallId", tool_call_id), ("digest", digest), ("messageId", message_id))
        if value
    ]
    if len(given) != 1:
        raise InvalidParams.at("toolCallId", "give exactly one of toolCallId, digest and messageId")
    _check(part)
    candidates: tuple[Owner, ...] = ()
    if message_id:
        facts = session.state.find(message_id)
        if facts is None:
            raise _unknown("messageId")
        wanted, name, result = None, "", None
    else:
        facts, result, candidates = _resolve(session, tool_call_id, digest, occurrence)
        call = session.state.call_of(result.call_id, facts.id)
        wanted, name = result.digest, call.name if call else ""
    stored, found = await _stored(session, shelf, facts, result, wanted)
    taken = _take(stored, part)
    return Fetched(
        content=taken.content,
        encoding=taken.encoding,
        page=taken.page,
        pages=len(stored.starts),
        total_bytes=len(stored.data),
        digest=found,
        tool_name=name,
        next=taken.next,
        candidates=candidates,
        occurrence=session.state.results[tool_call_id].index(facts.id) if tool_call_id else None,
    )


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


def _resolve(
    session: Session, call_id: str | None, digest: str | None, occurrence: int | None
) -> tuple[MessageFacts, ResultFacts, tuple[Owner, ...]]:
    state = session.state
    if digest:
        place = state.digests.get(digest)
        if place is None:
            raise _unknown("digest")
        message_id, call_id = place
        return *_facts(session, message_id, call_id), ()
    owners = state.results.get(call_id or "", [])
    if not owners or call_id is None:
        raise _unknown("toolCallId")
    if occurrence is not None and occurrence >= len(owners):
        raise NotFound("this call id has fewer outputs", hint="occurrence is 0-based, oldest first")
    facts, result = _facts(session, owners[-1 if occurrence is None else occurrence], call_id)
    if len(owners) == 1 or occurrence is not None:
        return facts, result, ()
    candidates: list[Owner] = []
    for number, owner in enumerate(owners):
        _, other = _facts(session, owner, call_id)
        call = state.call_of(call_id, owner)
        candidates.append(Owner(number, owner, other.digest, other.bytes, call.name if call else ""))
    return facts, result, tuple(candidates)


def _facts(session: Session, message_id: str, call_id: str) -> tuple[MessageFacts, ResultFacts]:
    facts = session.state.transcript[session.state.positions[message_id]]
    return facts, next(result for result in facts.results if result.call_id == call_id)


async def _stored(
    session: Session, shelf: Shelf, facts: MessageFacts, result: ResultFacts | None, wanted: str | None
) -> tuple[Stored, str]:
    page_bytes = session.environment.settings.recall.page_bytes
    if wanted is not None and (known := shelf.get(wanted, page_bytes)) is not None:
        return known, wanted
    (native,) = await session.natives([facts.id])
    view = session.view(native)
    if result is None:
        text = "" if any(isinstance(b, Media) for b in view.blocks) else _message_text(view)
        text = text or native.raw.decode("utf-8", "replace")
    else:
        text = next(b.text for b in view.blocks if isinstance(b, ToolResult) and b.call_id == result.call_id)
    if len(text) > IN_THREAD_BYTES:
        stored, digest = await anyio.to_thread.run_sync(_shelve, text, page_bytes)
    else:
        stored, digest = _shelve(text, page_bytes)
    if wanted is not None and digest != wanted:
        raise Corrupt("the stored output does not match its digest", digest=wanted)
    shelf.put(digest, page_bytes, stored)
    return stored, digest


def _message_text(view: MessageView) -> str:
    """What a message says in words; its JSON stands for one that shows pictures or only calls."""
    results = [block.text for block in view.results]
    return "\n".join([view.text, *results] if view.text else results)


def _shelve(text: str, page_bytes: int) -> tuple[Stored, str]:
    data = text.encode("utf-8", "surrogatepass")
    return Stored(data, paginate(data, page_bytes)), digest_of(text)


def paginate(data: bytes, page_bytes: int) -> tuple[int, ...]:
    """Where pages begin: after a line feed where there is one in the page, else at a character (O §17)."""
    starts = [0]
    position = 0
    while len(data) - position > page_bytes:
        end = position + page_bytes
        line = data.rfind(b"\n", position, end)
        if line >= position:
            end = line + 1
        else:
            while end > position + 1 and data[end] & 0xC0 == 0x80:
                end -= 1
        starts.append(end)
        position = end
    return tuple(starts)


class _Taken(msgspec.Struct, frozen=True):
    content: str
    encoding: str
    page: int
    next: Part | None


def _take(stored: Stored, part: Part) -> _Taken:
    data, starts = stored.data, stored.starts
    if part.start_line is not None or part.end_line is not None:
        lines = data.split(b"\n")
        start = part.start_line or 1
        end = min(part.end_line or len(lines), len(lines))
        if start > len(lines) or end < start:
            raise InvalidParams.at("startLine", f"the output has {len(lines)} lines")
        content, encoding = _text(b"\n".join(lines[start - 1 : end]))
        size = end - start + 1
        more = Part(start_line=end + 1, end_line=min(end + size, len(lines))) if end < len(lines) else None
        return _Taken(content, encoding, 0, more)
    if part.offset is not None or part.length is not None:
        start = min(part.offset or 0, len(data))
        length = part.length if part.length is not None else len(data) - start
        stop = min(start + length, len(data))
        content, encoding = _text(data[start:stop])
        more = Part(offset=stop, length=length) if stop < len(data) else None
        return _Taken(content, encoding, 0, more)
    page = max(0, min(part.page or 0, len(starts) - 1))
    stop = starts[page + 1] if page + 1 < len(starts) else len(data)
    content, encoding = _text(data[starts[page] : stop])
    more = Part(page=page + 1) if page + 1 < len(starts) else None
    return _Taken(content, encoding, page, more)


def _text(data: bytes) -> tuple[str, str]:
    """Bytes as text, or as base64 where they are cut inside a character."""
    try:
        return data.decode("utf-8", "surrogatepass"), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), "base64"


def _check(part: Part) -> None:
    ways = [
        part.page is not None,
        part.offset is not None or part.length is not None,
        part.start_line is not None or part.end_line is not None,
    ]
    if sum(ways) > 1:
        raise InvalidParams.at("page", "give one of page, offset with length, startLine with endLine")


def _unknown(field: str) -> NotFound:
    return NotFound(
        "nothing is stored under this handle", hint="recall/list names every stored output", field=field
    )
