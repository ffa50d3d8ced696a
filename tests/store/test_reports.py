"""Public reports of how logs go wrong elsewhere, section F, each with the right behaviour."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from pathlib import Path

import pytest

from ctxd.model.errors import SessionLocked
from ctxd.model.records import Draft
from tests.store.desk import SID, Desk, check_bodies, names
from tests.support.behaviour import behaviour


def filled(desk: Desk, *ids: str) -> Path:
    log = desk.open()
    for name in ids:
        desk.append(log, name)
    log.close()
    return desk.segments()[-1]


def record_line(segment: Path, name: str) -> bytes:
    lines = segment.read_bytes().splitlines(keepends=True)
    return next(line for line in lines if f'"id":"{name}"'.encode() in line)


@behaviour("store.broken-tail")
@pytest.mark.parametrize(
    "tail",
    [b'{"a":1,"b":"tr', "é".encode()[:1], b"\0" * 500, b"\0" * 500 + b"\n", b'{"a":1}{"b":2}\n'],
    ids=["torn json", "half a character", "nuls", "a line of nuls", "two objects on one line"],
)
def test_f66_an_append_after_a_broken_tail_is_not_swallowed_and_the_bytes_are_reported(
    desk: Desk, tail: bytes
) -> None:
    segment = filled(desk, "a", "b")
    size = segment.stat().st_size
    with segment.open("ab") as file:
        file.write(tail)
    log = desk.open()
    assert log.recovered is not None
    assert (log.recovered.offset, log.recovered.length) == (size, len(tail))
    desk.append(log, "c")
    log.close()
    assert names(desk.open().records) == ["a", "b", "c"]


@pytest.mark.parametrize("junk", [b"\0" * 500 + b"\n", b"\0" * 500, b'{"a":1,"b":"tr\n', b"\xff\xfe\n"])
def test_f66_broken_bytes_between_records_hide_neither_side(desk: Desk, junk: bytes) -> None:
    segment = filled(desk, "a", "b", "c")
    line = record_line(segment, "b")
    segment.write_bytes(segment.read_bytes().replace(line, line + junk))
    log = desk.open("read")
    assert names(log.records) == ["a", "b", "c"]
    check_bodies(log, log.records)
    assert [span.length for span in log.health.spans] == [len(junk)]
    assert log.health.status == "torn"


@behaviour("store.broken-tail")
def test_f66_two_records_fused_on_one_line_are_both_read(desk: Desk) -> None:
    segment = filled(desk, "a", "b", "c")
    line = record_line(segment, "b")
    segment.write_bytes(segment.read_bytes().replace(line, line[:-1]))
    log = desk.open()
    assert names(log.records) == ["a", "b", "c"]
    check_bodies(log, log.records)
    desk.append(log, "d")
    log.close()
    assert names(desk.open().records) == ["a", "b", "c", "d"]


def test_f66_a_torn_record_fused_with_the_next_leaves_a_gap_and_not_a_shorter_history(desk: Desk) -> None:
    segment = filled(desk, "a", "b", "c")
    line = record_line(segment, "b")
    segment.write_bytes(segment.read_bytes().replace(line, line[:60]))
    log = desk.open()
    assert names(log.records) == ["a", "c"]
    assert log.health.status == "damaged"
    assert 60 in [span.length for span in log.health.spans]


@behaviour("store.broken-tail")
def test_f66_one_malformed_line_does_not_stop_the_reading(desk: Desk) -> None:
    ids = [f"m{n}" for n in range(50)]
    segment = filled(desk, *ids)
    line = record_line(segment, "m7")
    segment.write_bytes(segment.read_bytes().replace(line, line.replace(b'"type":"said"', b'"type":"sAid"')))
    log = desk.open()
    assert names(log.records) == [name for name in ids if name != "m7"]


@behaviour("store.two-processes")
def test_f68_two_processes_never_write_one_session(desk: Desk, memory_path: Path) -> None:
    first = desk.open()
    desk.append(first, "a")
    other = Desk(memory_path / "state")
    with pytest.raises(SessionLocked):
        other.open()
    first.close()
    second = other.open()
    other.append(second, "b")
    assert second.epoch == first.epoch + 1
    second.close()
    log = desk.open()
    assert [r.seq for r in log.records] == list(range(1, len(log.records) + 1))
    assert names(log.records) == ["a", "b"]
    other.close()


@behaviour("D8.replaced-lock")
def test_f68_a_writer_that_lost_its_lease_is_stopped_before_it_writes(desk: Desk, memory_path: Path) -> None:
    first = desk.open()
    desk.append(first, "a")
    (desk.layout().sessions / SID / f"{SID}.lock").unlink()
    other = Desk(memory_path / "state")
    second = other.open()
    with pytest.raises(SessionLocked):
        desk.append(first, "late")
    other.append(second, "b")
    second.close()
    assert names(desk.open().records) == ["a", "b"]
    other.close()


@behaviour("store.temporary-names")
def test_f69_a_temporary_name_is_never_shared(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    used: list[str] = []
    real = os.rename

    def watch(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        used.append(source)
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", watch)
    ledger = desk.ledger()
    for n in range(50):
        ledger.put(b"%d" % n)
    ledger.close()
    assert len(used) == len(set(used)) == 50


@behaviour("store.memory")
def test_f70_opening_a_log_takes_memory_for_facts_and_not_for_bodies(desk: Desk) -> None:
    log = desk.open()
    body = b'"%s"' % (b"x" * 1_000_000)
    for n in range(60):
        desk.append_drafts(log, [Draft(id=f"m{n}", type="said", data=body, facts=b'{"n":%d}' % n)])
    log.close()
    gc.collect()
    tracemalloc.start()
    try:
        again = desk.open("read")
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(names(again.records)) == 60
    assert again.health.bytes > 60_000_000
    assert held < 500_000
    assert peak < 12_000_000


def test_f70_a_log_keeps_no_body_in_memory_after_an_append(desk: Desk) -> None:
    log = desk.open()
    body = b'"%s"' % (b"x" * 1_000_000)
    before = sys.getrefcount(body)
    records = desk.append_drafts(log, [Draft(id="big", type="said", data=body)])
    gc.collect()
    assert sys.getrefcount(body) == before
    assert log.read(records[0].location) == body
