"""Episodes of a workspace: one durable file per compaction, never changed after it is written. Blocking."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator

import msgspec

from ctxd.model.episode import Episode
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

FOLDER = "episodes"
_SUFFIX = ".json"

_decode = msgspec.json.Decoder(Episode).decode


class Episodes:
    """The episodes of one workspace."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._made = False

    def missing(self, checkpoint_ids: Iterable[str]) -> list[str]:
        """The checkpoints that have no episode yet, in their order. A fork's were kept with its parent."""
        there = {name.partition("@")[2] for name in self.names()}
        return [c for c in checkpoint_ids if c not in there]

    def put(self, episode: Episode) -> None:
        """Write an episode whole, or not at all; one that is there stays. Raises StoreError."""
        name = name_of(episode.session_id, episode.checkpoint_id) + _SUFFIX
        with storage_errors("write the episode"), self._folder(create=True) as folder:
            if name in names_in(folder):
                return
            draft = f".{secrets.token_hex(8)}.tmp"
            fd = open_file(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder)
            try:
                write_all(fd, [msgspec.json.encode(episode)])
                sync_file(fd)
            finally:
                os.close(fd)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            sync_folder(folder)

    def names(self) -> list[str]:
        """Names of all episodes, sorted."""
        with storage_errors("list the episodes"):
            try:
                with self._folder(create=False) as folder:
                    return [n.removesuffix(_SUFFIX) for n in names_in(folder) if n.endswith(_SUFFIX)]
            except FileNotFoundError:
                return []

    def read(self, name: str) -> Episode | None:
        """The episode of that name; None where it is gone or cannot be read as one."""
        with storage_errors("read the episode"):
            try:
                with self._folder(create=False) as folder:
                    fd = open_file(name + _SUFFIX, os.O_RDONLY, dir_fd=folder)
                    try:
                        data = read_exactly(fd, os.fstat(fd).st_size, 0)
                    finally:
                        os.close(fd)
                return _decode(data)
            except (FileNotFoundError, msgspec.MsgspecError):
                return None

    def forget(self, session_id: str) -> None:
        """Delete the episodes of a session that is deleted for good."""
        if not any(name.startswith(f"{session_id}@") for name in self.names()):
            return
        with storage_errors("delete the episodes"), self._folder(create=False) as folder:
            for name in names_in(folder):
                if name.startswith(f"{session_id}@"):
                    os.unlink(name, dir_fd=folder)
            sync_folder(folder)

    @contextlib.contextmanager
    def _folder(self, *, create: bool) -> Iterator[int]:
        root = open_folder(self._layout.folder)
        try:
            folder = open_folder(FOLDER, dir_fd=root, create=create and not self._made)
            self._made = self._made or create
        finally:
            os.close(root)
        try:
            yield folder
        finally:
            os.close(folder)


def name_of(session_id: str, checkpoint_id: str) -> str:
    """The name of a checkpoint's episode. Session ids hold no `@`."""
    return f"{session_id}@{checkpoint_id}"
