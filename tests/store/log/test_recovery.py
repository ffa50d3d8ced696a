"""What a log says after something happened to its files (D3-D5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxd.model.errors import Damaged, ReadOnly, StorageFailed
from ctxd.store.log.frame import Head, build_line, seed_of
from tests.store.desk import SID, Desk, check_bodies, draft, names
from tests.support.behaviour import behaviour

SEED = seed_of(SID)


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def filled(desk: Desk, *batches: tuple[str, ...]) -> Path:
    """A log with these batches, closed; the path of its only segment."""
    log = desk.open()
    for batch in batches:
        desk.append(log, *batch)
    log.close()
    (segment,) = desk.segments()
    return segment


def opening(base: int, epoch: int, *, version: int = 1, min_reader: int = 1) -> bytes:
    """A segment's first line, with a member that this version does not know."""
    head = Head(1, base - 1, epoch, base - 1, "segment-x", "segment", 0, (0, 1))
    body = b'{"format":%d,"minReader":%d,"base":%d,"sid":"session-1","later":[]}'
    return b"".join(build_line(head, b"", body % (version, min_reader, base), SEED))


def record(seq: int, epoch: int, *, ack: int | None = None, name: str = "x") -> bytes:
    head = Head(1, seq, epoch, seq - 1 if ack is None else ack, name, "said", 0)
    return b"".join(build_line(head, b"", b"1", SEED))


