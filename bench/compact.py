"""How long a deterministic compaction takes through the wire, and how that grows."""

from __future__ import annotations

from collections.abc import Iterator

from bench.harness import Ratio, Workbench, elapsed, typical
from bench.sessions import fill, messages
from tools.peer import Peer

TOKENS = 200_000
BUDGET_SECONDS = 0.060
ROUNDS = 5


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """Counts are warm and the checkpoint is durable when the answer comes."""
    with scratch.daemon(compaction={"auto": False}) as peer:
        per_message = _tokens(scratch, peer, "probe", 400) / 400
        size = int(TOKENS / per_message)
        # No two sessions share their texts: what was read of one must not help the next.
        once = [_compaction(scratch, peer, f"once{n}", size, n) for n in range(1, ROUNDS + 1)]
        twice = [_compaction(scratch, peer, f"twice{n}", 2 * size, -n) for n in range(1, ROUNDS + 1)]
    one, two = typical(once), typical(twice)
    yield Ratio(f"deterministic compaction of {TOKENS // 1000}k tokens", one, BUDGET_SECONDS, 1, "the budget")
    yield Ratio(
        f"deterministic compaction of {2 * TOKENS // 1000}k tokens", two, one, 2.2, "half the session"
    )


def _tokens(scratch: Workbench, peer: Peer, session: str, size: int, number: int = 0) -> int:
    fill(scratch, peer, session, messages(size, result_words=300, seed=number * 1_000_000))
    tokens: int = peer.request("context/project", {"sessionId": session})["tokens"]
    return tokens


def _compaction(scratch: Workbench, peer: Peer, session: str, size: int, number: int) -> float:
    _tokens(scratch, peer, session, size, number)

    def compact() -> None:
        report = peer.request("context/compact", {"sessionId": session, "strategy": "deterministic"})
        if report["outcome"] != "applied":
            raise RuntimeError(f"nothing to measure: {report['outcome']}")

    return elapsed(compact)
