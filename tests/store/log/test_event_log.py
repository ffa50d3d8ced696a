"""A log as its users see it: what is appended is there, once, for the writer and for readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxd.model.errors import (
    InvalidParams,
    ReadOnly,
    SessionLocked,
    SessionNotFound,
    StorageFailed,
    TooLarge,
)
from ctxd.model.records import Draft
from ctxd.store.log.frame import MAX_LINE
from tests.store.desk import SID, Desk, check_bodies, draft, names
from tests.support.behaviour import behaviour


@behaviour("D1.acknowledged")
def test_what_was_appended_is_there_after_opening_again(desk: Desk) -> None:
    log = desk.open()
    first = desk.append(log, "a")
    rest = desk.append(log, "b", "c")
    check_bodies(log, [*first, *rest])
    log.close()
    again = desk.open(create=False)
    assert names(again.records) == ["a", "b", "c"]
    assert [r.seq for r in again.records] == list(range(1, len(again.records) + 1))
    check_bodies(again, again.records)
    assert again.health.status == "clean"
    assert (log.epoch, again.epoch) == (1, 2)


def test_facts_are_kept_in_memory_and_bodies_on_disk(desk: Desk) -> None:
    log = desk.open()
    (record,) = desk.append_drafts(log, [Draft(id="a", type="said", data=b'"\\ud800"', facts=b'{"n":1}')])
    assert record.facts == b'{"n":1}'
    assert log.read(record.location) == b'"\\ud800"'


def test_many_openings_without_an_append_do_not_pile_up_copies(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    for _ in range(5):
        desk.open().close()
    sizes = [path.stat().st_size for path in desk.segments()]
    assert max(sizes[2:]) < sizes[1]
    assert names(desk.open().records) == ["a"]


@behaviour("D1.idempotent")
def test_an_id_is_written_once_and_answered_with_its_first_record(desk: Desk) -> None:
    log = desk.open()
    first = desk.append(log, "a", "b")
    size = desk.segments()[-1].stat().st_size
    assert desk.append(log, "a", "b") == first
    assert desk.append_drafts(log, [Draft(id="b", type="other", data=b"2")]) == first[1:]
    assert desk.segments()[-1].stat().st_size == size
    log.close()
    again = desk.open()
    assert [r.seq for r in desk.append(again, "a", "b")] == [r.seq for r in first]
    mixed = desk.append(again, "b", "c", "c")
    assert [r.id for r in mixed] == ["b", "c", "c"]
    assert mixed[1] == mixed[2]


@behaviour("D1.group-commit")
def test_appends_at_the_same_time_keep_their_order_and_answer_each_their_own(desk: Desk) -> None:
    log = desk.open()
    batches = [[draft(f"{n}-{i}") for i in range(n % 4 + 1)] for n in range(40)]
    batches += [[draft("0-0"), draft("new")], [draft("new")]]
    answers = desk.append_together(log, batches)
    for batch, answer in zip(batches, answers, strict=True):
        assert isinstance(answer, list)
        assert [r.id for r in answer] == [d.id for d in batch]
        check_bodies(log, answer)
    log.close()
    expected = [d.id for batch in batches[:40] for d in batch] + ["new"]
    assert names(desk.open().records) == expected


def test_a_refused_draft_writes_nothing_of_its_batch(desk: Desk) -> None:
    log = desk.open()
    for bad, error in [
        (Draft(id="b", type="said", data=b""), ValueError),
        (Draft(id="b", type="lease", data=b"1"), ValueError),
        (Draft(id="b", type="segment", data=b"1"), ValueError),
        (Draft(id="b", type="said", data=b"1" * MAX_LINE), TooLarge),
    ]:
        with pytest.raises(error):
            desk.append_drafts(log, [draft("a"), bad])
    log.close()
    assert names(desk.open().records) == []


@behaviour("D3.new-segment")
def test_a_full_segment_is_followed_by_a_new_one(memory_path: Path) -> None:
    desk = Desk(memory_path / "small", segment_bytes=2000)
    log = desk.open()
    ids = [f"m{i}" for i in range(30)]
    for name in ids:
        desk.append(log, name)
    assert len(desk.segments()) > 3
    log.close()
    again = desk.open()
    assert names(again.records) == ids
    check_bodies(again, again.records)
    assert again.health.segments == len(desk.segments()) - 1
    desk.close()


@behaviour("D8.one-writer")
def test_a_second_opener_is_told_who_holds_the_session(desk: Desk, memory_path: Path) -> None:
    log = desk.open()
    desk.append(log, "a")
    other = Desk(memory_path / "state")
    with pytest.raises(SessionLocked) as caught:
        other.open()
    holder = caught.value.facts["holder"]
    assert isinstance(holder, dict)
    assert holder["client"] == "tests"
    reader = other.open("read")
    assert reader.holder is not None
    assert reader.holder.as_facts() == holder
    with pytest.raises(SessionLocked) as caught:
        other.append(reader, "b")
    assert caught.value.facts["holder"] == holder
    log.close()
    assert other.open().is_writable
    other.close()


@behaviour("D8.tail")
def test_a_reader_follows_what_the_holder_acknowledges(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    reader = desk.open("read")
    assert names(reader.records) == ["a"]
    assert reader.refresh() == []
    desk.append(log, "b")
    desk.append(log, "c", "d")
    new = reader.refresh()
    assert names(new) == ["b", "c", "d"]
    check_bodies(reader, new)
    assert reader.last_seq == log.last_seq
    assert log.refresh() == []


def test_a_reader_follows_across_segments_and_holders(memory_path: Path) -> None:
    desk = Desk(memory_path / "state", segment_bytes=1500)
    log = desk.open()
    reader = desk.open("read")
    seen = names(reader.records)
    for i in range(40):
        if i % 7 == 6:
            log.close()
            log = desk.open()
        desk.append(log, f"m{i}")
        if i % 3 == 0:
            new = reader.refresh()
            check_bodies(reader, new)
            seen += names(new)
    log.close()
    seen += names(reader.refresh())
    assert seen == [f"m{i}" for i in range(40)]
    assert reader.health.status == "clean"
    assert reader.holder is None
    desk.close()


@behaviour("D8.tail")
def test_a_reader_does_not_see_what_the_holder_is_still_writing(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    reader = desk.open("read")
    segment = desk.segments()[-1]
    whole = segment.read_bytes()
    line = whole.splitlines(keepends=True)[-1]
    for unfinished in (line[:30], line.replace(b'"seq":2', b'"seq":3')):
        segment.write_bytes(whole + unfinished)
        assert reader.refresh() == []
        assert reader.health.status == "clean"
        assert desk.open("read").health.status == "clean"


def test_a_reader_without_a_holder_sees_all_that_verifies(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    reader = desk.open("read")
    assert names(reader.records) == ["a"]
    assert reader.holder is None
    with pytest.raises(ReadOnly):
        desk.append(reader, "b")


def test_reading_leaves_no_trace(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    before = sorted((p.name, p.stat().st_mtime_ns) for p in desk.segments()[0].parent.iterdir())
    reader = desk.open("read")
    reader.refresh()
    reader.close()
    assert sorted((p.name, p.stat().st_mtime_ns) for p in desk.segments()[0].parent.iterdir()) == before


def test_a_session_that_is_not_there_is_not_made_by_looking(desk: Desk) -> None:
    for mode, create in (("write", False), ("read", True), ("read", False)):
        with pytest.raises(SessionNotFound):
            desk.open(mode, create=create, sid="nobody")  # type: ignore[arg-type]  # a str in a tuple
    assert list(desk.layout().sessions.iterdir()) == []


@pytest.mark.parametrize("sid", ["", ".", "..", "../x", "a/b", ".hidden", "a\0b", "a" * 129, "a b", "é"])
def test_a_session_id_that_is_no_safe_name_is_refused(desk: Desk, sid: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        desk.open(sid=sid)
    assert caught.value.facts["errors"][0]["path"] == "sessionId"  # type: ignore[index]  # facts are objects


def test_a_closed_log_refuses_and_the_lease_is_free(desk: Desk) -> None:
    log = desk.open()
    log.close()
    log.close()
    with pytest.raises(StorageFailed):
        desk.append(log, "a")
    assert desk.open().is_writable


@behaviour("D8.replaced-lock")
def test_a_holder_whose_lock_file_was_replaced_stops_writing(desk: Desk) -> None:
    log = desk.open()
    desk.append(log, "a")
    lock = desk.layout().sessions / SID / f"{SID}.lock"
    lock.unlink()
    thief = desk.open()
    assert names(thief.records) == ["a"]
    with pytest.raises(SessionLocked):
        desk.append(log, "b")
    assert not log.durable
    desk.append(thief, "c")
    thief.close()
    assert names(desk.open().records) == ["a", "c"]


def test_a_lease_record_says_who_writes_from_here_on(desk: Desk) -> None:
    log = desk.open()
    (lease,) = log.records
    body = json.loads(log.read(lease.location))
    assert lease.type == "lease"
    assert body["client"] == "tests"
    assert body["pid"] > 0


def test_a_record_that_rots_after_opening_is_never_given_back(desk: Desk) -> None:
    from ctxd.model.errors import Corrupt

    log = desk.open()
    (record,) = desk.append(log, "a")
    segment = desk.segments()[-1]
    content = bytearray(segment.read_bytes())
    content[record.location.offset + 5] ^= 1
    segment.write_bytes(bytes(content))
    with pytest.raises(Corrupt):
        log.read(record.location)
    with pytest.raises(Corrupt):
        desk.append(log, "a")
