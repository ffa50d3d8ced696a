"""Who may write a session: one holder, by flock on `<sid>.lock` (D8).

The lock is the lease; the text in the file only informs. Line 1 is the highest acknowledged seq,
twice, so that a torn read is noticed; a reader may show records up to it while the holder lives.
Line 2 is the holder as JSON. The file is never deleted. Must not know segments or records.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import socket
import time

import msgspec

from ctxd.model.errors import SessionLocked
from ctxd.model.records import Holder
from ctxd.store.files import open_file, storage_errors

UNKNOWN = Holder(pid=0, host="", start="")

_ACK_BYTES = 40
_TEXT_BYTES = 4096
_TRIES = 5
_PAUSE_SECONDS = 0.002

_decode_holder = msgspec.json.Decoder(Holder).decode


class Lease:
    """A held lease. It ends with `release()` or with the process, however that dies."""

    def __init__(self, fd: int, folder: int, name: str, holder: Holder) -> None:
        self.holder = holder
        self._fd = fd
        self._folder = folder
        self._name = name

    def is_held(self) -> bool:
        """False when the lock file is no longer the one that was locked."""
        return _is_same(self._fd, self._folder, self._name)

    def current_holder(self) -> Holder:
        """The holder named by the lock file that now lies under the name."""
        held = probe_lease(self._folder, self._name)
        return UNKNOWN if held is None else held[0]

    def publish(self, acked: int) -> None:
        """Let readers show records up to `acked`. Lost or late, they show them later: no error."""
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, b"%019d %019d\n" % (acked, acked), 0)

    def release(self) -> None:
        """Give the lease up; calling again does nothing."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


def acquire_lease(folder: int, name: str, client: str) -> Lease:
    """Take the lease whose lock file is `name` in `folder`. `client` names the host program.

    Raises SessionLocked with the `holder`'s facts, StorageFailed when the lock file cannot be opened
    (a symbolic link, another user's file).
    """
    for attempt in range(_TRIES):
        if attempt:
            # A reader's probe shares the lock for microseconds; a holder keeps it.
            time.sleep(_PAUSE_SECONDS)
        with storage_errors("open the lock file"):
            fd = open_file(name, os.O_RDWR | os.O_CREAT, dir_fd=folder)
            try:
                if _lock(fd, fcntl.LOCK_EX) and _is_same(fd, folder, name):
                    holder = _describe_self(client)
                    _write_holder(fd, holder)
                    return Lease(fd, folder, name, holder)
                locked_by = _read_text(fd)[0]
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
    raise SessionLocked(
        "another process writes this session",
        hint="open it read-only, fork it, or close it there",
        holder=locked_by.as_facts(),
    )


def probe_lease(folder: int, name: str) -> tuple[Holder, int] | None:
    """Who holds the lease and the highest seq known acknowledged; None when nobody does."""
    try:
        fd = open_file(name, os.O_RDONLY, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        return None if _lock(fd, fcntl.LOCK_SH) else _read_text(fd)
    finally:
        os.close(fd)


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same(fd: int, folder: int, name: str) -> bool:
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    here = os.fstat(fd)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def _describe_self(client: str) -> Holder:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    shown = client[:200].encode(errors="replace").decode()
    return Holder(pid=os.getpid(), host=socket.gethostname(), start=now, client=shown)


def _write_holder(fd: int, holder: Holder) -> None:
    """Best effort on purpose: a full disk must not make a session unopenable."""
    text = msgspec.json.encode(holder) + b"\n"
    with contextlib.suppress(OSError):
        os.pwrite(fd, text, _ACK_BYTES)
        os.ftruncate(fd, _ACK_BYTES + len(text))


def _read_text(fd: int) -> tuple[Holder, int]:
    text = os.pread(fd, _TEXT_BYTES, 0)
    first, _, second = text[:_ACK_BYTES].rstrip(b"\n").partition(b" ")
    acked = int(first) if first == second and first.isdigit() else 0
    try:
        return _decode_holder(text[_ACK_BYTES:]), acked
    except msgspec.MsgspecError:
        return UNKNOWN, acked
