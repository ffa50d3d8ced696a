"""The folder of memory files: read, changed and listed, while other daemons and people's editors do too.

Daemons exclude each other by a lock on the folder itself. A person's editor knows no lock: a file that was
changed since it was read is never replaced unseen, what an editor still writes into a file that was
replaced is merged, and an entry that an editor overwrote without having seen it is put back. A version
that is replaced by one without all it said goes to the ledger first. Must not know entries' meaning.
Blocking; safe from any thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from ctxd.core.merging import keeps
from ctxd.core.notes import Edit
from ctxd.core.topics import SUFFIX, topic_key, topic_of
from ctxd.model.errors import Busy, CtxdError, TooLarge
from ctxd.store.files import names_in, open_folder, storage_errors, sync_folder
from ctxd.store.layout import Layout
from ctxd.store.ledger import Ledger
from ctxd.store.memory.files import (
    MAX_BYTES,
    Version,
    encode,
    open_regular,
    read_version,
    settled,
    state_of,
    sweep,
    take_in,
    write_temporary,
)
from ctxd.store.memory.settling import SETTLE_SECONDS, Settling
from ctxd.store.swap import exchange, place_new

FOLDER = "memory"

LOCK_SECONDS = 10.0
_ATTEMPTS = 50
_PAUSE_SECONDS = 0.004


class TopicFile(msgspec.Struct, frozen=True):
    """A topic in a listing; `modified_at` is ms since 1970. `state` differs once the file was changed."""

    name: str
    bytes: int
    modified_at: int
    state: tuple[int, ...]


def open_in_state(layout: Layout, create: bool) -> int | None:
    """The folder of memory files in a workspace's state; None where there is none and none is made."""
    root = open_folder(layout.folder)
    try:
        return open_folder(FOLDER, dir_fd=root, create=create)
    except FileNotFoundError:
        return None
    finally:
        os.close(root)


