"""What looking through tools' outputs costs: time for a megabyte, as recorded and made to take long."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from bench.harness import Ratio, Workbench, elapsed, typical
from bench.recordings import FOLDER, recordings
from bench.sessions import prose
from ctxd.dialects.outputs import spots
from ctxd.guard.sanitize import sanitize
from ctxd.guard.secrets import Secrets

BUDGET_SECONDS_PER_MB = 0.150
MEGABYTE = 1_000_000
ROUNDS = 9


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """A megabyte of recorded tool output (made up where none is at hand), and hostile repetition."""
    secrets = Secrets(scratch.cache)
    asyncio.run(secrets.run(lambda: None))

    def guard(text: str) -> None:
        secrets.find(text, 60.0)
        sanitize(text, ())

    for name, text in (
        ("recorded output", _printed()),
        ("hostile repetition", "token = a1 " * (MEGABYTE // 11)),
        ("one word of every order", "ignore show you are now system: from now on " * (MEGABYTE // 44)),
    ):
        size = len(text.encode("utf-8", "surrogatepass"))
        times = [elapsed(partial(guard, text)) for _ in range(ROUNDS)]
        budget = BUDGET_SECONDS_PER_MB * size / MEGABYTE
        yield Ratio(
            f"looking for secrets and orders in 1 MB of {name}", typical(times), budget, 1, "150 ms per MB"
        )


def _printed() -> str:
    """A megabyte of what tools printed."""
    found: list[str] = []
    size = 0
    for recording in recordings() if FOLDER.is_dir() else ():
        for message in recording.messages:
            for spot in spots(recording.dialect, message):
                found.append(spot.text)
                size += len(spot.text)
        if size >= MEGABYTE:
            break
    return "\n".join(found)[:MEGABYTE] if size >= MEGABYTE else prose(MEGABYTE // 6, seed=5)[:MEGABYTE]
