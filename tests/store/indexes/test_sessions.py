"""The index answers quickly, and is begun anew rather than believed when anything is odd."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ctxd.model.errors import StorageFailed
from ctxd.store.indexes.sessions import SessionIndex, SessionRow
from tests.support.behaviour import behaviour


def row(name: str, *, updated: int = 1, workspace: str = "/w") -> SessionRow:
    return SessionRow(name, workspace, "anthropic", "some-model", 1, updated, 7, 1234)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "sessions.sqlite"


@pytest.fixture
def index(path: Path) -> Iterator[SessionIndex]:
    index = SessionIndex(path)
    yield index
    index.close()


def test_a_new_index_asks_to_be_rebuilt_and_then_is_fresh(path: Path, index: SessionIndex) -> None:
    assert not index.is_fresh()
    index.put(row("early"))
    index.rebuild([row("a", updated=1), row("b", updated=2)])
    assert index.is_fresh()
    assert [r.session_id for r in index.rows()] == ["b", "a"]
    assert SessionIndex(path).is_fresh()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_row_is_replaced_by_its_session_and_workspace(index: SessionIndex) -> None:
    index.put(row("a", updated=1))
    index.put(row("a", updated=5))
    index.put(row("a", updated=3, workspace="/other"))
    assert [(r.workspace, r.updated_at) for r in index.rows()] == [("/w", 5), ("/other", 3)]
    index.remove("a", "/w")
    index.remove("unknown", "/w")
    assert index.rows() == [row("a", updated=3, workspace="/other")]


@behaviour("store.index")
@pytest.mark.parametrize("content", [b"not a database at all" * 300, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_begun_anew(path: Path, index: SessionIndex, content: bytes) -> None:
    index.rebuild([row("a")])
    index.close()
    path.write_bytes(content)
    assert not index.is_fresh()
    assert index.rows() == []
    index.put(row("b"))
    assert index.rows() == [row("b")]


def test_damage_in_the_middle_is_noticed_when_it_is_read(path: Path, index: SessionIndex) -> None:
    index.rebuild([row(f"session-{n}") for n in range(2000)])
    index.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(bytes(content))
    assert index.rows() == []
    assert not index.is_fresh()


def test_another_schema_is_begun_anew(path: Path, index: SessionIndex) -> None:
    index.rebuild([row("a")])
    index.close()
    db = sqlite3.connect(path)
    db.execute("pragma user_version = 99")
    db.close()
    assert not index.is_fresh()


def test_a_missing_table_is_doubt_too(path: Path, index: SessionIndex) -> None:
    index.rebuild([row("a")])
    index.close()
    db = sqlite3.connect(path)
    db.execute("drop table session")
    db.close()
    assert index.rows() == []
    assert not index.is_fresh()


def test_an_index_that_another_process_began_anew_is_followed(path: Path, index: SessionIndex) -> None:
    index.rebuild([row("a")])
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    other = SessionIndex(path)
    other.rebuild([row("b")])
    assert index.rows() == [row("b")]
    other.close()


def test_a_busy_index_is_not_deleted(
    path: Path, index: SessionIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxd.store.indexes.rebuildable._BUSY_SECONDS", 0.0)
    index.rebuild([row("a")])
    index.close()
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("begin exclusive")
    with pytest.raises(StorageFailed):
        index.put(row("b"))
    blocker.execute("rollback")
    blocker.close()
    assert index.rows() == [row("a")]
    assert index.is_fresh()


def test_threads_share_an_index(index: SessionIndex) -> None:
    threads = [threading.Thread(target=index.put, args=(row(f"s{n}", updated=n),)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {r.session_id for r in index.rows()} == {f"s{n}" for n in range(20)}
    assert all(msgspec.structs.astuple(r)[1] == "/w" for r in index.rows())
