"""Reading and searching what is no longer shown: the largest recorded outputs, and synthetic ones of 64 MB.

Over the wire, as a host sees it: a request and its answer. The words of the synthetic text are few, so that
every word of a query is nearly everywhere: the worst there is for an index.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

from bench.harness import Ratio, Workbench, elapsed, typical
from bench.recordings import FOLDER, recordings
from bench.sessions import BATCH, prose
from bench.stalls import BUDGET_SECONDS, in_process, longest_wait, open_session, take
from ctxd.model.settings import RecallOptions
from ctxd.service.recall.fetching import Handle, fetch
from ctxd.service.recall.searching import search
from ctxd.service.recall.stored_form import Part
from tools.peer import Peer

PAGE_SECONDS = 0.005
SEARCH_SECONDS = 0.100
LARGE = (64_000_000, 36_000_000)
"""Bytes of the synthetic outputs: 100 MB together, one as large as a frame may carry."""

MEMORY_BYTES = 300_000_000
"""What the daemon may hold more after it stored, read and searched them: what it keeps at hand."""

FILL_SECONDS = 120.0
ROUNDS = 40
QUERIES = (
    "ValueError offset segment",
    "which retries double latency under load",
    "token buffer empty",
    "line 4711",
    "session.close flushes every record",
)


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """A warm page, a search in all and inside one, memory, and the longest wait of the loop meanwhile."""
    if FOLDER.is_dir():
        yield from _recorded(scratch)
    yield from _synthetic(scratch)
    for name, stall in asyncio.run(_stalls(scratch)).items():
        yield Ratio(f"longest wait of the loop: {name}", stall, BUDGET_SECONDS, 1, "the budget")


def _recorded(scratch: Workbench) -> Iterator[Ratio]:
    """Pages of the largest recorded outputs, and searches in the session of the largest one."""
    with scratch.ready_daemon() as peer:
        found: list[tuple[int, str, str]] = []
        for number, recording in enumerate(recordings()):
            name = f"recorded{number}"
            scratch.open(peer, name, dialect=recording.dialect)
            for start in range(0, len(recording.messages), BATCH):
                messages = recording.messages[start : start + BATCH]
                peer.request("session/append", {"sessionId": name, "messages": messages})
            entries = peer.request("recall/list", {"sessionId": name})["entries"]
            found += [(entry["bytes"], name, entry["digest"]) for entry in entries]
        largest = sorted(found, reverse=True)[:20]
        fetches = [{"sessionId": name, "digest": digest} for _, name, digest in largest]
        for params in fetches:
            peer.request("recall/fetch", params)
        times = [elapsed(partial(peer.request, "recall/fetch", p)) for p in fetches for _ in range(5)]
        yield _row(f"page of a recorded output, up to {largest[0][0]} bytes", times, PAGE_SECONDS)
        yield _row("search in its session", _search(peer, largest[0][1]), SEARCH_SECONDS)


def _synthetic(scratch: Workbench) -> Iterator[Ratio]:
    with scratch.ready_daemon() as peer:
        scratch.open(peer, "large")
        before = peer.request("ctxd/status", {})["rssBytes"]
        for number, size in enumerate(LARGE):
            peer.request("session/append", {"sessionId": "large", "messages": ran(f"c{number}", size)})
        query = {"sessionId": "large", "query": QUERIES[0]}
        first = elapsed(partial(peer.request, "recall/search", query))
        yield Ratio("first search in 100 MB, index included", first, FILL_SECONDS, 1, "the budget")
        yield _row("search in 100 MB", _search(peer, "large"), SEARCH_SECONDS)
        inside = _search(peer, "large", toolCallId="c0")
        yield _row("search inside one output of 64 MB", inside, SEARCH_SECONDS)
        pages = peer.request("recall/fetch", {"sessionId": "large", "toolCallId": "c0"})["pages"]
        chance = random.Random(0)
        fetches = [
            {"sessionId": "large", "toolCallId": "c0", "page": chance.randrange(pages)} for _ in range(ROUNDS)
        ]
        times = [elapsed(partial(peer.request, "recall/fetch", p)) for p in fetches]
        yield _row("page of 64 MB", times, PAGE_SECONDS)
        tool = {
            "sessionId": "large",
            "name": "recall",
            "arguments": {"toolCallId": "c0", "startLine": 400_000},
        }
        times = [elapsed(partial(peer.request, "tools/call", tool)) for _ in range(ROUNDS)]
        yield _row("lines in the middle of 64 MB, by the tool", times, PAGE_SECONDS)
        grown = peer.request("ctxd/status", {})["rssBytes"] - before
        yield Ratio("memory for it all", grown, MEMORY_BYTES, 1, "the budget", unit="bytes")


async def _stalls(scratch: Workbench) -> dict[str, float]:
    stalls: dict[str, float] = {}
    async with in_process(scratch) as registry:
        session = await open_session(registry, scratch, "stalls")
        await take(session, ran("c0", LARGE[0]))
        whole = partial(search, session, QUERIES[1], tool=None, limit=10)
        stalls["index of 64 MB"] = await longest_wait(whole)
        stalls["search in 64 MB"] = await longest_wait(whole)
        page = partial(fetch, session, registry.shelf, Part(page=700), Handle(tool_call_id="c0"))
        stalls["first page of 64 MB"] = await longest_wait(page)
        lines = partial(
            fetch, session, registry.shelf, Part(start_line=1, end_line=10**6), Handle(tool_call_id="c0")
        )
        stalls["many lines of 64 MB"] = await longest_wait(lines)
    return stalls


def ran(call_id: str, size: int) -> list[dict[str, Any]]:
    """A wish, a call and its result of so many bytes."""
    call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": f"dump {call_id}"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": large_text(size)}
    return [
        {"role": "user", "content": "Dump it."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


def large_text(size: int) -> str:
    """Numbered lines of prose, of so many bytes."""
    lines = prose(100_000, seed=size).split("\n")
    found: list[str] = []
    used = 0
    for number in count():
        line = f"line {number}: {lines[number % len(lines)]}"
        used += len(line) + 1
        if used > size:
            return "\n".join(found)
        found.append(line)
    raise AssertionError("unreachable")


def _search(peer: Peer, session_id: str, **fields: Any) -> list[float]:
    params = [{"sessionId": session_id, "query": query, **fields} for query in QUERIES]
    peer.request("recall/search", params[0])
    return [elapsed(partial(peer.request, "recall/search", p)) for p in params for _ in range(4)]


def _row(name: str, times: list[float], budget: float) -> Ratio:
    page = RecallOptions().page_bytes
    return Ratio(name.replace("page", f"{page}-byte page"), typical(times), budget, 1, "the budget")
