"""An SQLite file that can be deleted and begun anew at any time.

Owns what every such file needs: permissions, WAL, one transaction per piece of work, and deleting the
file on any doubt about its content. Blocking; safe from any thread and for several processes. Must not
know what is in it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ctxd.model.errors import StorageFailed, StorageFull, StoreError
from ctxd.store.files import FILE_MODE, FOLDER_MODE, storage_errors

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


class Rebuildable:
    """The file at a path, made if missing; None keeps everything in memory.

    `schema` is statements that make an empty file one of `version`; `what` names it in errors.
    """

    def __init__(self, path: Path | None, *, schema: str, version: int, what: str) -> None:
        self._path = path
        self._schema = schema
        self._version = version
        self._what = what
        self._lock = threading.Lock()
        self._inode = 0
        self._db: sqlite3.Connection | None = None

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in one transaction; on doubt about the file, once more on a new one.

        Raises StorageFull or StorageFailed.
        """
        with self._lock, storage_errors(f"use the {self._what}"):
            try:
                return self._transact(work)
            except sqlite3.Error as error:
                if _is_environment(error):
                    raise self._refused(error) from error
            self._delete()
            try:
                return self._transact(work)
            except sqlite3.Error as error:
                raise self._refused(error) from error

    def begin_anew(self) -> None:
        """Delete the file; the next work finds it empty."""
        with self._lock, storage_errors(f"use the {self._what}"):
            self._delete()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            self._disconnect()

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        db = self._connect()
        with db:
            db.execute("begin immediate")
            return work(db)

    def _connect(self) -> sqlite3.Connection:
        """The connection, to the file that is there now: another process may have begun it anew."""
        path = self._path
        if self._db is not None and (path is None or (path.exists() and path.stat().st_ino == self._inode)):
            return self._db
        self._disconnect()
        if path is not None:
            path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
        db = sqlite3.connect(
            path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(db)
            self._inode = path.stat().st_ino if path is not None else 0
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        if self._path is not None:
            db.execute("pragma journal_mode = wal")
            db.execute("pragma synchronous = normal")
        db.execute("begin immediate")
        with db:
            version = db.execute("pragma user_version").fetchone()[0]
            if version == 0:
                for statement in self._schema.split(";"):
                    db.execute(statement)
                db.execute(f"pragma user_version = {self._version}")
            elif version != self._version:
                raise sqlite3.DatabaseError("another schema")

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _delete(self) -> None:
        self._disconnect()
        if self._path is not None:
            for suffix in ("", "-wal", "-shm", "-journal"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _refused(self, error: sqlite3.Error) -> StoreError:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return StorageFull(f"cannot write the {self._what}", hint="free disk space")
        return StorageFailed(
            f"cannot use the {self._what}", hint="it can be deleted; it is rebuilt from the logs"
        )


def _is_environment(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _ENVIRONMENT
