"""`recall/search`: finding a tool output by words, over everything a session ever stored.

The index names passages that have the words, and keeps their bytes; these say where the words stand closest
together, which decides the order, the page and the snippet. No output is read to answer a search, however
large, and none is in memory whole but while it is indexed.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

import anyio
import msgspec

from ctxd.core.closeness import Spot, closest, weigh_terms
from ctxd.core.terms import also, positions, query_terms
from ctxd.model.blocks import MessageView, ToolCall
from ctxd.model.errors import Corrupt, Damaged, Expired
from ctxd.model.messages import MessageFacts, Native
from ctxd.service.recall.fetching import read_form
from ctxd.service.recall.large_bodies import LARGE_BYTES
from ctxd.service.recall.stored_form import Data, paginate
from ctxd.service.session import Session, decode
from ctxd.store.indexes.outputs import Indexed, Mark, Match, Matches, OutputIndex, Paging, Passage

PASSAGE_BYTES = 1_600
OVERLAP_BYTES = 400
"""Outputs are indexed as overlapping passages, so that words near each other are found together."""

SNIPPET_CHARS = 400
CANDIDATES = 40
"""Passages whose text is looked at."""

ABOUT_CHARS = 2_000
"""Characters of a call's arguments that are indexed with each passage of what it printed."""

FILL = 256
"""Messages read at a time while the index is filled, at most."""

FILL_BYTES = 4 * 1024 * 1024
"""Bytes of messages read at a time while the index is filled; a larger message is read alone."""


class Hit(msgspec.Struct, frozen=True):
    """An output that matches. `page` is the recall page on which the words stand closest together.

    `line` is the line they stand in, from 1; `offset` the byte of the stored form from which to read on.
    """

    tool_call_id: str
    message_id: str
    digest: str
    page: int
    line: int
    offset: int
    snippet: str
    score: float
    occurrence: int | None = None


class Found(msgspec.Struct, frozen=True):
    """The best passage of an output, its text, and the best stretch of it."""

    passage: Passage
    text: str
    spot: Spot
    score: float


class Batch(msgspec.Struct, frozen=True):
    """Messages to take into an index that is filled up to `after`, and will be up to `mark`."""

    messages: Sequence[MessageFacts]
    raws: Sequence[bytes]
    after: Mark
    mark: Mark


Take: TypeAlias = Callable[[Batch], Awaitable[None]]
"""Puts a batch into an index."""


async def search(
    session: Session,
    query: str,
    *,
    tool: str | None,
    limit: int,
    within: tuple[str, str] | None = None,
) -> list[Hit]:
    """The best outputs for a query, best first, each once.

    Words of the query are looked for in what the calls were about (tool, arguments) and in what
    they printed. `within` one output (its message and call id) the hits are its best places, and only what
    it printed counts. What cannot be read any more is passed over. Raises the store's errors.
    """

    asked = query_terms(query)
    most = max(CANDIDATES, limit * 3)
    async with session.search_lock:
        while True:
            position = await fill_outputs(session)
            matches = await anyio.to_thread.run_sync(
                lambda: session.output_index.search(asked, tool=tool, limit=most, within=within)
            )
            if matches.mark.position >= position:
                break
    ranked = await anyio.to_thread.run_sync(_rank, query, matches, within is not None)
    return [await _hit(session, found) for found in ranked[:limit]]


async def fill_outputs(session: Session) -> int:
    """Index the outputs stored since the last time. The caller holds the session's search lock."""

    async def take(batch: Batch) -> None:
        calls = await _calls(session, batch.messages)
        await anyio.to_thread.run_sync(_index, session, batch, calls)

    return await fill(
        session, session.output_index, lambda facts: bool(facts.results) and not facts.unscanned, take
    )


async def fill(
    session: Session, index: OutputIndex, choose: Callable[[MessageFacts], bool], take: Take
) -> int:
    """Index the chosen messages of those stored since the last time; how many messages are taken in now."""
    state = session.state
    after = await anyio.to_thread.run_sync(index.mark)
    if not _is_of(after, state.transcript):
        await anyio.to_thread.run_sync(index.begin_anew)
        after = Mark()
    while after.position < len(state.transcript):
        facts = _next_messages(state.transcript, after.position, choose)
        chosen = [f for f in facts if choose(f)]
        readable, raws = await _readable(session, chosen)
        mark = Mark(after.position + len(facts), facts[-1].id)
        await take(Batch(readable, raws, after, mark))
        after = mark
    return after.position


