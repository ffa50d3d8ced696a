"""A list of sessions that can be read without opening them; never the truth, always rebuildable.

On any doubt (a damaged file, another schema) it is begun anew; then `is_fresh()` is False until the
caller has rebuilt it from the logs. Blocking; safe from any thread and for several processes. Must not
know logs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ctxd.store.indexes.rebuildable import Rebuildable

_SCHEMA_VERSION = 2


class SessionRow(msgspec.Struct, frozen=True):
    """What a list shows of a session. Times in ms since 1970, `bytes` of its segments.

    `model` is the caller's own JSON text about the model, `home` its name for where the session is kept.
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
    home: str = ""


_COLUMNS = ", ".join(SessionRow.__struct_fields__)
_MARKS = ", ".join("?" * len(SessionRow.__struct_fields__))
_PUT = f"insert or replace into session ({_COLUMNS}) values ({_MARKS})"
_SCHEMA = f"""
create table session ({_COLUMNS}, primary key (session_id, workspace));
create table fresh (yes integer primary key)
"""


class SessionIndex:
    """The index at a path, made if missing. Every call raises StorageFull or StorageFailed on failure."""

    def __init__(self, path: Path) -> None:
        self._file = Rebuildable(path, schema=_SCHEMA, version=_SCHEMA_VERSION, what="session index")

    def is_fresh(self) -> bool:
        """True when the rows are complete as far as this index knows; False asks for `rebuild`."""
        return self._file.run(lambda db: bool(db.execute("select 1 from fresh").fetchone()))

    def rebuild(self, rows: Iterable[SessionRow]) -> None:
        """Replace all rows, at once, and call the index fresh."""
        values = [msgspec.structs.astuple(row) for row in rows]

        def replace(db: sqlite3.Connection) -> None:
            db.execute("delete from session")
            db.executemany(_PUT, values)
            db.execute("insert or replace into fresh values (1)")

        self._file.run(replace)

    def put(self, row: SessionRow) -> None:
        """Insert or replace the row of its session."""
        self._file.run(lambda db: db.execute(_PUT, msgspec.structs.astuple(row)))

    def rows(self) -> list[SessionRow]:
        """All rows, newest update first."""
        query = f"select {_COLUMNS} from session order by updated_at desc, session_id, workspace"
        return self._file.run(lambda db: [SessionRow(*row) for row in db.execute(query)])

    def remove(self, session_id: str, workspace: str) -> None:
        """Forget a session; an unknown one is no error."""
        query = "delete from session where session_id = ? and workspace = ?"
        self._file.run(lambda db: db.execute(query, (session_id, workspace)))

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        self._file.close()
