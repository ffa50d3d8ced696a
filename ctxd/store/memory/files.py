"""Reading and writing single memory files, whoever else has them open. Blocking.

Owns what is refused (links, other names, what is no file) and noticing that a file changed while it was
read. Folders are descriptors that the caller has checked.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator

import msgspec

from ctxd.model.errors import NotRegularFile, OutsideWorkspace, SymlinkRefused, TooLarge
from ctxd.store.files import FILE_MODE, read_exactly, sync_file, write_all
from ctxd.store.open_files import keep_writers_out

MAX_BYTES = 8 * 1024 * 1024
"""A larger file is read by nobody and changed by nobody."""

TEMPORARY = ".ctxd-tmp-"

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READS = 8
_LOOKS = 100
_FRESH_NS = 20_000_000
_PAUSE_SECONDS = 0.004
_STALE_SECONDS = 3600


class Version(msgspec.Struct, frozen=True):
    """A file as it was read. `text` keeps bytes that are no UTF-8 as lone surrogates.

    `digest` is `sha256:<hex>` of its bytes; `state` differs once the file was changed or replaced.
    """

    text: str
    digest: str
    state: tuple[int, ...]

    @property
    def written(self) -> tuple[int, ...]:
        """What `written_state` said of the file when it was read."""
        return self.state[2:]

    @property
    def shown(self) -> str:
        """The text as it may be shown: what is no UTF-8 is replaced."""
        return encode(self.text).decode("utf-8", "replace")


def encode(text: str) -> bytes:
    """The bytes of a file's text; a lone surrogate that came from no file becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def digest_of(text: str) -> str:
    """The digest a file of that text has."""
    return "sha256:" + hashlib.sha256(encode(text)).hexdigest()


def read_version(folder: int, name: str) -> Version | None:
    """The file as it is now; None where there is none.

    Raises SymlinkRefused, NotRegularFile, OutsideWorkspace for one that has another name, TooLarge, OSError.
    """
    try:
        fd = open_regular(folder, name)
    except FileNotFoundError:
        return None
    try:
        return take_in(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def settled(folder: int, name: str, own: tuple[int, ...]) -> Iterator[Version | None]:
    """The file at a moment when nobody writes to it, and nobody begins to until the block ends.

    Where the system cannot tell, a file that was written a moment ago is looked at until it stays as it
    is. One that somebody writes to all the time is taken as it is in the end. `own` is the state this
    process left. Raises as `read_version`.
    """
    fd = -1
    try:
        for left in reversed(range(_LOOKS)):
            try:
                fd = open_regular(folder, name)
            except FileNotFoundError:
                break
            writers = keep_writers_out(fd)
            fresh = abs(time.time_ns() - os.fstat(fd).st_mtime_ns) < _FRESH_NS
            mine = _state(os.fstat(fd)) == own
            if left == 0 or writers == "keptOut" or (writers == "unknown" and (mine or not fresh)):
                break
            os.close(fd)
            fd = -1
            time.sleep(_PAUSE_SECONDS)
        yield None if fd < 0 else take_in(fd)
    finally:
        if fd >= 0:
            os.close(fd)


def open_regular(folder: int, name: str) -> int:
    """Open a regular file that has no other name. Opening a device or a pipe would have effects."""
    for _ in range(_READS):
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            raise SymlinkRefused("the topic is a symbolic link")
        if not stat.S_ISREG(seen.st_mode):
            raise NotRegularFile("the topic is no regular file")
        if seen.st_nlink > 1:
            raise OutsideWorkspace(
                "the topic has another name, which may lie outside", hint="copy it instead"
            )
        try:
            fd = os.open(name, _READ, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                continue
            raise
        found = os.fstat(fd)
        if (found.st_dev, found.st_ino) == (seen.st_dev, seen.st_ino):
            return fd
        os.close(fd)
    raise NotRegularFile("the topic was replaced again and again while it was being opened")


def take_in(fd: int) -> Version:
    """All of an open file, read again while it changes. Raises TooLarge, OSError."""
    for attempt in range(_READS):
        before = os.fstat(fd)
        if before.st_size > MAX_BYTES:
            raise TooLarge("the topic is too large", limit=MAX_BYTES, bytes=before.st_size)
        data = read_exactly(fd, before.st_size, 0)
        if written_state(fd) == _written(before) and len(data) == before.st_size:
            break
        if attempt:
            time.sleep(_PAUSE_SECONDS)
    text = data.decode("utf-8", "surrogateescape")
    return Version(text, "sha256:" + hashlib.sha256(data).hexdigest(), _state(before))


def written_state(fd: int) -> tuple[int, ...]:
    """What differs once somebody wrote to an open file; names given and taken do not count."""
    return _written(os.fstat(fd))


def state_of(folder: int, name: str) -> tuple[int, ...] | None:
    """The state of a file without reading it; None where there is none."""
    try:
        return _state(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def write_temporary(folder: int, data: bytes, name: str, mode: int) -> tuple[str, int]:
    """Write bytes durably under a name of its own, with the permissions `name` has, else `mode`.

    Returns that name and the inode.
    """
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    temporary = f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
    fd = os.open(temporary, _CREATE, FILE_MODE, dir_fd=folder)
    try:
        os.fchmod(fd, mode)
        write_all(fd, [data])
        sync_file(fd)
        return temporary, os.fstat(fd).st_ino
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(fd)


def sweep(folder: int) -> None:
    """Remove temporary files that a process left when it died."""
    oldest = time.time() - _STALE_SECONDS
    with os.scandir(folder) as entries:
        stale = [
            e.name
            for e in entries
            if e.name.startswith(TEMPORARY) and e.stat(follow_symlinks=False).st_mtime < oldest
        ]
    for name in stale:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _state(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _written(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_size, found.st_mtime_ns)
