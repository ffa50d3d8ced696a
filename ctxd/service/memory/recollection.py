"""`memory/search`: what topics and episodes of a workspace say about something, or nothing.

The index is brought up to what lies on disk before it is asked; what a text must cover of a query to be
an answer does not depend on what else there is. Newest first among equals.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import anyio
import msgspec

from ctxd.core.background import quote_background
from ctxd.core.relevance import CJK, FLOOR, ask, coverage, index_terms, telling, weigh
from ctxd.embeddings.static import Neighbours, fuse
from ctxd.model.episode import Episode
from ctxd.model.errors import NotRegularFile, OutsideWorkspace, SymlinkRefused, TooLarge
from ctxd.service.environment import Environment
from ctxd.service.memory.memories import Memory
from ctxd.store.memory.index import Candidate, Kind, Row

TEXT_CHARS = 600
"""Characters of a hit's text."""

ROW_CHARS = 2_000
"""Characters of one thing that a topic says, as far as it is searched."""

NEAREST = 50
"""Rows near in meaning that are looked at."""

PARTS = 3
"""Things an episode says that one hit shows."""


Judged: TypeAlias = list[tuple[float, Candidate]]
"""Rows that answer, each with its score, best first."""


class Hit(msgspec.Struct, frozen=True):
    """A topic's line, or an episode, that answers a query. `score`: the share it covers, 0 to 1."""

    kind: Kind
    name: str
    text: str
    score: float
    at: int
    session_id: str = ""


async def search(environment: Environment, workspace: str, query: str, limit: int) -> list[Hit]:
    """The best answers, best first; none where nothing known is asked for. Raises the store's errors."""
    asked = ask(query)
    if not environment.settings.memory.enabled or not asked:
        return []
    memory = await environment.memories.of(workspace)
    meant = environment.settings.memory.vectors and not CJK.search(query)
    try:
        return await anyio.to_thread.run_sync(_search, memory, query, asked, limit, meant)
    except ImportError:
        environment.note("memory.vectors.missing")
        return await anyio.to_thread.run_sync(_search, memory, query, asked, limit, False)


def shown(hits: Sequence[Hit]) -> str:
    """Hits as a model may be shown them: quoted background; "" for none."""
    parts = [f"{_origin(hit)}:\n{hit.text}" for hit in hits]
    return quote_background(parts, "Memory search results")


def _origin(hit: Hit) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(hit.at / 1000))
    if hit.kind == "topic":
        return f"Topic {hit.name}, {day}"
    return f"Session {hit.session_id}, compaction {hit.name}, {day}"


def _search(memory: Memory, query: str, terms: tuple[str, ...], limit: int, meant: bool) -> list[Hit]:
    with memory.searching:
        changed = _refresh(memory)
        known = memory.index.known(terms)
        weights = weigh(terms, known.holders, known.total)
        found = memory.index.search(telling(weights, known.holders), list(known.holders))
        near = _near(memory, query, changed) if meant else []
    judged = [(round(coverage(c.terms, weights), 2), c) for c in found]
    judged = [(score, candidate) for score, candidate in judged if score >= FLOOR]
    judged.sort(key=lambda item: (-item[0], -item[1].row.at, -item[1].number))
    return _hits(_fused(judged, near) if near else judged, limit)


def _near(memory: Memory, query: str, changed: bool) -> Judged:
    """Rows near in meaning, nearest first. Raises ImportError where nobody can tell."""
    if memory.neighbours is None:
        memory.neighbours = Neighbours()
        changed = True
    # Another daemon may have brought the index up to date before this one.
    version = memory.index.version()
    if changed or version != memory.neighbours_of:
        memory.neighbours.update(memory.index.texts())
        memory.neighbours_of = version
    near = dict(memory.neighbours.nearest(query, NEAREST))
    rows = [(round(near[candidate.number], 2), candidate) for candidate in memory.index.rows(list(near))]
    return sorted(rows, key=lambda item: (-item[0], -item[1].row.at))


def _fused(worded: Judged, near: Judged) -> Judged:
    """Both rankings as one. A row's score is the better of its two."""
    worth = fuse([c.number for _, c in ranking] for ranking in (worded, near))
    best: dict[int, tuple[float, Candidate]] = {}
    for score, candidate in (*worded, *near):
        if candidate.number not in best or best[candidate.number][0] < score:
            best[candidate.number] = (score, candidate)
    return sorted(best.values(), key=lambda item: (-worth[item[1].number], -item[1].row.at))


