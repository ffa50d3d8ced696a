"""Which folder a workspace is, whatever it is called: by the file system and by its repository.

A folder that moved is the same one, and so are the worktrees of one repository. What says so is checked from
both ends, because what lies in a workspace may come from strangers. Must not know what is kept for it.
Blocking.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import msgspec

from ctxd.model.errors import CtxdError
from ctxd.workspace.boundary import Boundary

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BTIME_AT = 80
_LINK_BYTES = 4096


class Identity(msgspec.Struct, frozen=True):
    """`folder` is the folder's own, the same after a rename; `repository` its repository's, "" for none."""

    folder: str
    repository: str = ""


def identify(path: str) -> Identity | None:
    """The identity of a folder; None where there is none, or where the system does not tell it for sure."""
    folder = _identity(path)
    return None if folder is None else Identity(folder, _repository(path))


def repository_root(path: str) -> str | None:
    """The folder at or above a path that holds a repository; None where there is none."""
    for folder in (Path(path), *Path(path).parents):
        if os.path.lexists(folder / ".git"):
            return str(folder)
    return None


def _identity(path: str) -> str | None:
    """Number and time of birth: a number is given again once its folder is gone, not within one instant."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(fd)
        born = _born(fd, found)
    finally:
        os.close(fd)
    return f"{found.st_ino}-{born}" if born else None


def _born(fd: int, found: os.stat_result) -> int:
    """When it was made, nanoseconds since 1970; 0 where nobody knows."""
    if sys.platform != "linux":
        return round(getattr(found, "st_birthtime", 0) * 1_000_000_000)
    statx = getattr(ctypes.CDLL(None), "statx", None)
    if statx is None:
        return 0
    into = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(fd, b"", _AT_EMPTY_PATH, ctypes.c_uint(_STATX_BTIME), into) != 0:
        return 0
    if not int.from_bytes(into.raw[0:4], sys.byteorder) & _STATX_BTIME:
        return 0
    seconds = int.from_bytes(into.raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    return seconds * 1_000_000_000 + int.from_bytes(into.raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder)


def _repository(path: str) -> str:
    """The identity of the repository whose worktree a folder is.

    A linked worktree names its repository in a file, which anybody could have written: it counts where the
    repository names the worktree too, as git has it.
    """
    mark = Path(path) / ".git"
    if mark.is_dir() and not mark.is_symlink():
        return _identity(str(mark)) or ""
    named = _line(path, ".git")
    if not named.startswith("gitdir: "):
        return ""
    administration = Path(path, named.removeprefix("gitdir: "))
    back, common = _line(str(administration), "gitdir"), _line(str(administration), "commondir")
    if not back or not common or os.path.realpath(administration / back) != os.path.realpath(mark):
        return ""
    return _identity(str(administration / common)) or ""


def _line(folder: str, name: str) -> str:
    """The one line of a small file; "" where it cannot be read."""
    try:
        with Boundary(folder) as held:
            return held.read(name, _LINK_BYTES).data.decode().strip()
    except (CtxdError, UnicodeDecodeError):
        return ""
