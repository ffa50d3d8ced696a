"""`recall/search`: finding a tool output by words, over everything a session ever stored."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from ctxd.core.terms import query_terms, terms
from ctxd.model.blocks import MessageView, ToolCall
from ctxd.model.messages import MessageFacts, Native
from ctxd.service.recall import paginate
from ctxd.service.session import Session
from ctxd.store.output_index import Match, OutputIndex, Passage

PASSAGE_BYTES = 1_600
OVERLAP_BYTES = 300
"""Outputs are indexed as overlapping passages, so that words near each other are found together."""

SNIPPET_CHARS = 400
CANDIDATES = 60
FILL = 256
"""Messages read at a time while the index is filled."""


class Hit(msgspec.Struct, frozen=True):
    """An output that matches. `page` is the recall page its best passage begins on."""

    tool_call_id: str
    digest: str
    page: int
    snippet: str
    score: float
    occurrence: int | None = None


async def search(session: Session, query: str, *, tool: str | None, limit: int) -> list[Hit]:
    """The best outputs for a query, best first, each once.

    Words of the query are looked for in what the calls were about (tool, arguments) and in what
    they printed. Raises the store's errors.
    """
    async with session.search_lock:
        index = session.output_index
        await _fill(session, index)
        asked = query_terms(query)
        found = await anyio.to_thread.run_sync(
            lambda: index.search(asked, tool=tool, limit=max(CANDIDATES, limit * 6))
        )
        return await _hits(session, found, asked, limit)


async def _fill(session: Session, index: OutputIndex) -> None:
    """Index what was stored since the last search."""
    state = session.state
    position = await anyio.to_thread.run_sync(index.position)
    while position < len(state.transcript):
        facts = state.transcript[position : position + FILL]
        wanted = [f for f in facts if f.results]
        natives = await session.natives([f.id for f in wanted])
        calls = await _arguments(session, wanted)
        position += len(facts)
        await anyio.to_thread.run_sync(_index, session, index, wanted, natives, calls, position)


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
    views = dict(zip(ids, [session.dialect.view(n.value) for n in await session.natives(ids)], strict=True))
    return {
        key: call for key, owner in owners.items() for call in views[owner].calls if call.call_id == key[1]
    }


def _index(
    session: Session,
    index: OutputIndex,
    wanted: Sequence[MessageFacts],
    natives: Sequence[Native],
    calls: dict[tuple[str, str], ToolCall],
    position: int,
) -> None:
    rows: list[tuple[Passage, list[str], list[str]]] = []
    for facts, native in zip(wanted, natives, strict=True):
        view: MessageView = session.dialect.view(native.value)
        for block in view.results:
            call = calls.get((facts.id, block.call_id))
            about = terms(f"{call.name} {call.arguments}")[:400] if call else []
            data = block.text.encode("utf-8", "replace")
            for start, part in passages(data):
                passage = Passage(facts.id, block.call_id, call.name if call else "", start, len(part))
                rows.append((passage, about, terms(part.decode("utf-8", "ignore"))))
    index.add(rows, position)


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


async def _hits(session: Session, found: Sequence[Match], asked: Sequence[str], limit: int) -> list[Hit]:
    """Each output once, with the page and the words around its best passage."""
    state = session.state
    best: dict[tuple[str, str], Match] = {}
    for match in found:
        best.setdefault((match.passage.message_id, match.passage.call_id), match)
    chosen = list(best.values())[:limit]
    natives = await session.natives([match.passage.message_id for match in chosen])
    hits: list[Hit] = []
    for match, native in zip(chosen, natives, strict=True):
        passage = match.passage
        view = session.dialect.view(native.value)
        text = next(block.text for block in view.results if block.call_id == passage.call_id)
        data = text.encode("utf-8", "replace")
        starts = paginate(data, session.environment.settings.recall.page_bytes)
        page = max(i for i, start in enumerate(starts) if start <= passage.start)
        facts = state.transcript[state.positions[passage.message_id]]
        owners = state.results[passage.call_id]
        part = data[passage.start : passage.start + passage.length].decode("utf-8", "ignore")
        hits.append(
            Hit(
                tool_call_id=passage.call_id,
                digest=next(r.digest for r in facts.results if r.call_id == passage.call_id),
                page=page,
                snippet=snippet(part, asked),
                score=round(match.score, 4),
                occurrence=owners.index(passage.message_id) if len(owners) > 1 else None,
            )
        )
    return hits


def snippet(text: str, asked: Sequence[str]) -> str:
    """The part of a passage with most of the terms, at most SNIPPET_CHARS characters."""
    if len(text) <= SNIPPET_CHARS:
        return text.strip()
    wanted = set(asked)
    lines = text.split("\n")
    scores = [len(wanted.intersection(terms(line))) for line in lines]
    center = max(range(len(lines)), key=lambda i: (scores[i], -i))
    first = last = center
    size = len(lines[center])
    while size < SNIPPET_CHARS and (first > 0 or last < len(lines) - 1):
        before = scores[first - 1] if first > 0 else -1
        after = scores[last + 1] if last < len(lines) - 1 else -1
        if before > after:
            first -= 1
            size += len(lines[first]) + 1
        else:
            last += 1
            size += len(lines[last]) + 1
    return "\n".join(lines[first : last + 1]).strip()[:SNIPPET_CHARS]
