"""Which workspace each folder of the state folder is for: a small file beside its sessions.

A hint that can be lost: without it a workspace is known by its path alone. Must not know how a workspace is
identified.
"""

from __future__ import annotations

import contextlib
import os

import msgspec

from ctxd.model.errors import StoreError
from ctxd.store.files import open_file, open_folder, storage_errors, sync_file, sync_folder, write_all
from ctxd.store.layout import Layout

NAME = "workspace.json"
_MAX_BYTES = 65_536


class Home(msgspec.Struct, frozen=True):
    """Where the workspace lay when it was last seen, and identities of its folder and repository."""

    path: str
    folder: str = ""
    repository: str = ""


def read_home(layout: Layout) -> Home | None:
    """What is noted for a workspace; None where nothing is, or nothing that can be read."""
    try:
        with storage_errors("read which workspace it is"):
            folder = open_folder(layout.folder)
            try:
                fd = open_file(NAME, os.O_RDONLY, dir_fd=folder)
            finally:
                os.close(folder)
            try:
                return msgspec.json.decode(os.read(fd, _MAX_BYTES), type=Home)
            finally:
                os.close(fd)
    except (StoreError, msgspec.DecodeError):
        return None


def write_home(layout: Layout, home: Home) -> None:
    """Note it, whole or not at all. Where that cannot be done the workspace is known by its path."""
    with contextlib.suppress(StoreError), storage_errors("note which workspace it is"):
        folder = open_folder(layout.folder)
        draft = f".{NAME}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            fd = open_file(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder)
            try:
                write_all(fd, [msgspec.json.encode(home)])
                sync_file(fd)
            finally:
                os.close(fd)
            os.rename(draft, NAME, src_dir_fd=folder, dst_dir_fd=folder)
            sync_folder(folder)
        finally:
            os.close(folder)