def _next_messages(
    transcript: Sequence[MessageFacts], position: int, choose: Callable[[MessageFacts], bool]
) -> Sequence[MessageFacts]:
    """The messages to take in next: as many as are read together."""
    size, end = 0, position
    while end < len(transcript) and end - position < FILL:
        size += transcript[end].bytes if choose(transcript[end]) else 0
        if size > FILL_BYTES and end > position:
            break
        end += 1
    return transcript[position:end]


async def _readable(
    session: Session, chosen: Sequence[MessageFacts]
) -> tuple[Sequence[MessageFacts], list[bytes]]:
    """The messages that can be read, with their bodies: what is lost of one must not hide the others."""
    try:
        return chosen, await session.bodies.read([facts.id for facts in chosen])
    except (Corrupt, Damaged, Expired):
        pass
    kept: list[MessageFacts] = []
    raws: list[bytes] = []
    for facts in chosen:
        try:
            raws += await session.bodies.read([facts.id])
        except (Corrupt, Damaged, Expired):
            continue
        kept.append(facts)
    return kept, raws


def _is_of(mark: Mark, transcript: Sequence[MessageFacts]) -> bool:
    """Whether an index filled up to a mark was filled from this transcript."""
    if mark.position == 0:
        return True
    return mark.position <= len(transcript) and transcript[mark.position - 1].id == mark.message_id


async def _calls(session: Session, wanted: Sequence[MessageFacts]) -> dict[tuple[str, str], ToolCall]:
    """The call behind each result: (message id of the result, call id) to the call."""
    state = session.state
    owners: dict[tuple[str, str], str] = {}
    for facts in wanted:
        for result in facts.results:
            for owner, _ in reversed(state.calls.get(result.call_id, ())):
                if state.positions[owner] < state.positions[facts.id]:
                    owners[facts.id, result.call_id] = owner
                    break
    ids = sorted(set(owners.values()), key=state.positions.__getitem__)
    asking, raws = await _readable(session, [state.transcript[state.positions[i]] for i in ids])
    views = await anyio.to_thread.run_sync(_views, session, asking, raws)
    return {
        key: call
        for key, owner in owners.items()
        if owner in views
        for call in views[owner].calls
        if call.call_id == key[1]
    }


def _views(
    session: Session, messages: Sequence[MessageFacts], raws: Sequence[bytes]
) -> dict[str, MessageView]:
    natives = [Native(raw, decode(raw), facts.dialect) for facts, raw in zip(messages, raws, strict=True)]
    return {facts.id: session.view(native) for facts, native in zip(messages, natives, strict=True)}


def _index(session: Session, batch: Batch, calls: dict[tuple[str, str], ToolCall]) -> None:
    page_bytes = session.environment.settings.recall.page_bytes
    paging: list[Paging] = []

    def rows() -> Iterator[Indexed]:
        for facts, raw in zip(batch.messages, batch.raws, strict=True):
            for call_id, data in _outputs(session, facts, raw):
                paging.append(Paging(facts.id, call_id, page_bytes, paginate(data, page_bytes)))
                yield from _passages_of(facts.id, call_id, calls.get((facts.id, call_id)), data)

    session.output_index.add(rows(), batch.mark, after=batch.after, paging=paging)


def _outputs(session: Session, facts: MessageFacts, raw: bytes) -> Iterator[tuple[str, Data]]:
    """(call id, stored form) of every result in a message that can be read."""
    if len(raw) <= LARGE_BYTES:
        (view,) = _views(session, [facts], [raw]).values()
        for block in view.results:
            yield block.call_id, block.text.encode("utf-8", "surrogatepass")
        return
    for result in facts.results:
        with contextlib.suppress(Corrupt):
            yield result.call_id, read_form(session, facts, raw, result).data