@behaviour("D4.torn-tail")
def test_a_log_cut_at_any_byte_of_its_last_record_keeps_all_before_it(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b",), ("c",))
    whole = segment.read_bytes()
    start = len(whole) - len(lines_of(segment)[-1])
    for cut in range(start, len(whole)):
        segment.write_bytes(whole[:cut])
        log = desk.open("read")
        is_complete = cut == len(whole) - 1
        assert names(log.records) == ["a", "b", "c"][: 3 if is_complete else 2], cut
        assert log.health.status == ("clean" if cut == start or is_complete else "torn"), cut
        if log.health.status == "torn":
            assert log.recovered is not None
            assert (log.recovered.segment, log.recovered.offset, log.recovered.length) == (
                1,
                start,
                cut - start,
            )
        log.close()


@behaviour("D5.any-byte")
def test_any_flipped_byte_is_noticed_and_never_changes_what_is_shown(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b", "c"), ("d",))
    whole = segment.read_bytes()
    last = len(whole) - len(lines_of(segment)[-1])
    for position in range(len(whole)):
        segment.write_bytes(whole[:position] + bytes([whole[position] ^ 0x20]) + whole[position + 1 :])
        log = desk.open("read")
        is_line_feed = whole[position] == 0x0A
        assert log.health.status == ("torn" if position >= last or is_line_feed else "damaged"), position
        shown = names(log.records)
        assert shown == [name for name in "abcd" if name in shown]
        assert len(shown) >= 3, position
        check_bodies(log, log.records)
        log.close()


@behaviour("D4.reported")
def test_a_torn_tail_is_named_once_and_then_forgiven(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b",))
    segment.write_bytes(segment.read_bytes() + record(4, 1)[:50])
    torn = desk.open()
    assert torn.health.status == "torn"
    assert torn.recovered is not None
    kept = desk.layout().quarantine / torn.recovered.sha256
    assert kept.read_bytes() == record(4, 1)[:50]
    desk.append(torn, "c")
    torn.close()
    again = desk.open()
    assert again.health.status == "clean"
    assert again.recovered is None
    assert [span.length for span in again.health.spans] == [50]
    assert names(again.records) == ["a", "b", "c"]
    assert segment.read_bytes().endswith(record(4, 1)[:50])


def test_a_forgiven_tail_that_changes_is_told_again(desk: Desk) -> None:
    segment = filled(desk, ("a",))
    segment.write_bytes(segment.read_bytes() + b"torn")
    desk.open().close()
    segment.write_bytes(segment.read_bytes()[:-1] + b"N")
    assert desk.open("read").health.status == "torn"


@behaviour("D5.gap")
def test_a_lost_acknowledged_record_makes_the_log_read_only_with_a_gap(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b",), ("c",), ("d",))
    lines = lines_of(segment)
    broken = b"\0" * len(lines[3])
    segment.write_bytes(b"".join([*lines[:3], broken, *lines[4:]]))
    log = desk.open()
    assert log.health.status == "damaged"
    assert names(log.records) == ["a", "c", "d"]
    assert sorted(span.reason for span in log.health.spans) == ["damaged", "gap"]
    damage = next(span for span in log.health.spans if span.reason == "damaged")
    assert (desk.layout().quarantine / damage.sha256).read_bytes() == broken
    with pytest.raises(Damaged):
        desk.append(log, "e")
    assert len(desk.segments()) == 1
    assert not log.is_writable


def test_a_damaged_log_does_not_keep_the_lease(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b",))
    lines = lines_of(segment)
    segment.write_bytes(b"".join([lines[0], lines[1], b"x" * len(lines[2]), *lines[3:]]))
    first, second = desk.open(), desk.open()
    assert first.health == second.health
    assert second.health.status == "damaged"


@pytest.mark.parametrize("removed", [slice(2, 3), slice(2, 4)], ids=["one", "two"])
def test_acknowledged_lines_cut_out_without_a_trace_leave_a_gap(desk: Desk, removed: slice) -> None:
    segment = filled(desk, ("a",), ("b",), ("c",), ("d",))
    lines = lines_of(segment)
    del lines[removed]
    segment.write_bytes(b"".join(lines))
    log = desk.open()
    assert log.health.status == "damaged"
    assert [span.reason for span in log.health.spans] == ["gap"]


@behaviour("D5.missing-segment")
def test_a_missing_segment_is_a_gap(desk: Desk) -> None:
    for name in "abc":
        log = desk.open()
        desk.append(log, name)
        log.close()
    desk.segments()[1].unlink()
    log = desk.open()
    assert log.health.status == "damaged"
    assert "c" in names(log.records)


def test_an_older_segment_cut_short_is_damage_not_a_torn_tail(desk: Desk) -> None:
    first = filled(desk, ("a",), ("b",), ("c",))
    desk.open().close()
    first.write_bytes(b"".join(lines_of(first)[:3]))
    assert desk.open().health.status == "damaged"


@behaviour("D2.seed")
def test_a_line_of_another_session_is_not_shown(desk: Desk) -> None:
    foreign = filled(desk, ("a",))
    other = desk.open(sid="session-2")
    desk.append(other, "b")
    other.close()
    (segment,) = desk.segments("session-2")
    foreign.write_bytes(foreign.read_bytes() + lines_of(segment)[-1])
    log = desk.open("read")
    assert names(log.records) == ["a"]
    assert log.health.status == "torn"


def test_a_batch_that_is_not_whole_at_the_end_is_not_shown_at_all(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b", "c", "d"))
    whole = segment.read_bytes()
    start = len(whole) - sum(map(len, lines_of(segment)[-3:]))
    for cut in range(start, len(whole) - 1):
        segment.write_bytes(whole[:cut])
        log = desk.open("read")
        assert names(log.records) == ["a"], cut
        log.close()
    segment.write_bytes(whole[: len(whole) - 5])
    log = desk.open()
    desk.append(log, "e")
    log.close()
    assert names(desk.open().records) == ["a", "e"]


@behaviour("D4.prefix")
def test_records_behind_an_unacknowledged_gap_are_dropped(desk: Desk) -> None:
    segment = filled(desk, ("a",))
    with segment.open("ab") as file:
        file.write(record(3, 1, ack=2) + record(5, 1, ack=2, name="late"))
    log = desk.open("read")
    assert names(log.records) == ["a", "x"]
    assert log.health.status == "torn"


@behaviour("D3.unfinished")
def test_a_segment_whose_opening_was_never_finished_supersedes_nothing(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b",))
    desk.open().close()
    second = desk.segments()[1]
    whole = second.read_bytes()
    opening_lines = lines_of(second)
    assert len(opening_lines) == 3
    for cut in range(len(opening_lines[0] + opening_lines[1]) - 1):
        second.write_bytes(whole[:cut])
        log = desk.open("read")
        assert names(log.records) == ["a", "b"], cut
        assert {record.location.segment for record in log.records} == {1}
        assert log.health.status == ("torn" if cut else "clean"), cut
        log.close()
    assert segment.exists()


@behaviour("D8.epoch")
def test_what_an_older_epoch_wrote_behind_a_newer_one_is_damage(desk: Desk) -> None:
    segment = filled(desk, ("a",))
    folder = segment.parent
    (folder / f"{SID}.000002.jsonl").write_bytes(opening(3, 5) + record(3, 5))
    (folder / f"{SID}.000003.jsonl").write_bytes(opening(3, 4) + record(3, 4, name="stale"))
    log = desk.open()
    assert log.health.status == "damaged"
    assert [span.reason for span in log.health.spans] == ["stale"]
    assert names(log.records) == ["a", "x"]


def test_a_holder_that_went_on_writing_after_it_lost_the_lease_is_noticed(desk: Desk) -> None:
    segment = filled(desk, ("a",))
    desk.open().close()
    assert desk.open("read").health.status == "clean"
    with segment.open("ab") as file:
        file.write(record(3, 1, ack=2) + record(4, 1, ack=3))
    log = desk.open("read")
    assert log.health.status == "damaged"
    assert "stale" in [span.reason for span in log.health.spans]


@behaviour("D5.duplicate")
def test_a_doubled_line_is_told(desk: Desk) -> None:
    segment = filled(desk, ("a",), ("b",), ("c",))
    lines = lines_of(segment)
    segment.write_bytes(b"".join([*lines[:3], lines[2], *lines[3:]]))
    log = desk.open()
    assert log.health.status == "damaged"
    assert names(log.records) == ["a", "b", "c"]


@behaviour("D13.future")
def test_a_format_of_the_future_is_read_if_it_allows_but_never_written_to(desk: Desk) -> None:
    folder = filled(desk, ("a",)).parent
    (folder / f"{SID}.000002.jsonl").write_bytes(opening(3, 2, version=9, min_reader=1))
    with pytest.raises(ReadOnly, match="newer"):
        desk.open()
    assert names(desk.open("read").records) == ["a"]
    (folder / f"{SID}.000003.jsonl").write_bytes(opening(3, 3, version=9, min_reader=9))
    with pytest.raises(StorageFailed, match="newer"):
        desk.open("read")


def test_a_record_that_was_not_proven_durable_is_written_again(desk: Desk) -> None:
    filled(desk, ("a",), ("b",))
    log = desk.open()
    assert [r.location.segment for r in log.records if r.type != "lease"] == [1, 2]
    check_bodies(log, log.records)
    assert desk.append_drafts(log, [draft("b")])[0].location.segment == 2
