"""The one way to a workspace's files: nothing is read that does not lie inside (reliability.md, section 3).

Owns what counts as inside, and reading without being misled while files change. Must not know what a
file is read for. Blocking; belongs in a worker thread.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeAlias

import msgspec

from ctxd.model.errors import (
    Busy,
    CtxdError,
    NotFound,
    NotRegularFile,
    OutsideWorkspace,
    SymlinkRefused,
)
from ctxd.workspace.beneath import is_supported, look_beneath, open_beneath
from ctxd.workspace.walk import enter_folder, list_by_steps, look_by_steps, open_by_steps

MAX_PATH_BYTES = 4095

SETTLED_NS = 50_000_000
"""A file written this lately may still be: a write sets the file's times before it moves the bytes."""

Opener: TypeAlias = Callable[[int, str], int]
"""Opens a regular file below a folder: (descriptor of the folder, relative path) to a descriptor."""


class FileBytes(msgspec.Struct, frozen=True):
    """What was read: `data` is the file, or its beginning where `truncated`.

    `digest` is `sha256:<hex>` of `data`, `size` the whole file's, bytes. `changed` says that it was being
    written, or had just been, both times it was read: `data` may mix two states of it.
    """

    data: bytes
    size: int
    digest: str
    mtime_ns: int
    ctime_ns: int
    changed: bool
    truncated: bool


class Boundary:
    """A workspace's root, held open: renaming it or putting a link in its place changes nothing here."""

    def __init__(self, root: str, opener: Opener | None = None) -> None:
        """`opener` defaults to the safest the system has.

        Raises NotFound when there is no such folder, and OutsideWorkspace where the system has no way
        to open files relative to a folder (Windows).
        """
        if os.open not in os.supports_dir_fd:
            raise OutsideWorkspace(
                "this system cannot show that a file lies inside a folder",
                hint="files are restored on Linux and macOS",
            )
        self.root = root
        self._open = opener or (open_beneath if is_supported() else open_by_steps)
        self._look = look_beneath if self._open is open_beneath else look_by_steps
        self.real = os.path.realpath(root)
        self._roots = (str(Path(root).absolute()), self.real)
        try:
            self._folder = os.open(self.real, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise NotFound("the workspace is no folder that can be opened") from error
        held = os.fstat(self._folder)
        self._identity = (held.st_dev, held.st_ino)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the root go; calling again does nothing."""
        if self._folder >= 0:
            folder, self._folder = self._folder, -1
            os.close(folder)

    def is_replaced(self) -> bool:
        """Whether another folder stands where the root was; a link there is not followed and is no folder."""
        try:
            now = Path(self.real).lstat()
        except OSError:
            return False
        return stat.S_ISDIR(now.st_mode) and (now.st_dev, now.st_ino) != self._identity

    def locate(self, path: str) -> str:
        """The path relative to the root, `/` between components, `.` for the root itself. Lexical.

        Takes relative paths and absolute ones below the root. Raises OutsideWorkspace, and NotFound for
        what can be no file's name.
        """
        try:
            length = len(os.fsencode(path))
        except UnicodeEncodeError:
            length = 0
        if not 0 < length <= MAX_PATH_BYTES or "\0" in path:
            raise NotFound("no file can have this name")
        if path.startswith("~"):
            raise OutsideWorkspace("a home folder is not expanded")
        if path.startswith("/"):
            path = self._strip_root(path)
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise OutsideWorkspace("a path may not go upwards")
        return "/".join(parts) or "."

    def read(self, path: str, limit: int) -> FileBytes:
        """Read at most `limit` bytes of a regular file that has no other name.

        A file that changes meanwhile, or did just now, is read once more, a moment later. Raises
        OutsideWorkspace, SymlinkRefused, NotRegularFile, NotFound (permissions included), and Busy for
        a file that another process holds.
        """
        name = self.locate(path)
        try:
            found = self._read_once(name, limit)
            if found.changed:
                time.sleep(SETTLED_NS / 1e9)
                found = self._read_once(name, limit)
            return found
        except OSError as error:
            raise _refusal(error) from error

    def names(self, path: str) -> list[tuple[str, bool]]:
        """What lies in a folder, sorted: (name, whether it is a folder); links are left out.

        Raises as `read`.
        """
        name = self.locate(path)
        try:
            return list_by_steps(self._folder, name)
        except OSError as error:
            raise _refusal(error) from error

    def enter(self, path: str, *, create: bool) -> int | None:
        """Open a folder below the root, a descriptor for the caller to close; None where there is none.

        With `create` folders that are missing are made. Raises OutsideWorkspace, SymlinkRefused,
        NotRegularFile for what is no folder, NotFound where none can be made.
        """
        name = self.locate(path)
        try:
            return enter_folder(self._folder, name, create=create)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refusal(error) from error

    def look(self, path: str) -> os.stat_result:
        """What stands at a path; nothing is opened or read. Raises as `read` does."""
        name = self.locate(path)
        try:
            return self._look(self._folder, name)
        except OSError as error:
            raise _refusal(error) from error

    def _strip_root(self, path: str) -> str:
        for root in self._roots:
            prefix = root.rstrip("/") + "/"
            if (path + "/").startswith(prefix):
                return path[len(prefix) :]
        raise OutsideWorkspace("the path lies outside the workspace")

    def _read_once(self, name: str, limit: int) -> FileBytes:
        fd = self._open(self._folder, name)
        try:
            started = time.time_ns()
            before = os.fstat(fd)
            if before.st_nlink > 1:
                raise OutsideWorkspace(
                    "the file has another name, which may lie outside",
                    hint="it is a hard link; copy it instead",
                )
            data = _read_up_to(fd, limit + 1)
            after = os.fstat(fd)
        finally:
            os.close(fd)
        truncated = len(data) > limit
        data = data[:limit]
        whole = truncated or len(data) == after.st_size
        fresh = abs(started - before.st_ctime_ns) < SETTLED_NS
        return FileBytes(
            data=data,
            size=after.st_size,
            digest="sha256:" + hashlib.sha256(data).hexdigest(),
            mtime_ns=after.st_mtime_ns,
            ctime_ns=after.st_ctime_ns,
            changed=_state(before) != _state(after) or not whole or fresh,
            truncated=truncated,
        )


def _state(found: os.stat_result) -> tuple[int, ...]:
    """What differs once a file was written to, replaced or unlinked."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _read_up_to(fd: int, limit: int) -> bytes:
    """Reading, never mapping: a file that shrinks under a mapping kills the process."""
    pieces: list[bytes] = []
    left = limit
    while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _refusal(error: OSError) -> CtxdError:
    """The error a host can switch on. EACCES and the like are `NotFound`: there is nothing to be had."""
    match error.errno:
        case errno.ELOOP:
            return SymlinkRefused("the path goes through a symbolic link")
        case errno.EXDEV:
            return OutsideWorkspace("the path leaves the workspace, or another file system is mounted there")
        case errno.EISDIR | errno.ENXIO | errno.ENODEV:
            return NotRegularFile("the path is no regular file")
        case errno.EAGAIN:
            return Busy("another process holds the file", hint="try again")
        case number:
            return NotFound(f"the file cannot be opened: {os.strerror(number or 0)}")
