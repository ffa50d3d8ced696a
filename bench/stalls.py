"""How long the event loop stands still while a session does something large.

In process: a daemon's registry on this process's loop, beside a ticker on the same loop that asks to be
woken again and again. Its longest wait is the stall; on a loaded machine it holds the machine's own delays.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bench.harness import Ratio, Workbench
from bench.sessions import BATCH, messages, recorded
from ctxd.model.events import Model
from ctxd.model.messages import Native
from ctxd.model.settings import CompactionOptions, Settings, Storage
from ctxd.service.compacting import compactor
from ctxd.service.compacting.compactions import Job
from ctxd.service.intake import append
from ctxd.service.intake.description import Meta
from ctxd.service.opening import Fixed
from ctxd.service.registry import Registry
from ctxd.service.requests.eliding import plan_everything
from ctxd.service.session import Session

BUDGET_SECONDS = 0.020
TICK_SECONDS = 0.001
APPENDED = 10_000_000
COMPACTED = 1_400
"""Messages of the compacted session, some 400 000 tokens."""


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """The longest wait of the loop during an append, a resume, the planning of elisions and a compaction."""
    stalls = asyncio.run(_measure(scratch))
    for name, stall in stalls.items():
        yield Ratio(f"longest wait of the loop: {name}", stall, BUDGET_SECONDS, 1, "the budget")


async def _measure(scratch: Workbench) -> dict[str, float]:
    large = _natives(recorded(APPENDED))
    stalls: dict[str, float] = {}
    async with in_process(scratch) as registry:
        session = await open_session(registry, scratch, "stall")
        stalls["10 MB append"] = await longest_wait(lambda: _append(session, large))
    async with in_process(scratch) as registry:
        stalls["resume of 10 MB"] = await longest_wait(lambda: open_session(registry, scratch, "stall"))
    async with in_process(scratch) as registry:
        session = await open_session(registry, scratch, "compacted")
        given = _natives(messages(COMPACTED, result_words=300))
        for start in range(0, len(given), BATCH):
            await _append(session, given[start : start + BATCH])
        async with session.lane:
            await session.settle()
            stalls["elisions of 400k tokens"] = await longest_wait(lambda: plan_everything(session))
        stalls["compaction of 400k tokens"] = await longest_wait(lambda: compactor.compact(session, _JOB))
    return stalls


_JOB = Job(trigger="manual", reason="manual", strategy="deterministic")


async def longest_wait(step: Callable[[], Awaitable[object]]) -> float:
    """Seconds of the longest wait of a ticker, beyond the tick it asked for, while `step` ran."""
    waits = [0.0]

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            waits.append(time.perf_counter() - before - TICK_SECONDS)

    gc.collect()
    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0.05)
    waits.clear()
    await step()
    await asyncio.sleep(0.01)
    ticker.cancel()
    return max(waits)


@asynccontextmanager
async def in_process(scratch: Workbench) -> AsyncIterator[Registry]:
    """A daemon's registry on this process's loop."""
    storage = Storage(root=str(scratch.root / "in-process"), cache=str(scratch.cache))
    registry = Registry(Settings(storage=storage, compaction=CompactionOptions(auto=False)))
    await registry.environment.counting.counter("o200k_base")
    try:
        yield registry
    finally:
        await registry.close()


async def open_session(registry: Registry, scratch: Workbench, session_id: str) -> Session:
    """A session of the workbench's workspace, made if it is not there."""
    return await registry.open(
        str(scratch.workspace),
        session_id=session_id,
        mode="openOrCreate",
        read_only=False,
        dialect="anthropic",
        fixed=Fixed(model=Model(id="claude-sonnet-4-5", context_window=1_000_000)),
    )


async def take(session: Session, given: list[dict[str, Any]]) -> object:
    """Append messages."""
    return await _append(session, _natives(given))


async def _append(session: Session, natives: list[Native]) -> object:
    return await append.append(session, natives, [Meta()] * len(natives))


def _natives(given: list[dict[str, Any]]) -> list[Native]:
    return [Native(msgspec.json.encode(message), message) for message in given]
