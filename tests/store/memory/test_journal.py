from __future__ import annotations

from pathlib import Path

from ctxd.store.layout import open_layout
from ctxd.store.memory.journal import FILE, Journal, Record, Source, entry_key
from tests.support.behaviour import behaviour


def record(words: str, **fields: object) -> Record:
    return Record("added", "a", 1, key=entry_key("a", words), **fields)  # type: ignore[arg-type]


@behaviour("memory.provenance")
def test_where_an_entry_comes_from_is_known_to_every_daemon(tmp_path: Path) -> None:
    folder = open_layout(tmp_path / "state", "/w").folder
    one, other = Journal(folder), Journal(folder)
    one.append([record("x", source=Source("user", "s1", "m1")), record("y")])
    other.append([record("z", replaced=(entry_key("a", "x"),)), Record("deleted", "b", 7)])
    one.refresh()
    assert one.entries == other.entries
    assert one.entries[entry_key("A", "X")].source == Source("user", "s1", "m1")
    assert one.replaced[entry_key("a", "x")].key == entry_key("a", "z")
    assert one.wiped == {"b": 7}


def test_a_torn_line_swallows_no_other(tmp_path: Path) -> None:
    folder = open_layout(tmp_path / "state", "/w").folder
    Journal(folder).append([record("x")])
    with (folder / FILE).open("ab") as file:
        file.write(b'{"deed":"added","top')
    journal = Journal(folder)
    journal.refresh()
    assert len(journal.entries) == 1
    journal.append([record("y")])
    assert set(journal.entries) == {entry_key("a", "x"), entry_key("a", "y")}
    with (folder / FILE).open("ab") as file:
        file.write(b'{"deed":"melted","topic":"a","at":1}\n\xff\n')
    fresh = Journal(folder)
    fresh.refresh()
    assert set(fresh.entries) == set(journal.entries)


def test_a_journal_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    folder = open_layout(tmp_path / "state", "/w").folder
    journal = Journal(folder)
    journal.append([record("x"), record("y")])
    (folder / FILE).unlink()
    Journal(folder).append([record("z")])
    journal.refresh()
    assert entry_key("a", "z") in journal.entries
