"""What durability and the wire cost on top of the disk and of decoding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import msgspec

from bench.guard import BUDGET_SECONDS_PER_MB
from bench.harness import Ratio, Workbench, beside
from bench.project import echo
from bench.sessions import prose, recorded
from tools.peer import Peer

MEGABYTES = 10


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """Small durable appends, then one huge one."""
    with scratch.ready_daemon() as peer:
        yield _small(scratch, peer)
        scanned = _huge(scratch, peer, "scanned")
    with scratch.ready_daemon(guard={"secrets": False, "sanitize": False}) as peer:
        plain = _huge(scratch, peer, "plain")
    name = f"append of {MEGABYTES} MB in one call"
    yield Ratio(f"{name}, unscanned", plain[0], plain[1], 4, "msgspec decode of it")
    yield Ratio(
        f"{name}, scanned for secrets",
        scanned[0],
        plain[0] + BUDGET_SECONDS_PER_MB * MEGABYTES,
        1,
        "the same unscanned and 150 ms per MB",
    )


def _small(scratch: Workbench, peer: Peer) -> Ratio:
    text = prose(150, seed=1)[:1000]
    scratch.open(peer, "small")
    message = {"role": "user", "content": text}
    line = msgspec.json.encode(message) + b"\n"
    file = os.open(scratch.root / "plain.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def durable() -> None:
        peer.request("session/append", {"sessionId": "small", "messages": [message]})

    def plain() -> None:
        os.write(file, line)
        os.fdatasync(file)
        echo(peer)

    durable()
    plain()
    measured, baseline = beside(durable, plain, rounds=200)
    os.close(file)
    return Ratio("durable append of 1 KB", measured, baseline, 2, "write + fdatasync + a round trip")


def _huge(scratch: Workbench, peer: Peer, session: str) -> tuple[float, float]:
    """Seconds of the append, and of decoding what it carries."""
    body = msgspec.json.encode(recorded(MEGABYTES * 1_000_000))
    numbers = count(1)

    def frame(number: int) -> bytes:
        name = b"%b%d" % (session.encode(), number)
        head = b'{"jsonrpc":"2.0","id":"%b","method":"session/append","params":{"sessionId":"%b",' % (
            name,
            name,
        )
        return head + b'"messages":' + body + b"}}"

    frames = {}
    for number in range(1, 6):
        scratch.open(peer, f"{session}{number}")
        frames[number] = frame(number)

    def append() -> None:
        number = next(numbers)
        peer.send_body(frames[number])
        peer.answer(f"{session}{number}")

    return beside(append, lambda: msgspec.json.decode(body), rounds=5)
