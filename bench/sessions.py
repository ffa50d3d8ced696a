"""Agent sessions of a stated size, the same on every run: made up, or a recorded one again and again.

Messages of recorded sessions are of very different sizes: on the long bundled recording half of them
are below 1 KB and the mean is 2.8 KB. Where the number of messages per byte decides, that one is taken.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

from bench.harness import Workbench
from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary
from tools.peer import Peer

_PROSE = (
    "the parser reads a token and returns an error when the buffer is empty while test_expiry checks that "
    "session.close() flushes every record before src/store/segment.py line 214 raises ValueError: offset "
    "{'status': 'ok', 'count': 128} we should keep the old behaviour for callers that pass None because "
    "https://example.org/issue/42 describes how retries double latency under load"
)
_WORDS = _PROSE.split()
BATCH = 200
AHEAD = 32
"""Appends on their way at once while a session is filled one by one."""


def prose(words: int, *, seed: int) -> str:
    """That many words, with line breaks as tool output has them."""
    chance = random.Random(seed)
    picked = chance.choices(_WORDS, k=words)
    return "\n".join(" ".join(picked[i : i + 14]) for i in range(0, words, 14))


def tool_loop(*, result_words: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """An agent at work without end: a user's wish, then nine calls with their results, and so on.

    Loops of seeds that lie far apart have no text in common.
    """
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


def messages(count: int, *, result_words: int = 40, seed: int = 0) -> list[dict[str, Any]]:
    """The first messages of a tool loop, cut where the loop's own calls are answered."""
    return list(islice(tool_loop(result_words=result_words, seed=seed), count))


def recorded(size: int) -> list[dict[str, Any]]:
    """The messages of a recorded session, again and again with fresh call ids, of about `size` bytes in all.

    The long recording where the shared transcripts are, else the sample in the repository.
    """
    path = next(path for path in _RECORDINGS if path.exists())
    [transcript] = read_transcripts(path)
    steps = [step for step in transcript.steps if not isinstance(step, Boundary)]
    text = msgspec.json.encode([message for step in steps for message in step.messages])
    found: list[dict[str, Any]] = []
    used = 0
    for number in count():
        for message in msgspec.json.decode(text.replace(b"toolu_", b"toolu_%d_" % number)):
            if used >= size:
                return found
            found.append(message)
            used += len(msgspec.json.encode(message))
    raise AssertionError("unreachable")


_ROOT = Path(__file__).parents[1]
_RECORDINGS = (
    _ROOT / "../shared/transcripts/claude-code/long-three-compactions.jsonl",
    _ROOT / "ctxd/importers/samples/session.jsonl",
)


def fill(bench: Workbench, peer: Peer, session_id: str, given: list[dict[str, Any]]) -> None:
    """Open a session and append `given` in batches."""
    bench.open(peer, session_id)
    for start in range(0, len(given), BATCH):
        peer.request("session/append", {"sessionId": session_id, "messages": given[start : start + BATCH]})


def live(bench: Workbench, peer: Peer, session_id: str, given: list[dict[str, Any]]) -> None:
    """Open a session and append `given` one by one, as hosts do; the next is sent before the answer comes."""
    bench.open(peer, session_id)
    names = [f"{session_id}-{number}" for number in range(len(given))]
    for number, (name, message) in enumerate(zip(names, given, strict=True)):
        params = {"sessionId": session_id, "messages": [message]}
        peer.send({"jsonrpc": "2.0", "id": name, "method": "session/append", "params": params})
        if number >= AHEAD:
            peer.answer(names[number - AHEAD])
    for name in names[-AHEAD:]:
        peer.answer(name)
