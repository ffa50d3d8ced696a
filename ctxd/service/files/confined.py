"""The files of one session's workspace, as far as they may be read: its roots, held once they are open.

What blocks runs in a worker thread, one reader at a time. A file system that does not answer holds up one
thread of this session and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

import anyio
import msgspec

from ctxd.compaction.restoration import Rejected
from ctxd.core.paths import inside
from ctxd.core.recent import Touch
from ctxd.model.errors import Busy, CtxdError, Timeout
from ctxd.model.settings import WorkspaceOptions
from ctxd.workspace.reader import Head, read_head
from ctxd.workspace.roots import Roots

T = TypeVar("T")

READ_SECONDS = 5.0
"""A local file system answers in a thousandth of this."""

PATIENCE = 0.25
"""Seconds for a reader whose caller went away to come to its end."""

ATTEMPTS = 1_000
TRYING_SECONDS = 2.0
"""Bounds of looking for files that may be shown, in a session full of those that may not."""


class Reading(msgspec.Struct, frozen=True):
    """Recent files that may be shown, newest touch first, and those that may not with the reason."""

    files: tuple[tuple[Touch, Head], ...] = ()
    rejected: tuple[Rejected, ...] = ()


class Files:
    """The roots of a session's workspace. `beside` tells the other roots of the one at a path."""

    def __init__(self, beside: Callable[[str], tuple[str, ...]]) -> None:
        self._beside = beside
        self._roots: Roots | None = None
        self._turn = anyio.Lock()
        self._lock = Lock()

    async def use(self, workspace: str, work: Callable[[Roots], T]) -> T:
        """Do something with the workspace's roots, in a worker thread.

        Raises Timeout when the disk does not answer, Busy while an earlier reader still waits for it,
        NotFound and OutsideWorkspace where there is no workspace, and what `work` raises.
        """
        async with self._turn:
            with anyio.move_on_after(READ_SECONDS):
                return await anyio.to_thread.run_sync(self._use, workspace, work, abandon_on_cancel=True)
            raise Timeout("the workspace's file system did not answer in time")

    def close(self) -> None:
        """Let the workspace go; a reader that hangs keeps its own."""
        if self._lock.acquire(blocking=False):
            if self._roots is not None:
                self._roots.close()
                self._roots = None
            self._lock.release()

    def _use(self, workspace: str, work: Callable[[Roots], T]) -> T:
        if not self._lock.acquire(timeout=PATIENCE):
            raise Busy("the workspace's file system does not answer", hint="try again later")
        try:
            return work(self._open(workspace))
        finally:
            self._lock.release()

    def _open(self, workspace: str) -> Roots:
        held, others = self._roots, self._beside(workspace)
        if held is not None and (held.key != (workspace, *others) or held.is_replaced()):
            held.close()
            self._roots = None
        if self._roots is None:
            self._roots = Roots(workspace, others)
        return self._roots


def below(path: str, workspace: str) -> str:
    """A touched path relative to the workspace, where it lies below it."""
    relative = inside(path, workspace)
    return path if relative is None else relative


def read_newest(roots: Roots, touches: Sequence[Touch], options: WorkspaceOptions, limit: int) -> Reading:
    """The newest touched files that may be shown, at most `limit`. Blocking; raises nothing.

    `touches` have paths relative to the workspace where they lie in it.
    """
    files: list[tuple[Touch, Head]] = []
    rejected: list[Rejected] = []
    end = time.monotonic() + TRYING_SECONDS
    for touch in touches[:ATTEMPTS]:
        if len(files) == limit or time.monotonic() > end:
            break
        try:
            boundary = roots.of(touch.path)
            head = read_head(
                boundary, touch.path, max_lines=options.restore_lines, max_bytes=options.restore_bytes
            )
        except CtxdError as error:
            rejected.append(Rejected(touch.path, error.kind))
            continue
        if isinstance(head, Head):
            files.append(
                (touch, msgspec.structs.replace(head, path=roots.name(boundary, head.path, touch.path)))
            )
        else:
            rejected.append(Rejected(touch.path, head))
    return Reading(tuple(files), tuple(rejected))
