"""A bookmark spares the scan and changes nothing: whatever is not as it was, the log itself is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxd.model.records import Record
from ctxd.store.log.event_log import SessionLog
from tests.store.desk import SID, Desk, check_bodies, names
from tests.support.behaviour import behaviour


def digest(records: Sequence[Record]) -> bytes:
    return b"".join(b"%b\n" % record.id.encode() for record in records)


def leave(log: SessionLog, *, worth: int = 1) -> None:
    log.leave_bookmark(digest, worth=worth)
    log.close()


def known(log: SessionLog) -> list[str]:
    """All ids that an opened log knows of, from its bookmark and behind it; lease records left out."""
    marked = log.bookmark.body.decode().split() if log.bookmark else []
    return [name for name in marked if not name.startswith("lease-")] + names(log.records)


def bookmark(desk: Desk) -> Path:
    return desk.layout().sessions / SID / f"{SID}.bookmark"


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


@behaviour("bookmark.sooner")
def test_a_log_opened_at_its_bookmark_shows_only_what_came_behind_it(desk: Desk) -> None:
    log = desk.open()
    written = desk.append(log, "a", "b")
    leave(log)
    log = desk.open()
    assert log.bookmark is not None
    assert names(log.records) == []
    assert [log.bookmark.places.of(record.seq) for record in written] == [r.location for r in written]
    check_bodies(log, written)
    desk.append(log, "c")
    log.close()
    log = desk.open()
    assert (known(log), names(log.records)) == (["a", "b", "c"], ["c"])
    assert log.health.status == "clean"
    assert log.health.bytes == sum(path.stat().st_size for path in desk.segments()[:-1])


@behaviour("bookmark.sooner")
def test_a_bookmark_grows_by_what_came_and_only_when_that_is_worth_it(desk: Desk) -> None:
    for name in "abc":
        log = desk.open()
        desk.append(log, name)
        leave(log)
    first = bookmark(desk).read_bytes()
    log = desk.open()
    desk.append(log, "d")
    leave(log, worth=1_000_000)
    assert bookmark(desk).read_bytes() == first
    log = desk.open()
    assert known(log) == ["a", "b", "c", "d"]
    assert [record.seq for record in log.records][-1] == log.last_seq


@behaviour("D1.idempotent")
def test_an_id_behind_the_bookmark_is_still_written_once(desk: Desk) -> None:
    log = desk.open()
    (first,) = desk.append(log, "a")
    leave(log)
    log = desk.open()
    again, fresh = desk.append(log, "a", "b")
    assert (again.seq, again.location) == (first.seq, first.location)
    assert fresh.seq == log.last_seq
    log.close()
    bookmark(desk).unlink()
    assert names(desk.open().records) == ["a", "b"]


@behaviour("D5.any-byte")
@behaviour("bookmark.never-truth")
def test_a_changed_byte_anywhere_in_what_is_covered_is_found_as_without_a_bookmark(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    desk.append(log, "b")
    leave(log)
    segment, mark = desk.segments()[0], bookmark(desk).read_bytes()
    whole = segment.read_bytes()
    for offset in range(len(whole)):
        flip(segment, offset)
        bookmark(desk).write_bytes(mark)
        marked = desk.open("read").health
        log = desk.open()
        assert log.bookmark is None
        assert (log.health.status, log.health.spans) == (marked.status, marked.spans)
        log.close()
        for later in desk.segments()[1:]:
            later.unlink()
        segment.write_bytes(whole)


@behaviour("bookmark.never-truth")
def test_a_bookmark_that_is_not_whole_is_as_good_as_none(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    leave(log)
    whole = bookmark(desk).read_bytes()
    for offset in range(len(whole)):
        flip(bookmark(desk), offset)
        log = desk.open()
        assert (log.bookmark, names(log.records)) == (None, ["a"])
        log.close()
        bookmark(desk).write_bytes(whole[:offset])
        log = desk.open()
        assert (log.bookmark, names(log.records)) == (None, ["a"])
        log.close()
        bookmark(desk).write_bytes(whole)


@behaviour("bookmark.never-truth")
def test_a_missing_or_grown_segment_is_noticed(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    leave(log)
    segment = desk.segments()[0]
    with segment.open("ab") as file:
        file.write(b"more")
    log = desk.open()
    assert (log.bookmark, log.health.status) == (None, "torn")
    log.close()
    segment.unlink()
    log = desk.open()
    assert (log.bookmark, log.health.status) == (None, "damaged")


def test_a_log_that_is_not_in_order_leaves_no_bookmark(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    with desk.segments()[0].open("ab") as file:
        file.write(b"torn")
    leave(desk.open())
    assert not bookmark(desk).exists()
    log = desk.open()
    log.leave_bookmark(lambda records: None, worth=1)
    assert not bookmark(desk).exists()


def test_a_bookmark_that_cannot_be_written_harms_nothing(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    bookmark(desk).mkdir()
    leave(log)
    assert names(desk.open().records) == ["a"]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_reader_needs_no_bookmark_and_minds_none(desk: Desk, mode: str) -> None:
    log = desk.open()
    desk.append(log, "a")
    leave(log)
    reader = desk.open("read" if mode == "read" else "write")
    assert known(reader) == ["a"]
    assert (reader.bookmark is None) == (mode == "read")


def test_several_segments_are_covered_each_with_its_own_checksum(memory_path: Path) -> None:
    desk = Desk(memory_path / "state", segment_bytes=500)
    log = desk.open()
    for name in "abcdef":
        desk.append(log, name, size=100)
    leave(log)
    log = desk.open()
    assert log.bookmark is not None
    assert len(log.bookmark.covered) > 3
    assert known(log) == list("abcdef")
    (again,) = desk.append(log, "d")
    check_bodies(log, [again])
    desk.close()
