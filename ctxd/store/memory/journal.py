"""What ctxd did to memory, one record per line: who wrote an entry, what it replaced, what was deleted.

Append-only, beside the files it speaks of and never among them: a person may edit those as they like, and
what they wrote has no record here. A line that cannot be read is skipped. The caller holds the memory's
lock while it appends. Blocking.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ctxd.store.files import open_file, open_folder, read_exactly, storage_errors, sync_file, write_all

FILE = "memory.jsonl"

Author: TypeAlias = Literal["user", "model", "host"]
"""Whose words an entry is: the user's, taken at a compaction; a model's, by its tool; the host's own."""

Deed: TypeAlias = Literal["added", "overwritten", "deleted"]


class Source(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Where an entry comes from."""

    author: Author = "host"
    session_id: str = ""
    message_id: str = ""


class Record(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One deed. `key` names the entry, `replaced` the entries it took the place of, `at` ms since 1970.

    `before` is the digest of the file as it was, whose bytes are in the ledger.
    """

    deed: Deed
    topic: str
    at: int
    v: int = 1
    key: str = ""
    source: Source = Source()
    replaced: tuple[str, ...] = ()
    before: str = ""


_decode = msgspec.json.Decoder(Record).decode


def entry_key(topic: str, words: str) -> str:
    """The name of an entry: its topic and its words, whatever their case."""
    return hashlib.sha256(f"{topic.casefold()}\0{words.casefold()}".encode("utf-8", "replace")).hexdigest()[
        :32
    ]


class Journal:
    """The journal of one workspace, in its state folder. Safe from any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._read = 0
        self._inode = 0
        self.entries: dict[str, Record] = {}
        """The newest record of each entry ever added."""
        self.replaced: dict[str, Record] = {}
        """The record that replaced an entry."""
        self.wiped: dict[str, int] = {}
        """When a topic was last overwritten or deleted, ms since 1970, by its name."""

    def refresh(self) -> None:
        """Take in what any process has written since. Raises StorageFailed."""
        with self._lock, storage_errors("read the memory journal"):
            folder = open_folder(self._folder)
            try:
                fd = open_file(FILE, os.O_RDONLY, dir_fd=folder)
            except FileNotFoundError:
                return
            finally:
                os.close(folder)
            try:
                found = os.fstat(fd)
                if found.st_ino != self._inode or found.st_size < self._read:
                    self._inode, self._read = found.st_ino, 0
                data = read_exactly(fd, found.st_size - self._read, self._read)
            finally:
                os.close(fd)
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.split(b"\n"):
            try:
                self._take(_decode(line))
            except msgspec.MsgspecError:
                continue

    def append(self, records: Iterable[Record]) -> None:
        """Make records durable, together. Raises StorageFull, StorageFailed."""
        data = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
        if not data:
            return
        with self._lock, storage_errors("write the memory journal"):
            folder = open_folder(self._folder)
            try:
                fd = open_file(FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND, dir_fd=folder)
                try:
                    size = os.fstat(fd).st_size
                    # A line that was torn by a crash must not swallow this one.
                    torn = bool(size) and os.pread(fd, 1, size - 1) != b"\n"
                    write_all(fd, [b"\n" if torn else b"", data])
                    sync_file(fd)
                finally:
                    os.close(fd)
                if not size:
                    os.fsync(folder)
            finally:
                os.close(folder)
        self.refresh()

    def _take(self, record: Record) -> None:
        if record.deed == "added":
            self.entries[record.key] = record
            for key in record.replaced:
                self.replaced[key] = record
        else:
            self.wiped[record.topic] = max(record.at, self.wiped.get(record.topic, 0))
