"""`recall/search`: finding a tool output by words, over everything a session ever stored.

The index names passages that have the words; their texts then say where the words stand closest
together, which decides the order, the page and the snippet.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio
import msgspec

from ctxd.core.closeness import Spot, closest, weigh_terms
from ctxd.core.terms import also, positions, query_terms
from ctxd.model.blocks import ToolCall
from ctxd.model.messages import MessageFacts, Native
from ctxd.service.recall import paginate
from ctxd.service.session import Session
from ctxd.store.output_index import Indexed, Mark, Match, Matches, OutputIndex, Passage

PASSAGE_BYTES = 1_600
OVERLAP_BYTES = 400
"""Outputs are indexed as overlapping passages, so that words near each other are found together."""

SNIPPET_CHARS = 400
CANDIDATES = 40
"""Passages whose text is looked at."""

ABOUT_CHARS = 2_000
"""Characters of a call's arguments that are indexed with each passage of what it printed."""

FILL = 256
"""Messages read at a time while the index is filled."""


class Hit(msgspec.Struct, frozen=True):
    """An output that matches. `page` is the recall page on which the words stand closest together."""

    tool_call_id: str
    digest: str
    page: int
    snippet: str
    score: float
    occurrence: int | None = None


class Found(msgspec.Struct, frozen=True):
    """The best passage of an output, the output's stored form, and the best stretch of the passage."""

    passage: Passage
    data: bytes
    text: str
    spot: Spot
    score: float


async def search(session: Session, query: str, *, tool: str | None, limit: int) -> list[Hit]:
    """The best outputs for a query, best first, each once.

    Words of the query are looked for in what the calls were about (tool, arguments) and in what
    they printed. Raises the store's errors.
    """

    async def take(chosen: Sequence[MessageFacts], natives: Sequence[Native], mark: Mark) -> None:
        calls = await _arguments(session, chosen)
        await anyio.to_thread.run_sync(_index, session, chosen, natives, calls, mark)

    asked = query_terms(query)
    async with session.search_lock:
        while True:
            position = await fill(
                session, session.output_index, lambda facts: bool(facts.results) and not facts.unscanned, take
            )
            matches = await anyio.to_thread.run_sync(
                lambda: session.output_index.search(asked, tool=tool, limit=max(CANDIDATES, limit * 3))
            )
            if matches.mark.position >= position:
                break
    ids = list(dict.fromkeys(match.passage.message_id for match in matches.best))
    natives = dict(zip(ids, await session.natives(ids), strict=True))
    page_bytes = session.environment.settings.recall.page_bytes
    ranked = await anyio.to_thread.run_sync(_rank, session, query, matches, natives)
    return [_hit(session, found, page_bytes) for found in ranked[:limit]]


Take: TypeAlias = Callable[[Sequence[MessageFacts], Sequence[Native], Mark], Awaitable[None]]
"""Puts some messages into an index, which is then filled up to the mark."""


async def fill(
    session: Session, index: OutputIndex, choose: Callable[[MessageFacts], bool], take: Take
) -> int:
    """Index the chosen messages of those stored since the last time; how many messages are taken in now."""
    state = session.state
    mark = await anyio.to_thread.run_sync(index.mark)
    if not _is_of(mark, state.transcript):
        await anyio.to_thread.run_sync(index.begin_anew)
        mark = Mark()
    position = mark.position
    while position < len(state.transcript):
        facts = state.transcript[position : position + FILL]
        chosen = [f for f in facts if choose(f)]
        natives = await session.natives([f.id for f in chosen])
        position += len(facts)
        await take(chosen, natives, Mark(position, facts[-1].id))
    return position


def _is_of(mark: Mark, transcript: Sequence[MessageFacts]) -> bool:
    """Whether an index filled up to a mark was filled from this transcript."""
    if mark.position == 0:
        return True
    return mark.position <= len(transcript) and transcript[mark.position - 1].id == mark.message_id


