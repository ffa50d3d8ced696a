"""A full-text index of a workspace's topics and episodes; never the truth, always rebuildable.

SQLite FTS5 over terms that the caller makes. A source (a topic, an episode) has rows, each one thing it
says; what a source looked like when it was read is kept, so that only what changed is read again.
Blocking; safe from any thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ctxd.store.indexes.rebuildable import Rebuildable

Kind: TypeAlias = Literal["topic", "episode"]

_SCHEMA_VERSION = 1
BEST, NEWEST = 100, 60
"""Rows that are looked at: the best by rank, and the newest that match."""

_AT_ONCE = 1_000_000
"""Rows of one millisecond."""

_SCHEMA = """
create table source (kind text, name text, state text, primary key (kind, name)) without rowid;
create table row (id integer primary key, kind text, name text, key text, at int, session text,
    about text, body text);
create index row_source on row (kind, name);
create virtual table words using fts5 (terms, tokenize='unicode61 remove_diacritics 0');
create virtual table vocabulary using fts5vocab ('words', 'row')
"""


class Row(msgspec.Struct, frozen=True):
    """One thing that a source says. `key` tells it from the source's other rows, `at` is ms since 1970."""

    key: str
    at: int
    body: str
    about: str = ""
    session_id: str = ""


class Candidate(msgspec.Struct, frozen=True):
    """A row that holds a term that was asked for; a larger `number` came later. `terms` are all it holds."""

    number: int
    kind: Kind
    name: str
    row: Row
    terms: frozenset[str]


class Known(msgspec.Struct, frozen=True):
    """How many of `total` rows hold each of some terms; terms that none holds are left out."""

    holders: dict[str, int]
    total: int


class MemoryIndex:
    """The index at a path, made if missing. Raises StorageFull or StorageFailed."""

    def __init__(self, path: Path) -> None:
        self._file = Rebuildable(path, schema=_SCHEMA, version=_SCHEMA_VERSION, what="memory index")

    def states(self) -> dict[tuple[Kind, str], str]:
        """Every source with the state it was read in."""
        return self._file.run(
            lambda db: {(kind, name): state for kind, name, state in db.execute("select * from source")}
        )

    def put(self, kind: Kind, name: str, state: str, rows: Sequence[Row], terms: Mapping[str, str]) -> None:
        """Make these the rows of a source; those it had already stay as they are.

        `terms` are a row's terms by its key, for the rows that `keys` does not know.
        """

        def replace(db: sqlite3.Connection) -> None:
            had = dict(db.execute("select key, id from row where kind = ? and name = ?", (kind, name)))
            wanted = {row.key: row for row in rows}
            _delete(db, [number for key, number in had.items() if key not in wanted])
            for row in sorted((r for k, r in wanted.items() if k not in had), key=lambda row: row.at):
                number = _number(db, row.at)
                values = (number, kind, name, row.key, row.at, row.session_id, row.about, row.body)
                db.execute(_INSERT, values)
                db.execute("insert into words (rowid, terms) values (?, ?)", (number, terms[row.key]))
            db.execute("insert or replace into source values (?, ?, ?)", (kind, name, state))

        self._file.run(replace)

    def version(self) -> int:
        """Differs from the last answer once another connection has changed the index."""
        return self._file.run(lambda db: int(db.execute("pragma data_version").fetchone()[0]))

    def texts(self) -> dict[int, str]:
        """What every row says, by its number."""
        return self._file.run(lambda db: dict(db.execute("select id, about || ' ' || body from row")))

    def rows(self, numbers: Sequence[int]) -> list[Candidate]:
        """The rows of these numbers, those that are still there."""
        return self._file.run(lambda db: _candidates(db, numbers))

    def keys(self, kind: Kind, name: str) -> set[str]:
        """The keys of a source's rows."""
        query = "select key from row where kind = ? and name = ?"
        return self._file.run(lambda db: {key for (key,) in db.execute(query, (kind, name))})

    def forget(self, sources: Iterable[tuple[Kind, str]]) -> None:
        """Drop sources that are gone."""
        gone = list(sources)

        def drop(db: sqlite3.Connection) -> None:
            for source in gone:
                found = db.execute("select id from row where kind = ? and name = ?", source)
                _delete(db, [number for (number,) in found])
                db.execute("delete from source where kind = ? and name = ?", source)

        self._file.run(drop)

    def known(self, terms: Sequence[str]) -> Known:
        """How common terms are."""

        def count(db: sqlite3.Connection) -> Known:
            total = int(db.execute("select count(*) from row").fetchone()[0])
            rows = {
                t: db.execute("select doc from vocabulary where term = ?", (t,)).fetchone() for t in terms
            }
            return Known({term: int(row[0]) for term, row in rows.items() if row is not None}, total)

        return self._file.run(count)

    def search(self, some: Sequence[str], every: Sequence[str]) -> list[Candidate]:
        """Rows with any of `some` terms, the best by rank and the newest; the newest with `every` term."""
        either, all_of = (f" {word} ".join(map(_quoted, ts)) for word, ts in (("OR", some), ("AND", every)))

        def find(db: sqlite3.Connection) -> list[Candidate]:
            numbers: set[int] = set()
            for query, match, limit in (
                (_BEST, either, BEST),
                (_NEWEST, either, NEWEST),
                (_NEWEST, all_of, NEWEST),
            ):
                numbers.update(number for (number,) in db.execute(query, (match, limit)))
            return _candidates(db, sorted(numbers))

        return self._file.run(find) if some else []

    def begin_anew(self) -> None:
        """Forget everything; the next look at the sources fills it again."""
        self._file.begin_anew()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        self._file.close()


_INSERT = "insert into row values (?, ?, ?, ?, ?, ?, ?, ?)"
_ROWS = """
select id, kind, name, key, at, body, about, session, terms from row join words on words.rowid = id
where id in ({})
"""
_BEST = "select rowid from words where words match ? order by bm25(words) limit ?"
_NEWEST = "select rowid from words where words match ? order by rowid desc limit ?"


def _candidates(db: sqlite3.Connection, numbers: Sequence[int]) -> list[Candidate]:
    rows = db.execute(_ROWS.format(", ".join("?" * len(numbers))), numbers)
    return [Candidate(r[0], r[1], r[2], Row(*r[3:8]), frozenset(r[8].split())) for r in rows]


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _number(db: sqlite3.Connection, at: int) -> int:
    """A free number that is larger the later the time, so that the newest are found by number alone."""
    first = at * _AT_ONCE
    query = "select coalesce(max(id), ?) + 1 from row where id > ? and id < ?"
    return int(db.execute(query, (first, first, first + _AT_ONCE)).fetchone()[0])


def _delete(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    gone = [(number,) for number in numbers]
    db.executemany("delete from row where id = ?", gone)
    db.executemany("delete from words where rowid = ?", gone)
