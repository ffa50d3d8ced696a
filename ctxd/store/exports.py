"""Exports that are too large for an answer: files of the state folder, readable by their owner alone."""

from __future__ import annotations

import os

from ctxd.store.files import open_file, open_folder, storage_errors, sync_file, sync_folder, write_all
from ctxd.store.layout import Layout

FOLDER = "exports"


def write_export(layout: Layout, name: str, content: str) -> str:
    """Write a file whole or not at all; the path it has. Raises StorageFull, StorageFailed."""
    with storage_errors("write the export"):
        root = open_folder(layout.folder)
        folder = open_folder(FOLDER, dir_fd=root, create=True)
        try:
            draft = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
            fd = open_file(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder)
            try:
                write_all(fd, [content.encode("utf-8", "replace")])
                sync_file(fd)
            finally:
                os.close(fd)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            sync_folder(folder)
        finally:
            os.close(folder)
            os.close(root)
    return str(layout.folder / FOLDER / name)
