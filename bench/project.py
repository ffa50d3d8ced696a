"""Does a projection cost the same however long the session is?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.harness import Ratio, Workbench, elapsed, typical
from bench.sessions import fill, messages
from tools.peer import Peer, PeerError

ROUNDS = 60
SHORT, LONG = 100, 5_000


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """`context/project` right after an append, on a short and on a long session, beside a bare round trip."""
    with scratch.daemon() as peer:
        fill(scratch, peer, "short", messages(SHORT))
        fill(scratch, peer, "long", messages(LONG))
        times: dict[str, list[float]] = {"short": [], "long": [], "echo": []}
        for turn in range(ROUNDS):
            for session in ("short", "long"):
                said = {"role": "user", "content": f"And now step {turn}."}
                peer.request("session/append", {"sessionId": session, "messages": [said]})
                call = {"sessionId": session}
                times[session].append(elapsed(partial(peer.request, "context/project", call)))
            times["echo"].append(elapsed(lambda: echo(peer)))
    short, long, bare = (typical(times[k]) for k in ("short", "long", "echo"))
    yield Ratio(f"project after an append, {LONG} messages", long, short, 1.5, f"the same on {SHORT}")
    yield Ratio(f"project after an append, {LONG} messages", long, bare, 3, "a bare round trip")
    yield Ratio(f"project after an append, {SHORT} messages", short, bare, 3, "a bare round trip")


def echo(peer: Peer) -> None:
    """The cheapest round trip there is: a method that nobody knows."""
    try:
        peer.request("bench/echo", {})
    except PeerError as error:
        if error.error["code"] != -32601:
            raise
