"""What the one call before each request costs: when nothing is due, and with a batch of elisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.harness import Ratio, Workbench, elapsed, typical
from bench.sessions import fill, messages
from tools.peer import Peer

TOKENS = 150_000
BATCH_SECONDS = 0.025
ROUNDS = 30
BATCHES = 7


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """`context/prepare` beside `context/project`, then on sessions that are due for elision."""
    with scratch.daemon() as peer:
        size = int(TOKENS / _tokens_per_message(scratch, peer))
        for messages_shown in (100, 469):
            yield _nothing_due(scratch, peer, messages_shown)
        batches = [_batch(scratch, peer, f"batch{n}", size) for n in range(BATCHES)]
    yield Ratio(
        f"prepare with a batch of elisions, {TOKENS // 1000}k tokens",
        typical(batches),
        BATCH_SECONDS,
        1,
        "the budget",
    )


def _nothing_due(scratch: Workbench, peer: Peer, size: int) -> Ratio:
    """Right after an append, as a host calls it in a loop of tool calls.

    An answer carries the whole view; what it takes to read that is the host's.
    """
    name = f"quiet{size}"
    given = messages(size + 2 * ROUNDS, result_words=300)
    start = next(i for i in range(size, len(given)) if given[i]["role"] == "assistant")
    fill(scratch, peer, name, given[:start])
    session = {"sessionId": name}
    projected, prepared = [], []
    for turn in range(start, start + 2 * ROUNDS - 8, 2):
        peer.request("session/append", {**session, "messages": given[turn : turn + 2]})
        projected.append(peer.answers_after("context/project", session))
        prepared.append(peer.answers_after("context/prepare", {**session, "phase": "turnStart"}))
    project, prepare = typical(projected), typical(prepared)
    return Ratio(f"prepare, nothing due, {size} messages, to its first byte", prepare, project, 2, "project")


def _batch(scratch: Workbench, peer: Peer, name: str, size: int) -> float:
    window = {"id": "claude-sonnet-4-5", "contextWindow": 230_000}
    scratch.open(peer, name, model=window)
    given = messages(size, result_words=300)
    for start in range(0, len(given), 200):
        peer.request("session/append", {"sessionId": name, "messages": given[start : start + 200]})
    peer.request("context/project", {"sessionId": name})
    answers: list[dict[str, Any]] = []
    seconds = elapsed(lambda: answers.append(_prepare(peer, {"sessionId": name})))
    stages = [stage["stage"] for stage in answers[0]["report"]["stages"]]
    if stages != ["elision"]:
        raise RuntimeError(f"nothing to measure: {stages}")
    return seconds


def _prepare(peer: Peer, session: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = peer.request("context/prepare", {**session, "phase": "turnStart"})
    return answer


def _tokens_per_message(scratch: Workbench, peer: Peer) -> float:
    fill(scratch, peer, "probe", messages(400, result_words=300))
    tokens: int = peer.request("context/project", {"sessionId": "probe"})["tokens"]
    return tokens / 400
