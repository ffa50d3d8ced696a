"""How fast the daemon answers, and what it weighs while it waits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from bench.harness import Ratio, Workbench, beside
from bench.sessions import fill, messages
from tools.peer import Peer

BUDGET_BYTES = 120e6
MEMO_BYTES = 17e6
"""What the engine keeps for each of the two threads that count: the loop, and the one for large counts."""
SCANNER_BYTES = 60e6
"""What the rules for secrets weigh, which the first call of a tool brings in."""
ROUNDS = 9


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """Start to the answer of `initialize`, and resident memory with one encoding loaded."""
    fresh = partial(_initialize, scratch)
    imported = partial(subprocess.run, [sys.executable, "-c", "import pygls.server"], check=True)
    fresh()
    imported()
    measured, baseline = beside(fresh, imported, rounds=ROUNDS)
    yield Ratio("start to the answer of initialize", measured, baseline, 1.3, "importing pygls.server")
    with scratch.ready_daemon() as peer:
        scratch.open(peer, "idle")
        idle = peer.resident_bytes()
        fill(scratch, peer, "counted", messages(20))
        peer.request("context/project", {"sessionId": "counted"})
        counted = peer.resident_bytes()
    yield Ratio("idle memory, one encoding loaded", idle, BUDGET_BYTES, 1, "the budget", "bytes")
    yield Ratio(
        "memory after the first counts and tool outputs, with memos and rules",
        counted,
        BUDGET_BYTES + 2 * MEMO_BYTES + SCANNER_BYTES,
        1,
        "the budget, two memos, the rules",
        "bytes",
    )


def _initialize(scratch: Workbench) -> None:
    with Peer() as peer:
        peer.initialize(scratch.workspace, scratch.options())
