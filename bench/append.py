"""What durability and the wire cost on top of the disk and of decoding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import msgspec

from bench.harness import Ratio, Workbench, beside
from bench.project import echo
from bench.sessions import prose, recorded
from tools.peer import Peer

MEGABYTES = 10


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """Small durable appends, then one huge one."""
    with scratch.ready_daemon() as peer:
        yield _small(scratch, peer)
        yield _huge(scratch, peer)


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


def _huge(scratch: Workbench, peer: Peer) -> Ratio:
    body = msgspec.json.encode(recorded(MEGABYTES * 1_000_000))
    numbers = count(1)

    def frame(number: int) -> bytes:
        name = b"huge%d" % number
        head = b'{"jsonrpc":"2.0","id":"%b","method":"session/append","params":{"sessionId":"%b",' % (
            name,
            name,
        )
        return head + b'"messages":' + body + b"}}"

    frames = {}
    for number in range(1, 6):
        scratch.open(peer, f"huge{number}")
        frames[number] = frame(number)

    def append() -> None:
        number = next(numbers)
        peer.send_body(frames[number])
        peer.answer(f"huge{number}")

    measured, baseline = beside(append, lambda: msgspec.json.decode(body), rounds=5)
    return Ratio(f"append of {MEGABYTES} MB in one call", measured, baseline, 4, "msgspec decode of it")
