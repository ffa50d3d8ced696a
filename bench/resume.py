"""How fast a long session is back after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from bench.harness import Ratio, Workbench, elapsed, typical
from bench.sessions import fill, messages
from tools.peer import Peer

MEGABYTES = 100
RESULT_WORDS = 500
"""Makes messages of 1.8 KB on average, as recorded sessions have."""
ROUNDS = 3


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """From `session/open` in a ready daemon to the first projection, beside `json.loads` of every line."""
    sample = messages(200, result_words=RESULT_WORDS)
    each = len(msgspec.json.encode(sample)) / len(sample)
    with scratch.daemon() as peer:
        fill(scratch, peer, "long", messages(int(MEGABYTES * 1_000_000 / each), result_words=RESULT_WORDS))
        peer.request("context/project", {"sessionId": "long"})
    segments = sorted((scratch.root / "state").rglob("*.jsonl"), key=lambda p: p.stat().st_size)
    resumed, parsed = [], []
    for _ in range(ROUNDS):
        with scratch.daemon() as peer:
            peer.request("ctxd/status", {})  # answered when the daemon has finished starting
            resumed.append(elapsed(partial(_resume, scratch, peer)))
        parsed.append(elapsed(lambda: _parse(segments)))
    size = sum(p.stat().st_size for p in segments) / 1e6
    yield Ratio(
        f"resume of a {size:.0f} MB log to the first projection",
        typical(resumed),
        typical(parsed),
        0.25,
        "json.loads of its lines",
    )


def _resume(scratch: Workbench, peer: Peer) -> None:
    scratch.open(peer, "long", mode="resume")
    peer.request("context/project", {"sessionId": "long"})


def _parse(segments: list[Path]) -> None:
    for segment in segments:
        with segment.open("rb") as lines:
            for line in lines:
                json.loads(line)
