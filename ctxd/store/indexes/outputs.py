"""A full-text index of one session's tool outputs; never the truth, always rebuildable.

SQLite FTS5 beside the passages' own bytes, so that a hit can be shown without reading the output it is in.
What a passage is, and which terms it has beside its own words, are the caller's. On any doubt the file is
begun anew, and `mark()` is the beginning again. Blocking; safe from any thread.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from pathlib import Path

import msgspec

from ctxd.model.errors import StorageFailed
from ctxd.store.indexes.rebuildable import Rebuildable

_SCHEMA_VERSION = 3
_ABOUT_WEIGHT = 1.5
"""A match in what the call was about, against one in what it printed."""

_AT_ONCE = 500
"""Rows that are in memory at a time while many are added."""

_WEIGHED = 20_000
"""Passages that are weighed for one search, about 1 µs each; where more match, only telling ones are."""

_SHARE = 0.3
"""What part of the passages found may be of one output while others have some too."""

_DEPTH = 50
"""How many times as many passages are looked through for other outputs' as are wanted."""

_COUNTED = 50_000
"""A term that is in so many passages is not counted further."""

_SCHEMA = """
create table passage
    (id integer primary key, message text, call text, tool text, start int, length int, line int);
create index output on passage (message, call);
create table body (id integer primary key, text blob);
create table paging (message text, call text, page_bytes int, starts blob, primary key (message, call));
create virtual table words using fts5
    (about, body, content='', tokenize='unicode61 remove_diacritics 0');
create table mark (position int, message text);
insert into mark values (0, '')
"""


class Passage(msgspec.Struct, frozen=True):
    """A part of one output: `start` and `length` in bytes of its stored form, `line` the one it begins in."""

    message_id: str
    call_id: str
    tool: str
    start: int
    length: int
    line: int = 1


class Indexed(msgspec.Struct, frozen=True):
    """A passage to add: words of what its call was about, and of its text; `text` is kept as it is."""

    passage: Passage
    about: str
    body: str
    text: bytes = b""


class Paging(msgspec.Struct, frozen=True):
    """Where the pages of one output begin, for one size of pages."""

    message_id: str
    call_id: str
    page_bytes: int
    starts: tuple[int, ...]


class Mark(msgspec.Struct, frozen=True):
    """How far the caller has filled the index: messages taken in, and the id of the last one."""

    position: int = 0
    message_id: str = ""


class Match(msgspec.Struct, frozen=True):
    """A passage that matches; a higher score is better. `text` is what was kept of it."""

    passage: Passage
    score: float
    text: bytes = b""


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
        self._stopped = False

    def mark(self) -> Mark:
        """The mark given with the last `add`."""
        return self._file.run(_mark)

    def add(
        self,
        passages: Iterable[Indexed],
        mark: Mark,
        *,
        after: Mark | None = None,
        paging: Iterable[Paging] = (),
    ) -> None:
        """Add passages and move the mark, together; few of them are in memory at a time.

        Nothing is added where the index is not filled up to `after` any more: it was begun anew meanwhile,
        and the mark says from where to fill it again.
        """
        source = iter(passages)
        begun = False

        def insert(db: sqlite3.Connection) -> None:
            nonlocal begun
            if begun or (after is not None and _mark(db) != after):
                return
            begun = True
            number = int(db.execute("select coalesce(max(id), 0) + 1 from passage").fetchone()[0])
            while rows := list(islice(source, _AT_ONCE)):
                if self._stopped:
                    raise StorageFailed("the index was closed while it was filled")
                number = _insert(db, rows, number)
            db.executemany(
                "insert or replace into paging values (?, ?, ?, ?)",
                [(p.message_id, p.call_id, p.page_bytes, array("Q", p.starts).tobytes()) for p in paging],
            )
            db.execute("update mark set position = ?, message = ?", (mark.position, mark.message_id))

        self._file.run(insert)

    def search(
        self, terms: Sequence[str], *, tool: str | None, limit: int, within: tuple[str, str] | None = None
    ) -> Matches:
        """Passages with any of the lower-cased terms; `within` one output: its message and call id."""

        def find(db: sqlite3.Connection) -> Matches:
            total = int(db.execute("select coalesce(max(id), 0) from passage").fetchone()[0])
            counts = {term: int(db.execute(_COUNT, (_quote(term),)).fetchone()[0]) for term in terms}
            scope = _Scope(db, tool, 1, total, limit)
            if within is not None:
                first, last = db.execute(_RANGE, within).fetchone()
                scope = _Scope(db, tool, first or 1, last or 0, limit)
            found = _candidates(scope, {term: count for term, count in counts.items() if count})
            rarity = {term: max(1, total) / (count or 1) for term, count in counts.items()}
            best = sorted(found.items(), key=lambda item: (-item[1], -item[0]))
            return Matches(tuple([_match(db, *item) for item in best]), rarity, _mark(db))

        return self._file.run(find)

    def paging(self, message_id: str, call_id: str) -> Paging | None:
        """Where an output's pages begin, as last given."""

        def find(db: sqlite3.Connection) -> Paging | None:
            row = db.execute(
                "select page_bytes, starts from paging where message = ? and call = ?", (message_id, call_id)
            ).fetchone()
            if row is None:
                return None
            starts = array("Q")
            starts.frombytes(row[1])
            return Paging(message_id, call_id, int(row[0]), tuple(starts))

        return self._file.run(find)

    def begin_anew(self) -> None:
        """Forget everything."""
        self._file.begin_anew()

    def stop(self) -> None:
        """Let what is being added fail soon, and keep nothing of it; `close` ends that."""
        self._stopped = True

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        self._file.close()
        self._stopped = False


