"""`session/search`: finding what was said, in one session or in all that are open in a workspace."""

from __future__ import annotations

import anyio
import msgspec

from ctxd.core.closeness import closest, weigh_terms
from ctxd.core.terms import also, positions, query_terms
from ctxd.model.messages import Native
from ctxd.service.recall.searching import CANDIDATES, SNIPPET_CHARS, Batch, fill, passages, snippet
from ctxd.service.session import Session, decode
from ctxd.store.indexes.outputs import Indexed, Matches, Passage


class Said(msgspec.Struct, frozen=True):
    """A message that matches."""

    session_id: str
    message_id: str
    role: str
    snippet: str
    score: float


async def search(session: Session, query: str, limit: int) -> list[Said]:
    """The best messages for a query, best first, each once; hidden and rewound ones are never found.

    Raises the store's errors.
    """

    async def take(batch: Batch) -> None:
        await anyio.to_thread.run_sync(_index, session, batch)

    asked = query_terms(query)
    async with session.search_lock:
        await fill(session, session.message_index, lambda facts: not facts.hidden, take)
        matches = await anyio.to_thread.run_sync(
            lambda: session.message_index.search(asked, tool=None, limit=max(CANDIDATES, limit * 3))
        )
    gone = session.state.gone
    best = [match for match in matches.best if match.passage.message_id not in gone]
    ids = list(dict.fromkeys(match.passage.message_id for match in best))
    natives = dict(zip(ids, await session.natives(ids), strict=True))
    kept = Matches(best=tuple(best), rarity=matches.rarity, mark=matches.mark)
    ranked = await anyio.to_thread.run_sync(_rank, session, query, kept, natives)
    return ranked[:limit]


def _index(session: Session, batch: Batch) -> None:
    rows: list[Indexed] = []
    for facts, raw in zip(batch.messages, batch.raws, strict=True):
        data = _text(session, Native(raw, decode(raw), facts.dialect))
        for start, part in passages(data) if data else ():
            text = part.decode("utf-8", "ignore")
            rows.append(
                Indexed(Passage(facts.id, "", "", start, len(part)), "", " ".join([text, *also(text)]))
            )
    session.message_index.add(rows, batch.mark, after=batch.after)


def _rank(session: Session, query: str, matches: Matches, natives: dict[str, Native]) -> list[Said]:
    """Each message once, by the passage where the words stand closest together."""
    weights = weigh_terms(matches.rarity)
    asked = [term for term, _ in positions(query)]
    best: dict[str, Said] = {}
    for match in matches.best:
        passage = match.passage
        native = natives[passage.message_id]
        data = _text(session, native)
        text = data[passage.start : passage.start + passage.length].decode("utf-8", "ignore")
        spot = closest(text, asked, weights, SNIPPET_CHARS)
        score = round(match.score + spot.score, 4)
        if passage.message_id not in best or best[passage.message_id].score < score:
            best[passage.message_id] = Said(
                session.session_id,
                passage.message_id,
                session.view(native).role,
                snippet(text, spot.center),
                score,
            )
    return sorted(best.values(), key=lambda said: -said.score)


def _text(session: Session, native: Native) -> bytes:
    return session.view(native).text.encode("utf-8", "surrogatepass")
