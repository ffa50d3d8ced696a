from __future__ import annotations

from pathlib import Path

from ctxd.store.memory.index import Known, MemoryIndex, Row
from tests.support.behaviour import behaviour


def put(index: MemoryIndex, name: str, *bodies: str, at: int = 1) -> None:
    rows = [Row(body, at + n, body, name) for n, body in enumerate(bodies)]
    index.put("topic", name, f"state {bodies}", rows, {row.key: row.body for row in rows})


def found(index: MemoryIndex, *terms: str) -> list[str]:
    return sorted(candidate.row.body for candidate in index.search(terms, terms))


def test_rows_are_found_by_any_of_their_terms(tmp_path: Path) -> None:
    index = MemoryIndex(tmp_path / "i.sqlite3")
    put(index, "a", "red apple", "green pear")
    put(index, "b", "red pear")
    assert found(index, "red") == ["red apple", "red pear"]
    assert found(index, "green", "apple") == ["green pear", "red apple"]
    assert index.search([], ["red"]) == []
    assert index.known(["red", "pear", "plum"]) == Known({"red": 2, "pear": 2}, 3)
    (first,) = index.search(["apple"], ["apple"])
    assert (first.kind, first.name, first.terms) == ("topic", "a", {"red", "apple"})
    index.close()


def test_a_source_read_again_changes_only_what_changed(tmp_path: Path) -> None:
    index = MemoryIndex(tmp_path / "i.sqlite3")
    put(index, "a", "stays here", "goes away")
    (before,) = index.search(["stays"], ["stays"])
    put(index, "a", "stays here", "comes in")
    (after,) = index.search(["stays"], ["stays"])
    assert after.number == before.number
    assert found(index, "goes", "comes") == ["comes in"]
    assert index.keys("topic", "a") == {"stays here", "comes in"}
    index.forget([("topic", "a")])
    assert found(index, "stays") == []
    assert index.states() == {}
    index.close()


def test_of_many_that_match_the_newest_are_among_the_candidates(tmp_path: Path) -> None:
    index = MemoryIndex(tmp_path / "i.sqlite3")
    put(index, "a", *[f"same words {n} {'and more ' * (n % 7)}" for n in range(2_000)])
    numbers = {candidate.row.at for candidate in index.search(["same"], ["same"])}
    assert set(range(1_941, 2_001)) <= numbers
    assert len(numbers) <= 220
    index.close()


@behaviour("memory.index-rebuildable")
def test_a_damaged_index_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite3"
    index = MemoryIndex(path)
    put(index, "a", "red apple")
    index.close()
    path.write_bytes(b"no database" * 1_000)
    assert index.states() == {}
    put(index, "a", "red apple")
    assert found(index, "red") == ["red apple"]
    index.close()


def test_terms_with_quotes_are_words_like_others(tmp_path: Path) -> None:
    index = MemoryIndex(tmp_path / "i.sqlite3")
    put(index, "a", "red")
    assert found(index, '"red" OR *', "NEAR(") == []
    index.close()
