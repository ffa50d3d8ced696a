"""The few file operations the store is made of, each with its durability and permission rule.

Owns: opening below a folder without following links (D11), writing whole (D1), syncing for real
(D1), and turning an OSError into the error a host can switch on (D9, D10). Must not know what the
bytes mean.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from ctxd.model.errors import StorageFailed, StorageFull, StoreError

FOLDER_MODE = 0o700
FILE_MODE = 0o600

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = {
    errno.ELOOP: "it is a symbolic link; the store follows none",
    errno.ENOTDIR: "it is no folder, or a symbolic link; the store follows none",
}
_IOV_MAX = 1024
_AT_ONCE = 1024 * 1024
"""Bytes of one write: Linux makes a call of 10 MB wait eight times as long as ten of 1 MB."""


def storage_error(error: OSError, action: str) -> StoreError:
    """The error a host sees: `StorageFull` for ENOSPC, EDQUOT and EFBIG, else `StorageFailed`.

    `action` says what was tried, in the infinitive. The fact `errno` carries the symbolic name.
    """
    number = error.errno or 0
    name = errno.errorcode.get(number, "unknown")
    message = f"cannot {action}: {os.strerror(number)}"
    if number in _FULL:
        return StorageFull(message, hint="free disk space; the next call tries again by itself", errno=name)
    return StorageFailed(message, hint=_REFUSED.get(number), errno=name)


@contextlib.contextmanager
def storage_errors(action: str) -> Iterator[None]:
    """Turn every OSError of the block into `storage_error(error, action)`."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, action) from error


if sys.platform == "darwin":

    def sync_file(fd: int) -> None:
        """Put the file's bytes on the medium (D1). On macOS fsync stops at the drive's cache."""
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)

else:

    def sync_file(fd: int) -> None:
        """Put the file's bytes, and the size needed to read them back, on the medium (D1)."""
        os.fdatasync(fd)


def sync_folder(fd: int) -> None:
    """Make names created, renamed or removed in the folder durable."""
    os.fsync(fd)


def write_all(fd: int, pieces: Sequence[bytes]) -> None:
    """Write all pieces in order at the file's position; short writes are continued. Raises OSError."""
    rest = [part for piece in pieces for part in _parts(piece)]
    first = 0
    while first < len(rest):
        sizes = accumulate(map(len, rest[first : first + _IOV_MAX]))
        last = first + max(1, sum(1 for size in sizes if size <= _AT_ONCE))
        written = os.writev(fd, rest[first:last])
        if written <= 0:
            raise OSError(errno.EIO, "nothing was written")
        while first < len(rest) and written >= len(rest[first]):
            written -= len(rest[first])
            first += 1
        if written:
            rest[first] = memoryview(rest[first])[written:]


def _parts(piece: bytes) -> list[bytes | memoryview]:
    if len(piece) <= _AT_ONCE:
        return [piece] if piece else []
    whole = memoryview(piece)
    return [whole[start : start + _AT_ONCE] for start in range(0, len(piece), _AT_ONCE)]


def open_folder(path: str | Path, *, dir_fd: int | None = None, create: bool = False) -> int:
    """Open a folder of ours and return its descriptor.

    With `create` a missing one is made with mode 0700 and its name made durable in its parent.
    Raises `StorageFailed` when it belongs to another user or can be written by group or others
    (D11), OSError for everything else; a symbolic link is ENOTDIR or ELOOP.
    """
    made = False
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, FOLDER_MODE, dir_fd=dir_fd)
            made = True
    if made:
        os.chmod(path, FOLDER_MODE, dir_fd=dir_fd)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        _refuse_foreign(os.fstat(fd), Path(path).name)
        if create:
            # Even when it was there: whoever made it may have died before its name was durable.
            _sync_parent(path, dir_fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_file(name: str, flags: int, *, dir_fd: int) -> int:
    """Open a regular file of ours below a folder; a created one gets mode 0600 whatever the umask.

    Raises `StorageFailed` when it is not a regular file, or another user's; OSError (ELOOP for a
    symbolic link) otherwise. A FIFO planted under the name does not block.
    """
    fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE_MODE, dir_fd=dir_fd)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise StorageFailed(f"{name} is not a regular file", hint="move it away")
        if found.st_uid != os.geteuid():
            raise _foreign(name)
        if flags & os.O_CREAT and stat.S_IMODE(found.st_mode) != FILE_MODE:
            os.fchmod(fd, FILE_MODE)
    except BaseException:
        os.close(fd)
        raise
    return fd


def names_in(folder: int | Path) -> list[str]:
    """The names in a folder, sorted. Raises OSError."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries)


def read_exactly(fd: int, length: int, offset: int) -> bytes:
    """`length` bytes at `offset`, fewer only at the end of the file."""
    data = os.pread(fd, length, offset)
    while len(data) < length:
        more = os.pread(fd, length - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def _refuse_foreign(found: os.stat_result, name: str) -> None:
    if found.st_uid != os.geteuid():
        raise _foreign(name)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StorageFailed(f"{name} can be written by other users", hint="chmod 700 the state folder")


def _foreign(name: str) -> StorageFailed:
    return StorageFailed(f"{name} belongs to another user", hint="name a state folder of your own")


def _sync_parent(path: str | Path, dir_fd: int | None) -> None:
    if dir_fd is not None:
        sync_folder(dir_fd)
        return
    parent = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_folder(parent)
    finally:
        os.close(parent)
