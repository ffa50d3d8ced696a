"""Opening a file below a folder in one system call: Linux's `openat2`, which resolves nothing outside.

Must not be called where `is_supported` says no: kernels before 5.6, and sandboxes that forbid the call.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import sys
from functools import cache
from pathlib import Path

from ctxd.model.errors import NotRegularFile, SymlinkRefused

_OPENAT2 = 437
"""The call's number, the same on every machine but alpha."""

_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x01, 0x02, 0x04, 0x08
_RESOLVE = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS | _NO_XDEV
_HANDLE = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ATTEMPTS = 64
"""The kernel answers EAGAIN when a rename elsewhere kept it from being sure."""


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def is_supported() -> bool:
    """Whether this process may use `openat2`; asked of the kernel once."""
    if sys.platform != "linux" or platform.machine() == "alpha" or not Path("/proc/self/fd").is_dir():
        return False
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_openat2(folder, "."))
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def open_beneath(folder: int, name: str) -> int:
    """Open a regular file for reading; `name` is relative to `folder`. The caller closes it.

    Its kind is known before it is opened: a handle opens no device and waits for no FIFO. Raises
    SymlinkRefused, NotRegularFile, and OSError: ELOOP for links on the way, EXDEV for what lies outside
    or on another mount.
    """
    handle = _openat2(folder, name)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISLNK(mode):
            raise SymlinkRefused("the path is a symbolic link")
        if not stat.S_ISREG(mode):
            raise NotRegularFile("the path is no regular file")
        return os.open(f"/proc/self/fd/{handle}", _READ)
    finally:
        os.close(handle)


def look_beneath(folder: int, name: str) -> os.stat_result:
    """What stands at a name, a link itself included; nothing is opened. Raises OSError as `open_beneath`."""
    handle = _openat2(folder, name)
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)


def _openat2(folder: int, name: str) -> int:
    how = _How(_HANDLE, 0, _RESOLVE)
    path = os.fsencode(name)
    number = 0
    for _ in range(_ATTEMPTS):
        fd: int = _syscall()(_OPENAT2, folder, path, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number != errno.EAGAIN:
            break
    raise OSError(number, os.strerror(number))


@cache
def _syscall() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return function
