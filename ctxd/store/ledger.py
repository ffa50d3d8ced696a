"""Bytes by their digest (D7): what the model no longer sees is kept here, and never given back wrong.

Owns `objects/ab/<sha256>`. Blocking; safe from any thread and from any process. Must not know tool
calls: which call an object belongs to is in the log.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator

from ctxd.model.errors import Corrupt, NotFound, StorageFull
from ctxd.store.files import (
    names_in,
    open_file,
    open_folder,
    read_exactly,
    storage_errors,
    sync_file,
    sync_folder,
    write_all,
)
from ctxd.store.layout import Layout

_DIGEST = re.compile(r"sha256:(?P<fan>[0-9a-f]{2})(?P<rest>[0-9a-f]{62})")
_FAN = re.compile(r"[0-9a-f]{2}")
_TEMPORARY = ".tmp-"
_STALE_SECONDS = 24 * 3600
_LARGE = 1024 * 1024
"""Objects from this size on are refused before they fill the disk (D9)."""


class Ledger:
    """The objects of one workspace. Opening it sweeps temporary files older than 24 h.

    Raises StorageFailed when the folder cannot be opened or swept.
    """

    def __init__(self, layout: Layout) -> None:
        with storage_errors("open the ledger"):
            self._objects = open_folder(layout.objects)
        self._synced: set[str] = set()
        try:
            with storage_errors("sweep the ledger"):
                _sweep(self._objects)
        except BaseException:
            self.close()
            raise

    def put(self, data: bytes) -> str:
        """Keep the bytes; returns their digest `sha256:<hex>` once they are durable.

        Idempotent: bytes that are there already are verified, and replaced when they went bad.
        Raises StorageFull, StorageFailed.
        """
        name = hashlib.sha256(data).hexdigest()
        with storage_errors("keep bytes in the ledger"), self._fan_out(name[:2], create=True) as fan:
            try:
                if _holds(fan, name, data):
                    os.utime(name, dir_fd=fan, follow_symlinks=False)
                    sync_folder(fan)
                    return f"sha256:{name}"
                _set_aside(fan, name)
            except FileNotFoundError:
                pass
            self._refuse_overflow(len(data))
            _write(fan, name, data)
        return f"sha256:{name}"

    def get(self, digest: str) -> bytes:
        """The bytes of the digest, verified.

        Raises NotFound for a digest that was never kept or is none; Corrupt when what is there does
        not match (it is renamed to `.bad`, and stays corrupt until the same bytes are put again).
        """
        name = _name_of(digest)
        with storage_errors("read from the ledger"):
            try:
                with self._fan_out(name[:2]) as fan:
                    return _read_verified(fan, name, digest)
            except FileNotFoundError:
                raise _not_found(digest) from None

    def has(self, digest: str) -> bool:
        """Whether an object of that digest is there, verified or not."""
        name = _name_of(digest)
        with storage_errors("read from the ledger"):
            try:
                with self._fan_out(name[:2]) as fan:
                    os.stat(name, dir_fd=fan, follow_symlinks=False)
            except FileNotFoundError:
                return False
        return True

    def remove(self, digest: str) -> None:
        """Take an object out for good; one that is not there is fine. Raises StorageFailed."""
        name = _name_of(digest)
        with (
            storage_errors("take bytes out of the ledger"),
            contextlib.suppress(FileNotFoundError),
            self._fan_out(name[:2]) as fan,
        ):
            os.unlink(name, dir_fd=fan)
            sync_folder(fan)

    def close(self) -> None:
        """Let go of the folder; calling again does nothing."""
        if self._objects >= 0:
            objects, self._objects = self._objects, -1
            os.close(objects)

    @contextlib.contextmanager
    def _fan_out(self, name: str, *, create: bool = False) -> Iterator[int]:
        # Its name is made durable once per process: whoever made it may have died before that.
        is_new = create and name not in self._synced
        fd = open_folder(name, dir_fd=self._objects, create=is_new)
        try:
            if is_new:
                self._synced.add(name)
            yield fd
        finally:
            os.close(fd)

    def _refuse_overflow(self, size: int) -> None:
        if size < _LARGE:
            return
        room = os.fstatvfs(self._objects)
        if room.f_bavail * room.f_frsize < size:
            raise StorageFull("no room for these bytes in the ledger", hint="free disk space", bytes=size)


def _name_of(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise _not_found(digest[:80])
    return digest.removeprefix("sha256:")


def _not_found(digest: str) -> NotFound:
    return NotFound("nothing is kept under this digest", digest=digest)


def _holds(fan: int, name: str, data: bytes) -> bool:
    fd = open_file(name, os.O_RDONLY, dir_fd=fan)
    try:
        return os.fstat(fd).st_size == len(data) and read_exactly(fd, len(data), 0) == data
    finally:
        os.close(fd)


def _read_verified(fan: int, name: str, digest: str) -> bytes:
    try:
        fd = open_file(name, os.O_RDONLY, dir_fd=fan)
    except FileNotFoundError:
        os.stat(name + ".bad", dir_fd=fan, follow_symlinks=False)
        raise _corrupt(digest) from None
    try:
        data = read_exactly(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)
    if hashlib.sha256(data).hexdigest() != name:
        # A disk that cannot rename any more still must not hand out wrong bytes.
        with contextlib.suppress(OSError):
            _set_aside(fan, name)
        raise _corrupt(digest)
    return data


def _corrupt(digest: str) -> Corrupt:
    return Corrupt("the kept bytes no longer match their digest", digest=digest)


def _set_aside(fan: int, name: str) -> None:
    os.rename(name, name + ".bad", src_dir_fd=fan, dst_dir_fd=fan)
    sync_folder(fan)


def _write(fan: int, name: str, data: bytes) -> None:
    temporary = f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
    fd = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=fan)
    try:
        try:
            write_all(fd, [data])
            sync_file(fd)
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=fan, dst_dir_fd=fan)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=fan)
        raise
    sync_folder(fan)


def _sweep(objects: int) -> None:
    oldest = time.time() - _STALE_SECONDS
    for name in filter(_FAN.fullmatch, names_in(objects)):
        fan = open_folder(name, dir_fd=objects)
        try:
            for entry in names_in(fan):
                if entry.startswith(_TEMPORARY):
                    with contextlib.suppress(FileNotFoundError):
                        if os.stat(entry, dir_fd=fan, follow_symlinks=False).st_mtime < oldest:
                            os.unlink(entry, dir_fd=fan)
        finally:
            os.close(fan)
