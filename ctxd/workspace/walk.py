"""Opening a file below a folder one component at a time, and listing a folder that way.

Files are opened so on macOS, on Linux before 5.6, and where a sandbox forbids `openat2`. Every step
follows no link and is taken relative to a descriptor that was checked, so renames in between lead
nowhere else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from ctxd.model.errors import NotFound, NotRegularFile, OutsideWorkspace, SymlinkRefused

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LEAF = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ATTEMPTS = 8


def open_by_steps(folder: int, name: str) -> int:
    """Open a regular file for reading; `name` is relative, without `..`. The caller closes it.

    Raises SymlinkRefused, NotRegularFile, OutsideWorkspace for a mounted file system, NotFound, OSError.
    """
    device = os.fstat(folder).st_dev
    with _parent(folder, name, device) as (here, leaf):
        fd = _open_leaf(here, leaf, device)
    if _mount_of(fd) != _mount_of(folder):
        os.close(fd)
        raise _mounted()
    return fd


def look_by_steps(folder: int, name: str) -> os.stat_result:
    """What stands at a name, a link itself included; nothing is opened. Raises as `open_by_steps`."""
    with _parent(folder, name, os.fstat(folder).st_dev) as (here, leaf):
        return _look(here, leaf)


@contextmanager
def _parent(folder: int, name: str, device: int) -> Iterator[tuple[int, str]]:
    """The folder that a name's last component lies in, and that component."""
    *steps, leaf = name.split("/")
    here = folder
    try:
        for step in steps:
            below = _enter(here, step, device)
            if here != folder:
                os.close(here)
            here = below
        yield here, leaf
    finally:
        if here != folder:
            os.close(here)


def enter_folder(folder: int, name: str, *, create: bool) -> int:
    """Open a folder below a folder, step by step, making what is missing if asked. The caller closes it.

    Raises SymlinkRefused, OutsideWorkspace for a mounted file system, NotRegularFile, OSError.
    """
    device = os.fstat(folder).st_dev
    here = os.dup(folder)
    try:
        for step in name.split("/"):
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, 0o755, dir_fd=here)
                # Even when it was there: whoever made it may have died before its name was durable.
                os.fsync(here)
            try:
                below = _enter(here, step, device)
            except NotADirectoryError:
                raise NotRegularFile("the path is no folder") from None
            try:
                opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=below)
            finally:
                os.close(below)
            here, before = opened, here
            os.close(before)
    except BaseException:
        os.close(here)
        raise
    if _mount_of(here) != _mount_of(folder):
        os.close(here)
        raise _mounted()
    return here


def _enter(here: int, step: str, device: int) -> int:
    try:
        below = os.open(step, _STEP, dir_fd=here)
    except OSError as error:
        if error.errno == errno.ENOTDIR and stat.S_ISLNK(_look(here, step).st_mode):
            raise SymlinkRefused("the path goes through a symbolic link") from error
        raise
    if os.fstat(below).st_dev != device:
        os.close(below)
        raise _mounted()
    return below


def _open_leaf(here: int, leaf: str, device: int) -> int:
    """Look before opening: opening a device or a FIFO has effects. What was swapped in between is retried."""
    for _ in range(_ATTEMPTS):
        seen = _look(here, leaf)
        if stat.S_ISLNK(seen.st_mode):
            raise SymlinkRefused("the path is a symbolic link")
        if not stat.S_ISREG(seen.st_mode):
            raise NotRegularFile("the path is no regular file")
        if seen.st_dev != device:
            raise _mounted()
        fd = os.open(leaf, _LEAF, dir_fd=here)
        found = os.fstat(fd)
        if (found.st_dev, found.st_ino) == (seen.st_dev, seen.st_ino):
            return fd
        os.close(fd)
    raise NotFound("the file was replaced again and again while it was being opened")


def _look(here: int, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=here, follow_symlinks=False)


def _mount_of(fd: int) -> str:
    """The mount a descriptor lies on, where the system says; "" elsewhere.

    A folder of the same device that is mounted inside is told from the rest by nothing else.
    """
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:  # noqa: PTH123
            return next((line for line in lines if line.startswith("mnt_id:")), "")
    except OSError:
        return ""


def _mounted() -> OutsideWorkspace:
    return OutsideWorkspace("another file system is mounted there")


def list_by_steps(folder: int, name: str) -> list[tuple[str, bool]]:
    """What lies in a folder below, sorted: (name, whether it is a folder).

    Links, devices and names that are no UTF-8 are left out. Raises as `open_by_steps`.
    """
    device = os.fstat(folder).st_dev
    here = os.open(".", _STEP, dir_fd=folder)
    try:
        for step in () if name == "." else name.split("/"):
            here, above = _enter(here, step, device), here
            os.close(above)
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
    finally:
        os.close(here)
    try:
        if _mount_of(fd) != _mount_of(folder):
            raise _mounted()
        with os.scandir(fd) as entries:
            found = [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            ]
    finally:
        os.close(fd)
    return sorted(pair for pair in found if pair[0].isascii() or _is_text(pair[0]))


def _is_text(name: str) -> bool:
    return not any("\udc80" <= char <= "\udcff" for char in name)
