"""A full-text index of one session's tool outputs; never the truth, always rebuildable.

SQLite FTS5 without the texts. Rows are passages; what a passage is, and its words, are the
caller's. On any doubt the file is deleted and the index begins anew. Blocking; one caller at a time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ctxd.store.files import FILE_MODE, FOLDER_MODE, storage_errors

_SCHEMA_VERSION = 1
_ABOUT_WEIGHT = 1.5
"""A match in what the call was about, against one in what it printed."""

_SCHEMA = """
create table passage (id integer primary key, message text, call text, tool text, start int, length int);
create virtual table words using fts5
    (about, body, content='', tokenize="unicode61 remove_diacritics 0");
create table mark (position int);
insert into mark values (0);
pragma user_version = 1;
"""


class Passage(msgspec.Struct, frozen=True):
    """A part of one output: `start` and `length` are bytes of its stored form."""

    message_id: str
    call_id: str
    tool: str
    start: int
    length: int


class Match(msgspec.Struct, frozen=True):
    """A passage that matches; a higher score is better."""

    passage: Passage
    score: float


class OutputIndex:
    """The index at a path, made if missing; None keeps it in memory. Raises StorageFull or StorageFailed."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None

    def position(self) -> int:
        """How far the caller has filled it: the number given with the last `add`, 0 at the beginning."""
        with storage_errors("read the output index"):
            row = self._connect().execute("select position from mark").fetchone()
            return int(row[0])

    def add(self, passages: Iterable[tuple[Passage, Sequence[str], Sequence[str]]], position: int) -> None:
        """Add passages with the terms of what they are about and of their text, and move the position."""
        with storage_errors("fill the output index"):
            db = self._connect()
            with db:
                db.execute("begin")
                for passage, about, body in passages:
                    values = (
                        passage.message_id,
                        passage.call_id,
                        passage.tool,
                        passage.start,
                        passage.length,
                    )
                    cursor = db.execute(
                        "insert into passage (message, call, tool, start, length) values (?, ?, ?, ?, ?)",
                        values,
                    )
                    db.execute(
                        "insert into words (rowid, about, body) values (?, ?, ?)",
                        (cursor.lastrowid, " ".join(about), " ".join(body)),
                    )
                db.execute("update mark set position = ?", (position,))

    def search(self, terms: Sequence[str], *, tool: str | None, limit: int) -> list[Match]:
        """Passages with any of the terms, best first; ties newest first."""
        if not terms:
            return []
        asked = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        query = (
            "select p.message, p.call, p.tool, p.start, p.length, -bm25(words, ?, 1.0) as score"
            " from words join passage p on p.id = words.rowid where words match ?"
            " and (? is null or p.tool = ?) order by score desc, p.id desc limit ?"
        )
        with storage_errors("search the output index"):
            rows = self._connect().execute(query, (_ABOUT_WEIGHT, asked, tool, tool, limit)).fetchall()
        return [Match(Passage(*row[:5]), float(row[5])) for row in rows]

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connect(self) -> sqlite3.Connection:
        if self._db is None:
            if self._path is None:
                self._db = _prepare(
                    sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                )
                return self._db
            self._path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            try:
                self._db = _open(self._path)
            except sqlite3.DatabaseError:
                for suffix in ("", "-journal", "-wal", "-shm"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                self._db = _open(self._path)
        return self._db


def _open(path: Path) -> sqlite3.Connection:
    fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    os.close(fd)
    return _prepare(sqlite3.connect(path, isolation_level=None, check_same_thread=False))


def _prepare(db: sqlite3.Connection) -> sqlite3.Connection:
    try:
        # It can be rebuilt: nothing is gained by syncing it.
        db.execute("pragma journal_mode = memory")
        db.execute("pragma synchronous = off")
        version = db.execute("pragma user_version").fetchone()[0]
        if version == 0:
            db.executescript(_SCHEMA)
        elif version != _SCHEMA_VERSION:
            raise sqlite3.DatabaseError("another schema")
    except BaseException:
        db.close()
        raise
    return db