async def _arguments(session: Session, wanted: Sequence[MessageFacts]) -> dict[tuple[str, str], ToolCall]:
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
    views = dict(zip(ids, [session.view(n) for n in await session.natives(ids)], strict=True))
    return {
        key: call for key, owner in owners.items() for call in views[owner].calls if call.call_id == key[1]
    }


def _index(
    session: Session,
    wanted: Sequence[MessageFacts],
    natives: Sequence[Native],
    calls: dict[tuple[str, str], ToolCall],
    mark: Mark,
) -> None:
    rows: list[Indexed] = []
    for facts, native in zip(wanted, natives, strict=True):
        for block in session.view(native).results:
            call = calls.get((facts.id, block.call_id))
            about = f"{call.name} {call.arguments[:ABOUT_CHARS]}" if call else ""
            about = " ".join([about, *also(about)])
            for start, part in passages(_stored(block.text)):
                passage = Passage(facts.id, block.call_id, call.name if call else "", start, len(part))
                text = part.decode("utf-8", "ignore")
                rows.append(Indexed(passage, about, " ".join([text, *also(text)])))
    session.output_index.add(rows, mark)


def passages(data: bytes) -> list[tuple[int, bytes]]:
    """Overlapping parts of a stored form: (first byte, bytes). An empty one is one empty passage."""
    if not data:
        return [(0, b"")]
    found: list[tuple[int, bytes]] = []
    start = 0
    while True:
        found.append((start, data[start : start + PASSAGE_BYTES]))
        if start + PASSAGE_BYTES >= len(data):
            return found
        start += PASSAGE_BYTES - OVERLAP_BYTES


def _rank(session: Session, query: str, matches: Matches, natives: dict[str, Native]) -> list[Found]:
    """Each output once, by its best passage: how well the index likes it and how close the words stand."""
    weights = weigh_terms(matches.rarity)
    asked = [term for term, _ in positions(query)]
    best: dict[tuple[str, str], Found] = {}
    forms: dict[tuple[str, str], bytes] = {}
    for match in matches.best:
        passage = match.passage
        key = passage.message_id, passage.call_id
        if key not in forms:
            results = session.view(natives[passage.message_id]).results
            forms[key] = _stored(next(block.text for block in results if block.call_id == passage.call_id))
        found = _look(match, forms[key], asked, weights)
        if key not in best or found.score > best[key].score:
            best[key] = found
    return sorted(best.values(), key=lambda found: -found.score)


def _look(match: Match, data: bytes, asked: Sequence[str], weights: dict[str, float]) -> Found:
    passage = match.passage
    text = data[passage.start : passage.start + passage.length].decode("utf-8", "ignore")
    spot = closest(text, asked, weights, SNIPPET_CHARS)
    # What only its call's arguments match comes behind what says something itself.
    score = match.score + spot.score if spot.score else match.score / 2
    return Found(passage, data, text, spot, score)


def _stored(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hit(session: Session, found: Found, page_bytes: int) -> Hit:
    state = session.state
    passage = found.passage
    middle = passage.start + len(found.text[: found.spot.center].encode("utf-8", "surrogatepass"))
    starts = paginate(found.data, page_bytes)
    facts = state.transcript[state.positions[passage.message_id]]
    owners = state.results[passage.call_id]
    return Hit(
        tool_call_id=passage.call_id,
        digest=next(r.digest for r in facts.results if r.call_id == passage.call_id),
        page=max(i for i, start in enumerate(starts) if start <= middle),
        snippet=snippet(found.text, found.spot.center),
        score=round(found.score, 4),
        occurrence=owners.index(passage.message_id) if len(owners) > 1 else None,
    )


def snippet(text: str, center: int) -> str:
    """About SNIPPET_CHARS characters around a place in a text, from a line's beginning where one is near."""
    start = max(0, min(center - SNIPPET_CHARS // 2, len(text) - SNIPPET_CHARS))
    line = text.find("\n", start, start + SNIPPET_CHARS // 8)
    if start and line >= 0:
        start = line + 1
    return text[start : start + SNIPPET_CHARS].strip()
