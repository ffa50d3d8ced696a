"""Made-up agent sessions of a stated size, the same on every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bench.harness import Workbench
from tools.peer import Peer

_PROSE = (
    "the parser reads a token and returns an error when the buffer is empty while test_expiry checks that "
    "session.close() flushes every record before src/store/segment.py line 214 raises ValueError: offset "
    "{'status': 'ok', 'count': 128} we should keep the old behaviour for callers that pass None because "
    "https://example.org/issue/42 describes how retries double latency under load"
)
_WORDS = _PROSE.split()
BATCH = 200


def prose(words: int, *, seed: int) -> str:
    """That many words, with line breaks as tool output has them."""
    chance = random.Random(seed)
    picked = chance.choices(_WORDS, k=words)
    return "\n".join(" ".join(picked[i : i + 14]) for i in range(0, words, 14))


def tool_loop(*, result_words: int) -> Iterator[dict[str, Any]]:
    """An agent at work without end: a user's wish, then nine calls with their results, and so on."""
    seed = 0
    while True:
        for step in range(9):
            seed += 1
            call_id = f"toolu_{seed:06}"
            if step == 0:
                wish = f"Part {seed}: never touch {_WORDS[seed % len(_WORDS)]}. {prose(30, seed=seed)}"
                yield {"role": "user", "content": wish}
            call = {
                "type": "tool_use",
                "id": call_id,
                "name": "Read",
                "input": {"file_path": f"/repo/src/part_{seed}.py"},
            }
            yield {
                "role": "assistant",
                "content": [{"type": "text", "text": prose(20, seed=seed)}, call],
            }
            result = {
                "type": "tool_result",
                "tool_use_id": call_id,
                "content": prose(result_words, seed=-seed),
            }
            yield {"role": "user", "content": [result]}
        yield {"role": "assistant", "content": [{"type": "text", "text": prose(60, seed=seed)}]}


def messages(count: int, *, result_words: int = 40) -> list[dict[str, Any]]:
    """The first messages of a tool loop, cut where the loop's own calls are answered."""
    return list(islice(tool_loop(result_words=result_words), count))


def fill(bench: Workbench, peer: Peer, session_id: str, given: list[dict[str, Any]]) -> None:
    """Open a session and append `given` in batches."""
    bench.open(peer, session_id)
    for start in range(0, len(given), BATCH):
        peer.request("session/append", {"sessionId": session_id, "messages": given[start : start + BATCH]})