def _hits(judged: Iterable[tuple[float, Candidate]], limit: int) -> list[Hit]:
    """Each line of a topic once; of an episode its best parts together."""
    hits: list[Hit] = []
    places: dict[str, tuple[int, int]] = {}
    for score, candidate in judged:
        row = candidate.row
        if candidate.kind == "episode" and candidate.name in places:
            place, parts = places[candidate.name]
            if parts < PARTS:
                longer = f"{hits[place].text}\n{row.body}"[:TEXT_CHARS]
                hits[place] = msgspec.structs.replace(hits[place], text=longer)
                places[candidate.name] = (place, parts + 1)
            continue
        if len(hits) == limit:
            continue
        name = candidate.name
        if candidate.kind == "episode":
            places[name] = (len(hits), 1)
            name = name.partition("@")[2]
        hits.append(Hit(candidate.kind, name, row.body[:TEXT_CHARS], score, row.at, row.session_id))
    return hits


def _refresh(memory: Memory) -> bool:
    """Take into the index what was changed on disk since; whether there was anything."""
    states = memory.index.states()
    topics = {("topic", t.name): t for t in memory.folder.topics()}
    episodes = {("episode", name): name for name in memory.episodes.names()}
    there = topics.keys() | episodes.keys()
    gone = [source for source in states if source not in there]
    if gone:
        memory.index.forget(gone)
    changed = [t for key, t in topics.items() if states.get(("topic", key[1])) != repr(t.state)]
    if changed:
        memory.journal.refresh()
    for topic in changed:
        try:
            version = memory.folder.read(topic.name)
        except (TooLarge, SymlinkRefused, NotRegularFile, OutsideWorkspace):
            # One file that cannot be read must not hide what the others say.
            version = None
        text = version.shown if version is not None else ""
        rows = _topic_rows(memory, topic.name, text, topic.modified_at)
        _put(memory, "topic", topic.name, repr(topic.state), rows)
    new = [name for name in episodes.values() if ("episode", name) not in states]
    for name in new:
        if (episode := memory.episodes.read(name)) is not None:
            _put(memory, "episode", name, "whole", _episode_rows(episode))
    return bool(gone or changed or new)


def _put(memory: Memory, kind: Kind, name: str, state: str, rows: Sequence[Row]) -> None:
    known = memory.index.keys(kind, name)
    terms = {
        row.key: " ".join([*index_terms(row.body), *index_terms(row.about)])
        for row in rows
        if row.key not in known
    }
    memory.index.put(kind, name, state, rows, terms)


def _topic_rows(memory: Memory, name: str, text: str, modified_at: int) -> list[Row]:
    rows = []
    for line, key in memory.lines(name, text):
        if line.replaced or not line.words:
            continue
        record = memory.journal.entries.get(key)
        at = record.at if record is not None else modified_at
        session = record.source.session_id if record is not None else ""
        rows.append(Row(key, at, line.words[:ROW_CHARS], name, session))
    return rows


def _episode_rows(episode: Episode) -> list[Row]:
    summary = episode.summary
    said = [
        ("Goal", [summary.goal]),
        ("The user said", [q.text for q in summary.constraints if q.superseded_by is None]),
        ("Decided", [_decision(d.summary, d.rationale) for d in summary.decisions if not d.stale]),
        ("Changed", [f"{m.path} ({m.role})" for m in summary.mutations]),
        ("Verified", summary.evidence),
        ("Done", summary.progress_done),
        ("In progress", summary.progress_in_progress),
        ("Risk", summary.risks),
        ("Next", summary.next_steps),
        ("Record", [record.payload for record in summary.exact_records]),
    ]
    rows = []
    for title, items in said:
        for item in items:
            if item.strip():
                body = f"{title}: {item}"[:ROW_CHARS]
                key = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:32]
                rows.append(Row(key, episode.at, body, "", episode.session_id))
    return rows


def _decision(summary: str, rationale: str | None) -> str:
    return f"{summary} ({rationale})" if rationale else summary
