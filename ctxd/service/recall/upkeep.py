"""Search indexes filled ahead: after a very large output, so that the first search need not wait for it.

One task for each session, at most; nothing depends on it, and it ends when its session is closed. What it has
not done the next search does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ctxd.model.errors import CtxdError
from ctxd.service.recall.searching import fill_outputs
from ctxd.service.session import Session

LARGE_BYTES = 1024 * 1024
"""An output of so many bytes, or more, is indexed at once: it takes a second for some 5 MB."""


class Upkeep:
    """The tasks of a daemon that fill indexes."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    def begin(self, session: Session, sizes: Iterable[int]) -> None:
        """Fill the index of a session that has just taken outputs of these sizes, if one of them is large."""
        running = self._running.get(session.session_id)
        if max(sizes, default=0) < LARGE_BYTES or not session.writable or (running and not running.done()):
            return
        self._running[session.session_id] = asyncio.create_task(_fill(session))

    async def end(self, session: Session) -> None:
        """Stop filling the index of a session that is about to be closed."""
        running = self._running.pop(session.session_id, None)
        if running is not None:
            session.output_index.stop()
            running.cancel()
            await asyncio.wait([running])
            await asyncio.to_thread(session.output_index.close)


async def _fill(session: Session) -> None:
    try:
        async with session.search_lock:
            await fill_outputs(session)
    except CtxdError:
        # Nobody waits for it; the next search meets the same error and says it.
        return
