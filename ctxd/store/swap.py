"""Putting a file in another's place without losing what somebody else put there meanwhile.

Linux and macOS can exchange two names in one step, so that what was displaced can be looked at before it
goes. Where they cannot, a plain rename does, and `exchange` says so. Blocking.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})
_NOREPLACE, _EXCHANGE = 1, 2
_EXCL_DARWIN, _SWAP_DARWIN = 4, 2

Rename = Callable[[int, bytes, int, bytes, int], int]


def exchange(folder: int, one: str, other: str) -> bool:
    """Exchange two names of a folder; False where the system or file system cannot. Raises OSError."""
    return _rename(folder, one, other, _SWAP_DARWIN if sys.platform == "darwin" else _EXCHANGE)


def place_new(folder: int, temporary: str, name: str) -> None:
    """Give a file a name that nobody has. Raises FileExistsError, OSError."""
    if _rename(folder, temporary, name, _EXCL_DARWIN if sys.platform == "darwin" else _NOREPLACE):
        return
    os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(temporary, dir_fd=folder)


def _rename(folder: int, one: str, other: str, flags: int) -> bool:
    rename = _function()
    if rename is None:
        return False
    if rename(folder, os.fsencode(one), folder, os.fsencode(other), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), other)


@cache
def _function() -> Rename | None:
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    found: Rename | None = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    return found
