"""A full-text index of one session's tool outputs; never the truth, always rebuildable.

SQLite FTS5 without the texts. Rows are passages; what a passage is, and which terms it has beside its
own words, are the caller's. On any doubt the file is begun anew, and `mark()` is the beginning again.
Blocking; safe from any thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ctxd.store.rebuildable import Rebuildable

_SCHEMA_VERSION = 2
_ABOUT_WEIGHT = 1.5
"""A match in what the call was about, against one in what it printed."""

_SCHEMA = """
create table passage (id integer primary key, message text, call text, tool text, start int, length int);
create virtual table words using fts5
    (about, body, content='', tokenize='unicode61 remove_diacritics 0');
create virtual table vocabulary using fts5vocab ('words', 'row');
create table mark (position int, message text);
insert into mark values (0, '')
"""


class Passage(msgspec.Struct, frozen=True):
    """A part of one output: `start` and `length` are bytes of its stored form."""

    message_id: str
    call_id: str
    tool: str
    start: int
    length: int


class Indexed(msgspec.Struct, frozen=True):
    """A passage to add: words of what its call was about, and of its text."""

    passage: Passage
    about: str
    body: str


class Mark(msgspec.Struct, frozen=True):
    """How far the caller has filled the index: messages taken in, and the id of the last one."""

    position: int = 0
    message_id: str = ""


class Match(msgspec.Struct, frozen=True):
    """A passage that matches; a higher score is better."""

    passage: Passage
    score: float


class Matches(msgspec.Struct, frozen=True):
    """`best` passages first, ties newest first.

    `rarity` of a term is how many passages there are for each one that has it.
    """

    best: tuple[Match, ...]
    rarity: dict[str, float]
    mark: Mark


class OutputIndex:
    """The index at a path, made if missing; None keeps it in memory. Raises StorageFull or StorageFailed."""

    def __init__(self, path: Path | None) -> None:
        self._file = Rebuildable(path, schema=_SCHEMA, version=_SCHEMA_VERSION, what="output index")

    def mark(self) -> Mark:
        """The mark given with the last `add`."""
        return self._file.run(_mark)

    def add(self, passages: Iterable[Indexed], mark: Mark) -> None:
        """Add passages and move the mark, together."""
        rows = list(passages)

        def insert(db: sqlite3.Connection) -> None:
            first = int(db.execute("select coalesce(max(id), 0) + 1 from passage").fetchone()[0])
            numbered = list(enumerate(rows, first))
            db.executemany(
                "insert into passage values (?, ?, ?, ?, ?, ?)",
                [(number, *msgspec.structs.astuple(row.passage)) for number, row in numbered],
            )
            db.executemany(
                "insert into words (rowid, about, body) values (?, ?, ?)",
                [(number, row.about, row.body) for number, row in numbered],
            )
            db.execute("update mark set position = ?, message = ?", (mark.position, mark.message_id))

        self._file.run(insert)

    def search(self, terms: Sequence[str], *, tool: str | None, limit: int) -> Matches:
        """Passages with any of the lower-cased terms."""
        asked = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)

        def find(db: sqlite3.Connection) -> Matches:
            if not terms:
                return Matches((), {}, _mark(db))
            found = db.execute(_SEARCH, (_ABOUT_WEIGHT, asked, tool, tool, limit)).fetchall()
            total = max(1, db.execute("select count(*) from passage").fetchone()[0])
            rarity = {}
            for term in terms:
                row = db.execute("select doc from vocabulary where term = ?", (term,)).fetchone()
                rarity[term] = total / row[0] if row else float(total)
            best = tuple(Match(Passage(*row[:5]), float(row[5])) for row in found)
            return Matches(best, rarity, _mark(db))

        return self._file.run(find)

    def begin_anew(self) -> None:
        """Forget everything."""
        self._file.begin_anew()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        self._file.close()


_SEARCH = """
select p.message, p.call, p.tool, p.start, p.length, -bm25(words, ?, 1.0) as score
from words join passage p on p.id = words.rowid
where words match ? and (? is null or p.tool = ?)
order by score desc, p.id desc limit ?
"""


def _mark(db: sqlite3.Connection) -> Mark:
    return Mark(*db.execute("select position, message from mark").fetchone())