def _passages_of(message_id: str, call_id: str, call: ToolCall | None, data: Data) -> Iterator[Indexed]:
    name = call.name if call else ""
    about = f"{call.name} {call.arguments[:ABOUT_CHARS]}" if call else ""
    about = " ".join([about, *also(about)])
    line, counted = 1, 0
    for start, part in passages(data):
        line += data[counted:start].count(b"\n")
        counted = start
        text = part.decode("utf-8", "ignore")
        passage = Passage(message_id, call_id, name, start, len(part), line)
        yield Indexed(passage, about, " ".join([text, *also(text)]), part)


def passages(data: Data) -> Iterator[tuple[int, bytes]]:
    """Overlapping parts of a stored form: (first byte, bytes). An empty one is one empty passage."""
    start = 0
    while True:
        yield start, data[start : start + PASSAGE_BYTES]
        if start + PASSAGE_BYTES >= len(data):
            return
        start += PASSAGE_BYTES - OVERLAP_BYTES


def _rank(query: str, matches: Matches, within: bool) -> list[Found]:
    """How well the index likes a passage and how close the words stand in it, best first.

    Each output once, by its best passage; within one output each passage that does not overlap a better one.
    """
    weights = weigh_terms(matches.rarity)
    asked = [term for term, _ in positions(query)]
    best: dict[tuple[str, str, int], Found] = {}
    for found in sorted([_look(m, asked, weights) for m in matches.best], key=lambda found: -found.score):
        passage = found.passage
        if within:
            step = PASSAGE_BYTES - OVERLAP_BYTES
            beside = {(passage.message_id, passage.call_id, passage.start + d) for d in (-step, 0, step)}
            if not found.spot.score or beside & best.keys():
                continue
        key = (passage.message_id, passage.call_id, passage.start if within else 0)
        best.setdefault(key, found)
    return list(best.values())


def _look(match: Match, asked: Sequence[str], weights: dict[str, float]) -> Found:
    text = match.text.decode("utf-8", "ignore")
    spot = closest(text, asked, weights, SNIPPET_CHARS)
    # What only its call's arguments match comes behind what says something itself.
    score = match.score + spot.score if spot.score else match.score / 2
    return Found(match.passage, text, spot, score)


async def _hit(session: Session, found: Found) -> Hit:
    state = session.state
    passage = found.passage
    before = found.text[: found.spot.center]
    middle = passage.start + len(before.encode("utf-8", "surrogatepass"))
    starts = await _page_starts(session, passage)
    facts = state.transcript[state.positions[passage.message_id]]
    owners = state.results[passage.call_id]
    return Hit(
        tool_call_id=passage.call_id,
        message_id=passage.message_id,
        digest=next(r.digest for r in facts.results if r.call_id == passage.call_id),
        page=bisect_right(starts, middle) - 1,
        line=passage.line + before.count("\n"),
        offset=passage.start,
        snippet=snippet(found.text, found.spot.center),
        score=round(found.score, 4),
        occurrence=owners.index(passage.message_id) if len(owners) > 1 else None,
    )


async def _page_starts(session: Session, passage: Passage) -> Sequence[int]:
    """Where the pages of an output begin; it is read for that only after the size of pages was changed."""
    page_bytes = session.environment.settings.recall.page_bytes
    message_id, call_id = passage.message_id, passage.call_id
    known = await anyio.to_thread.run_sync(session.output_index.paging, message_id, call_id)
    if known is not None and known.page_bytes == page_bytes:
        return known.starts
    facts = session.state.transcript[session.state.positions[message_id]]
    (raw,) = await session.bodies.read([message_id])

    def divide() -> tuple[int, ...]:
        return next(paginate(data, page_bytes) for i, data in _outputs(session, facts, raw) if i == call_id)

    return await anyio.to_thread.run_sync(divide)


def snippet(text: str, center: int) -> str:
    """About SNIPPET_CHARS characters around a place in a text, from a line's beginning where one is near."""
    start = max(0, min(center - SNIPPET_CHARS // 2, len(text) - SNIPPET_CHARS))
    line = text.find("\n", start, start + SNIPPET_CHARS // 8)
    if start and line >= 0:
        start = line + 1
    return text[start : start + SNIPPET_CHARS].strip()
