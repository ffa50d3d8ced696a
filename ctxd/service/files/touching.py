"""`workspace/touch` and `workspace/recentFiles`: what a session touched, told by the host and told to it."""

from __future__ import annotations

import anyio
import msgspec

from ctxd.compaction.restoration import Rejected
from ctxd.core.freshness import Freshness
from ctxd.core.recent import Touch
from ctxd.model.errors import CtxdError, InvalidParams
from ctxd.model.events import FileTouched
from ctxd.model.messages import FileOp
from ctxd.service.files.restoring import excerpt, newest
from ctxd.service.session import Session, Written
from ctxd.workspace.boundary import MAX_PATH_BYTES


class RecentFile(msgspec.Struct, frozen=True):
    """A file that may be shown: `path` relative to the workspace, `accessed_at` milliseconds since 1970."""

    path: str
    op: FileOp
    accessed_at: int
    freshness: Freshness


class RecentFiles(msgspec.Struct, frozen=True):
    """The session's files, newest touch first, and newer ones that may not be shown with the reason."""

    files: tuple[RecentFile, ...]
    rejected: tuple[Rejected, ...]


async def touch(session: Session, path: str, op: FileOp) -> None:
    """Note that a file was read or changed; durable when this returns.

    Raises InvalidParams for what can be no path, SessionLocked, ReadOnly and the store's errors.
    """
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise InvalidParams.at("path", "a name that is no text cannot be kept") from None
    if "\0" in path or length > MAX_PATH_BYTES:
        raise InvalidParams.at("path", "no file can have this name")
    async with session.lane:
        await session.commit([Written(FileTouched(path=path, op=op))])


async def recent_files(session: Session, limit: int) -> RecentFiles:
    """The newest `limit` files that a compaction could show, as they are now."""
    async with session.lane:
        # A notification is answered by nobody; what was told before this was asked is in.
        pass
    reading = await newest(session, limit)
    files = []
    for touch, head in reading.files:
        found = await excerpt(session, touch, head)
        at = await anyio.to_thread.run_sync(_time, session, touch)
        files.append(RecentFile(found.path, touch.op, at, found.freshness))
    return RecentFiles(tuple(files), reading.rejected)


def _time(session: Session, touch: Touch) -> int:
    try:
        return touch.at or session.bodies.time_of(touch.answered)
    except CtxdError:
        return session.state.created_at