class _Scope(msgspec.Struct, frozen=True):
    """Where to search: passages of one tool (None for all) with ids from `first` to `last`; for how many."""

    db: sqlite3.Connection
    tool: str | None
    first: int
    last: int
    limit: int

    def select(self, asked: str, *, weighed: bool) -> dict[int, float]:
        """Passages that match, with their scores; unweighed ones are the newest, and found without a look at
        the others."""
        score, order = ("-bm25(words, :about, 1.0)", "score desc,") if weighed else ("0.0", "")
        joined = "" if self.tool is None else "join passage p on p.id = words.rowid and p.tool = :tool"
        rows = self.db.execute(
            f"select words.rowid, {score} as score from words {joined} where words match :asked "
            f"and words.rowid between :first and :last order by {order} words.rowid desc limit :limit",
            {
                "about": _ABOUT_WEIGHT,
                "asked": asked,
                "tool": self.tool,
                "first": self.first,
                "last": self.last,
                "limit": self.limit * _DEPTH,
            },
        )
        return self._spread([(int(number), float(score)) for number, score in rows])

    def _spread(self, rows: Sequence[tuple[int, float]]) -> dict[int, float]:
        """The first of the rows, but not all of one output where others have some.

        A long one would hide them. Passages of an output have ids that follow each other.
        """
        if len(rows) <= self.limit:
            return dict(rows)
        outputs: list[list[int]] = []
        chosen: dict[int, float] = {}
        for number, score in rows:
            output = next((o for o in outputs if o[0] <= number <= o[1]), None)
            if output is None:
                output = [*self.db.execute(_OUTPUT, (number,)).fetchone(), 0]
                outputs.append(output)
            output[2] += 1
            if output[2] <= self.limit * _SHARE:
                chosen[number] = score
            if len(chosen) == self.limit:
                return chosen
        for number, score in rows:
            if len(chosen) == self.limit:
                break
            chosen.setdefault(number, score)
        return chosen


_COUNT = f"select count(*) from (select 1 from words where words match ? limit {_COUNTED})"
_OUTPUT = """
select min(id), max(id) from passage
where (message, call) = (select message, call from passage where id = ?)
"""
_RANGE = "select min(id), max(id) from passage where message = ? and call = ?"
_MATCH = """
select message, call, tool, start, length, line, text
from passage left join body on body.id = passage.id where passage.id = ?
"""


def _candidates(scope: _Scope, counts: dict[str, int]) -> dict[int, float]:
    """Passages worth looking at, by id, with their scores. `counts`: in how many passages each term is.

    Where terms are nearly everywhere, weighing all that match would take longer the more is stored. Then the
    rarest are weighed; of the others come the newest with all terms, with the rarest two that were asked
    side by side, and with the rarest.
    """
    if not counts:
        return {}
    size = scope.last - scope.first + 1
    if sum(min(count, size) for count in counts.values()) <= _WEIGHED:
        return scope.select(" OR ".join(map(_quote, counts)), weighed=True)
    rare: list[str] = []
    room = _WEIGHED
    for term in sorted(counts, key=lambda term: counts[term]):
        room -= min(counts[term], size)
        if room < 0:
            break
        rare.append(term)
    found = scope.select(" OR ".join(map(_quote, rare)), weighed=True) if rare else {}
    pairs = sorted(pairwise(counts), key=lambda pair: min(counts[pair[0]], counts[pair[1]]))
    asked = [" AND ".join(map(_quote, counts)), *(_quote(" ".join(pair)) for pair in pairs[:1])]
    for query in [*asked, _quote(min(counts, key=lambda term: counts[term]))]:
        found = {**scope.select(query, weighed=False), **found}
    return found


def _quote(words: str) -> str:
    return '"' + words.replace('"', '""') + '"'


def _insert(db: sqlite3.Connection, rows: Sequence[Indexed], first: int) -> int:
    """Insert rows under ids from `first` on; the id after the last."""
    numbered = list(enumerate(rows, first))
    db.executemany(
        "insert into passage values (?, ?, ?, ?, ?, ?, ?)",
        [(number, *msgspec.structs.astuple(row.passage)) for number, row in numbered],
    )
    db.executemany(
        "insert into body values (?, ?)",
        [(number, zlib.compress(row.text, 1)) for number, row in numbered if row.text],
    )
    db.executemany(
        "insert into words (rowid, about, body) values (?, ?, ?)",
        [(number, row.about, row.body) for number, row in numbered],
    )
    return first + len(numbered)


def _match(db: sqlite3.Connection, number: int, score: float) -> Match:
    *passage, text = db.execute(_MATCH, (number,)).fetchone()
    return Match(Passage(*passage), score, zlib.decompress(text) if text else b"")


def _mark(db: sqlite3.Connection) -> Mark:
    return Mark(*db.execute("select position, message from mark").fetchone())
