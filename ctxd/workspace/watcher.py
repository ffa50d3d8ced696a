"""Touched files, watched: hints from the system, and the truth by looking.

A hint only says where to look soon. Every followed file is looked at again now and then, so hints that
were lost, merged or never came delay a change and hide none. Only folders that lead to followed files are
watched: what a workspace holds beside them costs nothing. Where the system gives no more watches, looking
is all there is, and that is said.

Must not know sessions, nor what a change means. One thread, which ends with `close`.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from threading import Event, Lock, Thread
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import CtxdError
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.generated import is_ignored

SWEEP_SECONDS = 20.0
"""Every followed file is looked at this often, whatever was hinted."""

POLL_SECONDS = 2.0
"""The same without watches."""

RETRY_SECONDS = 60.0
"""How long to do without watches before asking for them again."""

TICK_MS = 1_000
"""New files are taken in at least this often."""

STEP_MS = 100
DEBOUNCE_MS = 1_000
"""Hints are gathered until none came for a step, at most so long."""

CLOSE_SECONDS = 2.0
"""The thread ends within a step, unless a disk holds it."""

MAX_FILES = 10_000
MAX_FOLDERS = 2_000
"""Bounds of what is followed for one workspace, and of what is watched at all; the newest count."""

MANY_HINTS = 2_000
"""With more hints at once everything is looked at, without asking which."""

Kind: TypeAlias = Literal["added", "modified", "deleted", "moved"]
State: TypeAlias = tuple[int, int, int, int, int]


class Change(msgspec.Struct, frozen=True):
    """What became of a followed file; `path` is relative to its workspace, as is `to` of one that moved."""

    path: str
    kind: Kind
    to: str = ""


class Watcher:
    """Tells what becomes of followed files.

    `tell(root, changes)` and `warn(sentence)` are called in the watcher's thread.
    """

    def __init__(
        self, tell: Callable[[str, list[Change]], None], warn: Callable[[str], None], *, native: bool = True
    ) -> None:
        """Without `native` files are only looked at now and then."""
        self._tell = tell
        self._warn = warn
        self._native = native
        self._sights: dict[str, _Sight] = {}
        self._sources: dict[str, tuple[str, Callable[[], Iterable[str]]]] = {}
        self._lock = Lock()
        self._stop = Event()
        self._thread: Thread | None = None
        self._warned = False

    def follow(self, key: str, root: str, more: Callable[[], Iterable[str]]) -> None:
        """Follow files of a workspace until `forget(key)`. Returns at once.

        `more` is called now and then, in the watcher's thread, for paths not given before; relative to the
        workspace, oldest first.
        """
        with self._lock:
            self._sources[key] = (root, more)
            if self._thread is None and not self._stop.is_set():
                self._thread = Thread(target=self._run, name="ctxd-watcher", daemon=True)
                self._thread.start()

    def forget(self, key: str) -> None:
        """Follow the files of `key` no more, but for those that others follow."""
        with self._lock:
            self._sources.pop(key, None)

    def close(self) -> None:
        """End the thread. Blocking, for a step at most; a disk that hangs is not waited for."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    if self._native and (folders := self._take_in()):
                        self._watch(folders)
                    else:
                        self._poll(TICK_MS / 1000 if self._native else POLL_SECONDS)
                except Exception as error:  # noqa: BLE001 - a defect must not end what nobody else looks after
                    self._warn_once(
                        f"watching files failed with {type(error).__name__}; they are looked at again"
                    )
                    self._stop.wait(POLL_SECONDS)
        finally:
            for sight in self._sights.values():
                sight.close()

    def _watch(self, folders: frozenset[str]) -> None:
        """Wait for hints about these folders, as long as they are the right ones."""
        # Heavy to import, and a daemon whose sessions touch no files never needs it.
        from watchfiles import watch

        swept = 0.0
        try:
            for hints in watch(
                *folders,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                rust_timeout=TICK_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                recursive=False,
                raise_interrupt=False,
                # True would pass over a limit too, and watch nothing in silence.
                ignore_permission_denied=False,
                debug=False,
            ):
                due = time.monotonic() - swept > SWEEP_SECONDS
                if due:
                    swept = time.monotonic()
                self._look([path for _, path in hints], everything=due or len(hints) > MANY_HINTS)
                if self._take_in() != folders:
                    return
        except FileNotFoundError:
            # A folder went between looking and watching.
            self._poll(POLL_SECONDS)
        except (OSError, RuntimeError) as error:
            # The library says OSError for too few watches, and an error of its own for too few instances.
            self._warn_once(f"files cannot be watched ({_why(error)}); they are looked at every few seconds")
            end = time.monotonic() + RETRY_SECONDS
            while time.monotonic() < end and not self._stop.is_set():
                self._poll(POLL_SECONDS)

    def _warn_once(self, sentence: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(sentence)

    def _poll(self, seconds: float) -> None:
        self._stop.wait(seconds)
        self._take_in()
        self._look([], everything=True)

    def _take_in(self) -> frozenset[str]:
        """Follow what is new, let go what nobody follows; the folders to watch."""
        with self._lock:
            sources = dict(self._sources)
        for root in [root for root in self._sights if root not in {r for r, _ in sources.values()}]:
            self._sights.pop(root).close()
        for key, (root, more) in sources.items():
            self._sights.setdefault(root, _Sight(root)).add(key, more())
        for sight in self._sights.values():
            sight.keep(sources.keys())
        wanted = [folder for sight in self._sights.values() for folder in sight.folders()]
        return frozenset(wanted[:MAX_FOLDERS])

    def _look(self, hints: list[str], *, everything: bool) -> None:
        for root, sight in self._sights.items():
            if changes := sight.look(hints, everything=everything):
                self._tell(root, changes)


class _Sight:
    """The followed files of one workspace, as they were when last looked at."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._boundary: Boundary | None = None
        self._files: dict[str, State | None] = {}
        self._owners: dict[str, dict[str, None]] = {}
        self._above: dict[str, None] = {}
        self._folders: list[str] | None = None

    def close(self) -> None:
        if self._boundary is not None:
            self._boundary.close()
            self._boundary = None

    def add(self, key: str, paths: Iterable[str]) -> None:
        """Follow files as they are now; paths that are never shown are left out."""
        owned = self._owners.setdefault(key, {})
        held = self._open()
        for path in paths:
            if path in owned or is_ignored(path):
                continue
            owned[path] = None
            if path not in self._files:
                self._files[path] = _state(held, path)
                self._folders = None
        while len(owned) > MAX_FILES:
            del owned[next(iter(owned))]
            self._folders = None

    def keep(self, keys: Iterable[str]) -> None:
        """Let go of what only others than these follow."""
        for key in self._owners.keys() - set(keys):
            del self._owners[key]
            self._folders = None
        if self._folders is None:
            left = {path for owned in self._owners.values() for path in owned}
            self._files = {path: state for path, state in self._files.items() if path in left}

    def folders(self) -> list[str]:
        """Every folder from the root to a followed file, as far as they are there; the newest's first."""
        if self._folders is None:
            held = self._open()
            self._above = dict.fromkeys(
                str(folder) for path in reversed(self._files) for folder in PurePosixPath(path).parents
            )
            there = [name for name in self._above if _is_folder(held, name)]
            paths = [_join(held, name) for name in there] if held is not None else []
            self._folders = [path for path in paths if os.access(path, os.R_OK)]
        return self._folders

    def look(self, hints: list[str], *, everything: bool) -> list[Change]:
        """Look at files that were hinted at, or at all; what changed since the last look."""
        held = self._open()
        near = [path for hint in hints if (path := _below(held, hint)) is not None]
        if any(path in self._above for path in near):
            everything, self._folders = True, None
        changes: list[Change] = []
        lost: dict[tuple[int, int], str] = {}
        for path in list(self._files) if everything else [path for path in near if path in self._files]:
            before, now = self._files[path], _state(held, path)
            if before == now:
                continue
            self._files[path] = now
            if now is not None:
                changes.append(Change(path, "added" if before is None else "modified"))
            elif before is not None:
                lost[before[:2]] = path
            self._folders = None
        went = {}
        for place in [*near[:MANY_HINTS], *(change.path for change in changes)] if lost else ():
            state = _state(held, place)
            if state is not None and (path := lost.get(state[:2], "")):
                went[path] = place
        moved = [
            Change(path, "moved" if path in went else "deleted", went.get(path, "")) for path in lost.values()
        ]
        return [*changes, *moved]

    def _open(self) -> Boundary | None:
        """The workspace as it is now; None while there is none."""
        if self._boundary is not None and self._boundary.is_replaced():
            self.close()
        if self._boundary is None:
            try:
                self._boundary = Boundary(self._root)
            except CtxdError:
                return None
        return self._boundary


def _state(held: Boundary | None, path: str) -> State | None:
    """What is there; None for nothing, and for what may not be looked at."""
    if held is None:
        return None
    try:
        found = held.look(path)
    except CtxdError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _is_folder(held: Boundary | None, name: str) -> bool:
    try:
        return held is not None and stat.S_ISDIR(held.look(name).st_mode)
    except CtxdError:
        return False


def _join(held: Boundary, name: str) -> str:
    return held.real if name == "." else f"{held.real.rstrip('/')}/{name}"


def _below(held: Boundary | None, path: str) -> str | None:
    """A hint's path relative to the root; None for another workspace's."""
    if held is None:
        return None
    if path == held.real:
        return "."
    prefix = held.real.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _why(error: Exception) -> str:
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else "the system has no watches left"
