"""What becomes of files that sessions touched: told to a host that wants to know, as it happens.

Whether a file changed since a session saw it is never taken from here: that is told by looking at the file
(`service/files/restoring`), at 30 µs each, and needs no watch to be right.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctxd.core.paths import inside, normalize
from ctxd.core.recent import named
from ctxd.model.events import AnyEvent, FileTouched, MessagesAppended
from ctxd.service.host import Host
from ctxd.workspace.watcher import Change, Watcher

if TYPE_CHECKING:
    from ctxd.service.session import Session

_log = logging.getLogger("ctxd")

NEWEST_MESSAGES = 20_000
"""Of a long session's past only so many messages are searched for files to follow."""


class Watching:
    """One watcher for all sessions of a daemon, begun with the first file that is touched."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._watcher: Watcher | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._followed: set[str] = set()

    def note(self, session: Session, events: Sequence[AnyEvent]) -> None:
        """Follow the files of a session once it touches any. On the loop; returns at once."""
        if not (self._host.follows_files and session.environment.settings.workspace.watch):
            return
        if session.session_id not in self._followed and any(_touches(event) for event in events):
            self.follow(session)

    def follow(self, session: Session) -> None:
        """Follow every file the session touched and will touch, until `forget`."""
        created = session.state.created
        if created is None or not self._host.follows_files:
            return
        if not session.environment.settings.workspace.watch or not (
            session.state.transcript or session.state.touched
        ):
            return
        if self._watcher is None:
            self._loop = asyncio.get_running_loop()
            self._watcher = Watcher(self._tell, self._warn)
        self._followed.add(session.session_id)
        self._watcher.follow(session.session_id, created.workspace, _Paths(session))

    def forget(self, session: Session) -> None:
        """The session was closed."""
        self._followed.discard(session.session_id)
        if self._watcher is not None:
            self._watcher.forget(session.session_id)

    def close(self) -> None:
        """End the watcher. Blocking."""
        if self._watcher is not None:
            self._watcher.close()

    def _tell(self, workspace: str, changes: list[Change]) -> None:
        self._call(self._host.files_changed, workspace, changes)

    def _warn(self, sentence: str) -> None:
        _log.warning("%s", sentence)
        self._call(self._host.warn, sentence)

    def _call(self, call: Callable[..., None], *args: object) -> None:
        """From the watcher's thread to the loop's. Once that has ended nobody is there to be told."""
        assert self._loop is not None
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *args)


class _Paths:
    """The paths a session touched that were not given yet, relative to its workspace."""

    def __init__(self, session: Session) -> None:
        self._state = session.state
        self._messages = max(0, len(session.state.transcript) - NEWEST_MESSAGES)
        self._told = 0

    def __call__(self) -> list[str]:
        state = self._state
        if state.created is None:
            return []
        root = state.created.workspace
        stop, told = len(state.transcript), len(state.touched)
        paths = list(named(state.transcript[self._messages : stop]))
        paths += [touch.path for touch in state.touched[self._told : told]]
        self._messages, self._told = stop, told
        found = (inside(normalize(path, root, state.former), root) for path in paths)
        return [path for path in found if path is not None]


def _touches(event: AnyEvent) -> bool:
    match event:
        case FileTouched():
            return True
        case MessagesAppended(messages=messages):
            return any(True for _ in named(messages))
        case _:
            return False
