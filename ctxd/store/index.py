"""A list of sessions that can be read without opening them; never the truth, always rebuildable.

SQLite in WAL mode. On any doubt (a damaged file, another schema) it is deleted and begun anew; then
`is_fresh()` is False until the caller has rebuilt it from the logs. Blocking; safe from any thread
and for several processes. Must not know logs.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from ctxd.model.errors import StorageFailed, StorageFull, StoreError
from ctxd.store.files import FILE_MODE, FOLDER_MODE, storage_errors

_SCHEMA_VERSION = 1
_BUSY_SECONDS = 5.0
_ENVIRONMENT = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
    }
)
"""Errors that say nothing against the file's content: it is not deleted for them."""

T = TypeVar("T")


class SessionRow(msgspec.Struct, frozen=True):
    """What a list shows of a session. Times in ms since 1970, `bytes` of its segments.

    `model` is the caller's own JSON text about the model.
    """

    session_id: str
    workspace: str
    dialect: str
    model_id: str
    created_at: int
    updated_at: int
    revision: int
    bytes: int
    epoch: int = 0
    generation: int = 0
    model: str = ""


_COLUMNS = ", ".join(SessionRow.__struct_fields__)
_MARKS = ", ".join("?" * len(SessionRow.__struct_fields__))
_PUT = f"insert or replace into session ({_COLUMNS}) values ({_MARKS})"
_SCHEMA = f"""
create table session ({_COLUMNS}, primary key (session_id, workspace));
create table fresh (yes integer primary key);
pragma user_version = {_SCHEMA_VERSION};
"""


class SessionIndex:
    """The index at a path, made if missing. Every call raises StorageFull or StorageFailed on failure."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._inode = 0
        self._db: sqlite3.Connection | None = None

    def is_fresh(self) -> bool:
        """True when the rows are complete as far as this index knows; False asks for `rebuild`."""
        return self._run(lambda db: bool(db.execute("select 1 from fresh").fetchone()))

    def rebuild(self, rows: Iterable[SessionRow]) -> None:
        """Replace all rows, at once, and call the index fresh."""
        values = [msgspec.structs.astuple(row) for row in rows]

        def replace(db: sqlite3.Connection) -> None:
            db.execute("delete from session")
            db.executemany(_PUT, values)
            db.execute("insert or replace into fresh values (1)")

        self._run(replace)

    def put(self, row: SessionRow) -> None:
        """Insert or replace the row of its session."""
        self._run(lambda db: db.execute(_PUT, msgspec.structs.astuple(row)))

    def rows(self) -> list[SessionRow]:
        """All rows, newest update first."""
        query = f"select {_COLUMNS} from session order by updated_at desc, session_id, workspace"
        return self._run(lambda db: [SessionRow(*row) for row in db.execute(query)])

    def remove(self, session_id: str, workspace: str) -> None:
        """Forget a session; an unknown one is no error."""
        query = "delete from session where session_id = ? and workspace = ?"
        self._run(lambda db: db.execute(query, (session_id, workspace)))

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            self._disconnect()

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in one transaction; on doubt about the file, once more on a new one."""
        with self._lock, storage_errors("use the session index"):
            try:
                return self._transact(work)
            except sqlite3.Error as error:
                if _is_environment(error):
                    raise _refused(error) from error
            self._delete()
            try:
                return self._transact(work)
            except sqlite3.Error as error:
                raise _refused(error) from error

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        db = self._connect()
        with db:
            db.execute("begin immediate")
            return work(db)

    def _connect(self) -> sqlite3.Connection:
        """The connection, to the file that is there now: another process may have begun it anew."""
        if self._db is not None and self._path.exists() and self._path.stat().st_ino == self._inode:
            return self._db
        self._disconnect()
        self._path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _prepare(db)
            self._inode = self._path.stat().st_ino
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _delete(self) -> None:
        self._disconnect()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("pragma journal_mode = wal")
    db.execute("pragma synchronous = normal")
    db.execute("begin immediate")
    with db:
        version = db.execute("pragma user_version").fetchone()[0]
        if version == 0:
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
        elif version != _SCHEMA_VERSION:
            raise sqlite3.DatabaseError("another schema")


def _is_environment(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _ENVIRONMENT


def _refused(error: sqlite3.Error) -> StoreError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return StorageFull("cannot write the session index", hint="free disk space")
    return StorageFailed(
        "cannot use the session index", hint="it can be deleted; it is rebuilt from the logs"
    )
