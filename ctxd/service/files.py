"""The files of one session's workspace, as far as they may be read: its boundary, held once it is open.

Everything here blocks and belongs in a worker thread. A file system that does not answer holds up one
thread of this session and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import msgspec

from ctxd.compaction.restoration import Rejected
from ctxd.core.paths import normalize
from ctxd.core.recent import Touch, recent
from ctxd.model.errors import CtxdError
from ctxd.model.messages import MessageFacts
from ctxd.model.settings import WorkspaceOptions
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.reader import Head, read_head

ATTEMPTS = 100
"""Paths tried, so that a session full of files that may not be shown costs a bounded time."""


class Reading(msgspec.Struct, frozen=True):
    """Recent files that may be shown, newest touch first, and those that may not with the reason."""

    files: tuple[tuple[Touch, Head], ...] = ()
    rejected: tuple[Rejected, ...] = ()


class Files:
    """One reader at a time; a second one finds it busy rather than wait for a disk that hangs."""

    def __init__(self) -> None:
        self._boundary: Boundary | None = None
        self._lock = Lock()

    def read_recent(
        self, transcript: Sequence[MessageFacts], workspace: str, options: WorkspaceOptions
    ) -> Reading:
        """The newest touched files that may be shown, at most `options.restore_files`. Never raises."""
        touches = [_below(touch, workspace) for touch in recent(transcript, workspace)[:ATTEMPTS]]
        if not touches:
            return Reading()
        if not self._lock.acquire(blocking=False):
            return _none(touches, "busy")
        try:
            return _read(self._open(workspace), touches, options)
        except CtxdError as error:
            return _none(touches, error.kind)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Let the workspace go; a reader that hangs keeps its own."""
        if self._lock.acquire(blocking=False):
            if self._boundary is not None:
                self._boundary.close()
                self._boundary = None
            self._lock.release()

    def _open(self, workspace: str) -> Boundary:
        if self._boundary is not None and self._boundary.is_replaced():
            self._boundary.close()
            self._boundary = None
        if self._boundary is None:
            self._boundary = Boundary(workspace)
        return self._boundary


def _below(touch: Touch, workspace: str) -> Touch:
    """The touch with its path relative to the workspace, where it lies below it."""
    root = normalize(workspace, "/").rstrip("/") + "/"
    return msgspec.structs.replace(touch, path=touch.path.removeprefix(root))


def _none(touches: Sequence[Touch], reason: str) -> Reading:
    return Reading(rejected=tuple(Rejected(touch.path, reason) for touch in touches))


def _read(boundary: Boundary, touches: Sequence[Touch], options: WorkspaceOptions) -> Reading:
    files: list[tuple[Touch, Head]] = []
    rejected: list[Rejected] = []
    for touch in touches:
        if len(files) == options.restore_files:
            break
        try:
            head = read_head(
                boundary, touch.path, max_lines=options.restore_lines, max_bytes=options.restore_bytes
            )
        except CtxdError as error:
            rejected.append(Rejected(touch.path, error.kind))
            continue
        if isinstance(head, Head):
            files.append((touch, head))
        else:
            rejected.append(Rejected(touch.path, head))
    return Reading(tuple(files), tuple(rejected))
