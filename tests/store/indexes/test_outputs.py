"""Passages by their words; and an index that is begun anew rather than believed."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.model.errors import StorageFailed
from ctxd.store.indexes.outputs import Indexed, Mark, OutputIndex, Paging, Passage
from tests.support.behaviour import behaviour


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session" / "outputs.sqlite3"


@pytest.fixture
def index(path: Path) -> Iterator[OutputIndex]:
    made = OutputIndex(path)
    yield made
    made.close()


def passage(number: int, *, tool: str = "Read") -> Passage:
    return Passage(f"m{number}", f"c{number}", tool, 0, 10)


def fill(index: OutputIndex, *texts: str, tool: str = "Read") -> None:
    rows = [Indexed(passage(n, tool=tool), "", text) for n, text in enumerate(texts)]
    index.add(rows, Mark(len(texts), f"m{len(texts) - 1}"))


def found(index: OutputIndex, *terms: str, tool: str | None = None, limit: int = 10) -> list[str]:
    return [match.passage.message_id for match in index.search(terms, tool=tool, limit=limit).best]


def test_the_passage_with_more_of_the_words_comes_first(index: OutputIndex) -> None:
    fill(index, "alpha", "alpha beta", "gamma", "beta gamma delta epsilon zeta")
    assert found(index, "alpha", "beta")[0] == "m1"
    assert set(found(index, "alpha", "beta")) == {"m0", "m1", "m3"}


def test_of_equal_passages_the_newest_comes_first(index: OutputIndex) -> None:
    fill(index, "alpha", "alpha", "alpha")
    assert found(index, "alpha") == ["m2", "m1", "m0"]


def test_what_the_call_was_about_counts_too(index: OutputIndex) -> None:
    index.add([Indexed(passage(1), "src/port.py", "nothing")], Mark(1, "m1"))
    assert found(index, "port") == ["m1"]


def test_one_tool_can_be_asked_for(index: OutputIndex) -> None:
    index.add(
        [Indexed(passage(1, tool="Read"), "", "alpha"), Indexed(passage(2, tool="Bash"), "", "alpha")],
        Mark(2, "m2"),
    )
    assert found(index, "alpha", tool="Bash") == ["m2"]
    assert found(index, "alpha", tool="Grep") == []


@pytest.mark.parametrize("term", ['"', "*", "near", "or", "a'b", "(", "body:alpha", ""])
def test_a_term_is_never_a_command_of_the_index(index: OutputIndex, term: str) -> None:
    fill(index, "alpha or near beta")
    assert found(index, term, "alpha") == ["m0"]


def test_nothing_asked_is_nothing_found(index: OutputIndex) -> None:
    fill(index, "alpha")
    assert found(index) == []


def test_a_rare_term_is_rarer_than_a_common_one(index: OutputIndex) -> None:
    fill(index, "common rare", "common", "common", "common")
    rarity = index.search(["common", "rare", "absent"], tool=None, limit=1).rarity
    assert rarity == {"common": 1.0, "rare": 4.0, "absent": 4.0}


def test_the_mark_and_the_passages_are_there_after_opening_again(path: Path) -> None:
    one = OutputIndex(path)
    fill(one, "alpha", "beta")
    one.close()
    other = OutputIndex(path)
    assert other.mark() == Mark(2, "m1")
    assert found(other, "beta") == ["m1"]
    other.close()


def test_without_a_path_it_is_all_in_memory() -> None:
    index = OutputIndex(None)
    fill(index, "alpha")
    assert found(index, "alpha") == ["m0"]
    index.begin_anew()
    assert index.mark() == Mark()
    index.close()


@behaviour("store.index")
@pytest.mark.parametrize("damage", ["garbage", "cut", "schema", "missing"])
def test_a_damaged_index_is_begun_anew_and_its_mark_is_the_beginning(path: Path, damage: str) -> None:
    index = OutputIndex(path)
    fill(index, *[f"alpha {n}" for n in range(300)])
    index.close()
    if damage == "garbage":
        path.write_bytes(b"no database " * 1000)
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "schema":
        db = sqlite3.connect(path)
        db.execute("pragma user_version = 99")
        db.close()
    else:
        path.unlink()
    again = OutputIndex(path)
    matches = again.search(["alpha"], tool=None, limit=5)
    assert (matches.best, matches.mark) == ((), Mark())
    fill(again, "alpha")
    assert found(again, "alpha") == ["m0"]
    again.close()


def test_its_file_is_for_the_owner_alone(path: Path, index: OutputIndex) -> None:
    fill(index, "alpha")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_index_that_is_stopped_keeps_nothing_of_what_was_being_added(index: OutputIndex) -> None:
    fill(index, "alpha")
    rows = [Indexed(passage(n), "", "beta") for n in range(1, 2_000)]
    before = index.mark()

    def giving() -> Iterator[Indexed]:
        yield from rows[:700]
        index.stop()
        yield from rows[700:]

    with pytest.raises(StorageFailed):
        index.add(giving(), Mark(9, "m9"))
    index.close()
    assert (index.mark(), found(index, "beta"), found(index, "alpha")) == (before, [], ["m0"])
    index.add(rows, Mark(9, "m9"), after=before)
    assert len(found(index, "beta")) == 10


def test_nothing_is_added_behind_a_mark_that_is_not_there_any_more(index: OutputIndex) -> None:
    fill(index, "alpha")
    before = index.mark()
    index.begin_anew()
    index.add([Indexed(passage(5), "", "beta")], Mark(9, "m9"), after=before)
    assert (index.mark(), found(index, "beta")) == (Mark(), [])


def test_words_that_are_everywhere_are_found_with_those_that_are_rare(index: OutputIndex) -> None:
    rows = [Indexed(passage(n), "", "common everywhere" + (" rare" if n == 7 else "")) for n in range(30_000)]
    index.add(rows, Mark(30_000, "m29999"))
    assert found(index, "common", "rare", "everywhere")[0] == "m7"
    assert found(index, "common", "everywhere")[0] == "m29999"
    assert index.search(["common", "rare"], tool="Read", limit=3).best[0].passage.message_id == "m7"
    one = index.search(["common", "everywhere"], tool=None, limit=5, within=("m3", "c3"))
    assert [match.passage.message_id for match in one.best] == ["m3"]


def test_the_bytes_of_a_passage_and_the_pages_of_an_output_are_kept(index: OutputIndex) -> None:
    text = "alpha é".encode()
    paging = Paging("m1", "c1", 100, (0, 90, 2**40))
    index.add([Indexed(passage(1), "", "alpha", text)], Mark(1, "m1"), paging=[paging])
    assert index.search(["alpha"], tool=None, limit=1).best[0].text == text
    assert index.paging("m1", "c1") == paging
    assert index.paging("m1", "c2") is None
