"""The one thread that makes records durable, for all sessions of the daemon (D1).

Owns group commit: whatever was queued while the disk was busy is committed together, one commit per
log, then every waiting append is answered. The event loop never waits for the disk. Must not know
how a log commits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from ctxd.model.errors import StorageFailed
from ctxd.model.records import Draft, Record


class _Outcome(asyncio.Future[list[Record]]):
    """What is on its way to the disk cannot be taken back: cancelling waits for it like everybody else."""

    def cancel(self, msg: Any = None) -> bool:
        return False


class Append:
    """Drafts on their way to the disk, and what became of them: `records` or `error`."""

    __slots__ = ("_future", "_loop", "drafts", "error", "records")

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.drafts = drafts
        self.records: list[Record] = []
        self.error: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._future = _Outcome(loop=self._loop)

    async def wait(self) -> list[Record]:
        """The records, once durable. Raises the error.

        What is on its way to the disk cannot be taken back, and whoever wrote it must take it in: a
        cancellation that comes meanwhile comes too late and is dropped.
        """
        try:
            return await self._future
        except asyncio.CancelledError:
            if not self._future.done() or (task := asyncio.current_task()) is None:
                raise
            task.uncancel()
        return self._future.result()

    def answer(self) -> None:
        """Wake the waiting task, from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._resolve)
        except RuntimeError:
            # The loop is closed: nobody waits any more.
            return

    def _resolve(self) -> None:
        if self._future.done():
            return
        if self.error is not None:
            self._future.set_exception(self.error)
        else:
            self._future.set_result(self.records)


class Committer(Protocol):
    """A log, seen from the writer."""

    def commit(self, group: Sequence[Append]) -> None:
        """Make the group durable in order; set `records` or `error` on each. Raises nothing of its own."""
        ...


class Writer:
    """The writer thread. One per daemon; `close()` ends it after what was submitted."""

    def __init__(self) -> None:
        self._is_closed = False
        self._queue: SimpleQueue[tuple[Committer, Append] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ctxd-writer", daemon=True)
        self._thread.start()

    async def append(self, log: Committer, drafts: Sequence[Draft]) -> list[Record]:
        """Have the log commit the drafts. Returns their records when they are durable.

        Raises what the log's commit raised, StorageFailed once closed.
        """
        if self._is_closed:
            raise StorageFailed("the store is closed")
        append = Append(drafts)
        self._queue.put((log, append))
        return await append.wait()

    def close(self) -> None:
        """Commit what is queued and end the thread. Blocking."""
        self._is_closed = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while self._commit_round():
            # Nothing of a round may live on here: its bodies would stay in memory until the next one.
            pass

    def _commit_round(self) -> bool:
        """Wait for appends and commit all that are queued. False when the thread shall end."""
        entries = [self._queue.get(), *self._drain()]
        groups: dict[int, tuple[Committer, list[Append]]] = {}
        for entry in entries:
            if entry is not None:
                groups.setdefault(id(entry[0]), (entry[0], []))[1].append(entry[1])
        for log, group in groups.values():
            _commit(log, group)
        return None not in entries

    def _drain(self) -> list[tuple[Committer, Append] | None]:
        drained: list[tuple[Committer, Append] | None] = []
        try:
            while True:
                drained.append(self._queue.get_nowait())
        except Empty:
            return drained


def _commit(log: Committer, group: Sequence[Append]) -> None:
    try:
        log.commit(group)
    except Exception as error:  # noqa: BLE001 - whatever went wrong belongs to those who wait, never to the thread
        for append in group:
            append.error = append.error or error
    for append in group:
        append.answer()