class MemoryFolder:
    """One folder of topics.

    `enter(create)` opens it, or answers None where it is not there and must not be made; `mode` is given to
    new files. `is_wiped` says whether lines added to a topic so many seconds ago went on purpose since.
    """

    def __init__(
        self,
        enter: Callable[[bool], int | None],
        ledger: Ledger,
        *,
        mode: int,
        is_wiped: Callable[[str, float], bool],
    ) -> None:
        self._enter = enter
        self._ledger = ledger
        self._mode = mode
        self._mutex = threading.RLock()
        self._settling = Settling(is_wiped)
        self._timer: threading.Timer | None = None
        self._depth = 0
        self._own: dict[str, tuple[int, ...]] = {}
        self._swept = False
        self._made = False

    def read(self, topic: str) -> Version | None:
        """The topic as it is now; None where there is none. Raises the refusals of unsafe files."""
        if topic in self._settling.topics:
            # A reader must not wait for a writer: what is not settled now is later.
            with contextlib.suppress(Busy), self.locked():
                self._settle(topic)
        with self._open(create=False) as folder, storage_errors("read the topic"):
            return None if folder is None else read_version(folder, topic + SUFFIX)

    def topics(self) -> list[TopicFile]:
        """All topics by name, the index among them. What is no plain file, links included, is left out."""
        found = []
        with self._open(create=False) as folder, storage_errors("list the topics"):
            for file in names_in(folder) if folder is not None else ():
                name = topic_of(file)
                if name is None or folder is None:
                    continue
                with contextlib.suppress(FileNotFoundError):
                    s = os.stat(file, dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISREG(s.st_mode) and s.st_nlink == 1:
                        state = (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
                        found.append(TopicFile(name, s.st_size, s.st_mtime_ns // 1_000_000, state))
        return sorted(found, key=lambda topic: topic.name)

    def name_on_disk(self, topic: str) -> str:
        """The name the topic has where it exists: one that differs in case or form only is the same."""
        key = topic_key(topic)
        return next((found.name for found in self.topics() if topic_key(found.name) == key), topic)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other daemons out for several changes that belong together. Raises Busy after 10 s."""
        with self._mutex:
            if self._depth:
                yield
                return
            with self._open(create=True) as folder:
                assert folder is not None
                with storage_errors("lock the memory folder"):
                    _lock(folder)
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                    fcntl.flock(folder, fcntl.LOCK_UN)

    def change(
        self, topic: str, edit: Edit, *, added: Callable[[], Sequence[str]] | None = None
    ) -> tuple[Version | None, Version | None]:
        """Replace the topic by what `edit` makes of it; the versions before and after.

        `edit` may be called again when somebody changed the file meanwhile; what it raises ends the change.
        `added` names lines that must still be there a while later; without it no line must. Raises Busy,
        StorageFull, StorageFailed, and the refusals of unsafe files.
        """
        with self.locked():
            if added is None:
                self._settling.forget(topic)
            self._settle(topic)
            before, after = self._replace(topic, edit)
            if added is not None and after is not None:
                self._settling.expect(topic, added())
                self._schedule()
            return before, after

    def delete(self, topic: str) -> Version | None:
        """Delete the topic, its bytes kept in the ledger; what it was, None where there was none."""
        with self.locked(), self._open(create=False) as folder, storage_errors("delete the topic"):
            version = None if folder is None else read_version(folder, topic + SUFFIX)
            if folder is None or version is None:
                return None
            self._settling.forget(topic)
            self._ledger.put(encode(version.text))
            os.unlink(topic + SUFFIX, dir_fd=folder)
            sync_folder(folder)
            return version

    def settle(self) -> None:
        """Merge what editors wrote into replaced files, and put back what they overwrote unseen."""
        if self._settling.topics:
            with self.locked():
                for topic in sorted(self._settling.topics):
                    self._settle(topic)

    def close(self) -> None:
        """Settle once more and let go; calling again does nothing."""
        with contextlib.suppress(CtxdError):
            self.settle()
        with self._mutex:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._settling.close()

    @contextlib.contextmanager
    def _open(self, *, create: bool) -> Iterator[int | None]:
        with storage_errors("open the memory folder"):
            # Making it, or its name durable, costs syncs: once is enough while it is there.
            folder = None if create and not self._made else self._enter(False)
            if folder is None and create:
                folder = self._enter(True)
                self._made = True
        try:
            yield folder
        finally:
            if folder is not None:
                os.close(folder)

    def _replace(self, topic: str, edit: Edit) -> tuple[Version | None, Version | None]:
        name = topic + SUFFIX
        with self._open(create=True) as folder, storage_errors("write the topic"):
            assert folder is not None
            if not self._swept:
                sweep(folder)
                self._swept = True
            for _ in range(_ATTEMPTS):
                with settled(folder, name, self._own.get(topic, ())) as seen:
                    text = edit(None if seen is None else seen.text)
                    if text is None or (seen is not None and text == seen.text):
                        return seen, seen
                    if len(encode(text)) > MAX_BYTES:
                        raise TooLarge("the topic would be too large", limit=MAX_BYTES)
                    if seen is not None and not keeps(seen.text, text):
                        self._ledger.put(encode(seen.text))
                    placed = self._put(folder, topic, seen, text)
                if placed:
                    after = read_version(folder, name)
                    self._own[topic] = after.state if after is not None and after.text == text else ()
                    return seen, after
        raise Busy("somebody changes this topic all the time", hint="try again")

    def _put(self, folder: int, topic: str, seen: Version | None, text: str) -> bool:
        """Put the text in the place of what was seen; False when that is not there any more."""
        name = topic + SUFFIX
        temporary, own = write_temporary(folder, encode(text), name, self._mode)
        try:
            if seen is None:
                place_new(folder, temporary, name)
                sync_folder(folder)
                return True
            if state_of(folder, name) != seen.state:
                # A look before the leap: what was changed by now need not be displaced to be noticed.
                os.unlink(temporary, dir_fd=folder)
                return False
            if not exchange(folder, temporary, name):
                return self._put_by_rename(folder, temporary, name, seen)
            fd = open_regular(folder, temporary)
            displaced = take_in(fd)
            if displaced.digest == seen.digest:
                self._settling.hold(topic, fd, displaced)
                self._schedule()
                os.unlink(temporary, dir_fd=folder)
                sync_folder(folder)
                return True
            os.close(fd)
            # Somebody else's version was displaced: back with it, until what lies here is ours. Whoever
            # read ours in between has not seen what the other added.
            self._settling.expect_new(topic, seen.text, displaced.text)
            self._schedule()
            exchange(folder, temporary, name)
            if os.stat(temporary, dir_fd=folder, follow_symlinks=False).st_ino != own:
                exchange(folder, temporary, name)
            os.unlink(temporary, dir_fd=folder)
        except (FileExistsError, FileNotFoundError):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
        return False

    def _put_by_rename(self, folder: int, temporary: str, name: str, seen: Version) -> bool:
        """Where names cannot be exchanged, the last look is just before the rename."""
        fd = open_regular(folder, name)
        now = take_in(fd)
        if now.digest != seen.digest:
            os.close(fd)
            os.unlink(temporary, dir_fd=folder)
            return False
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        self._settling.hold(name.removesuffix(SUFFIX), fd, now)
        self._schedule()
        sync_folder(folder)
        return True

    def _settle(self, topic: str) -> None:
        """The caller holds the lock."""
        with self._open(create=True) as folder, storage_errors("read the topic"):
            assert folder is not None
            state = state_of(folder, topic + SUFFIX)
        unchanged = state is not None and state == self._own.get(topic)
        self._settling.settle(topic, self._replace, unchanged=unchanged)

    def _schedule(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(SETTLE_SECONDS + 0.05, self._wake)
            self._timer.daemon = True
            self._timer.start()

    def _wake(self) -> None:
        with self._mutex:
            self._timer = None
        # What is wrong is said by the next call, which tries again.
        with contextlib.suppress(CtxdError, OSError):
            self.settle()
        with self._mutex:
            if self._settling.topics:
                self._schedule()


def _lock(folder: int) -> None:
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise Busy("another process is changing the memory", hint="try again") from None
            time.sleep(_PAUSE_SECONDS)
        else:
            return
