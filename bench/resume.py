"""How fast a long session is back after a restart."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.harness import Ratio, Workbench, elapsed
from bench.sessions import fill, live, recorded
from tools.peer import Peer

MEGABYTES = 100
ROUNDS = 5
LIMIT = 0.25


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """From `session/open` in a ready daemon to the first projection, beside `json.loads` of every line.

    Two logs of the same messages: appended by the batch, as an import does it, and one by one.
    """
    given = recorded(MEGABYTES * 1_000_000)
    yield _resumption(scratch, "imported", lambda peer: fill(scratch, peer, "imported", given))
    yield _resumption(scratch, "lived", lambda peer: live(scratch, peer, "lived", given))


def _resumption(scratch: Workbench, session: str, make: Callable[[Peer], None]) -> Ratio:
    with scratch.daemon() as peer:
        make(peer)
        peer.request("context/project", {"sessionId": session})
    segments = sorted((scratch.root / "state").rglob(f"*/{session}/*.jsonl"))
    resumed, parsed = [], []
    for _ in range(ROUNDS):
        with scratch.ready_daemon() as peer:
            resumed.append(elapsed(partial(_resume, scratch, peer, session)))
        parsed.append(elapsed(lambda: _parse(segments)))
    size = sum(p.stat().st_size for p in segments) / 1e6
    lines = sum(segment.read_bytes().count(b"\n") for segment in segments)
    return Ratio(
        f"resume of {size:.0f} MB in {lines} records to the first projection",
        statistics.median(resumed),
        statistics.median(parsed),
        LIMIT,
        "json.loads of its lines",
    )


def _resume(scratch: Workbench, peer: Peer, session: str) -> None:
    scratch.open(peer, session, mode="resume")
    peer.request("context/project", {"sessionId": session})


def _parse(segments: list[Path]) -> None:
    for segment in segments:
        with segment.open("rb") as lines:
            for line in lines:
                json.loads(line)
