"""One segment read: every whole record is found, every other byte is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxd.store.log.frame import Head, build_line, seed_of
from ctxd.store.log.scan import Scan, read_data, scan_segment

SEED = seed_of("session-1")


def line(seq: int, data: bytes = b'"body"', facts: bytes = b"") -> bytes:
    return b"".join(build_line(Head(1, seq, 1, seq - 1, f"id-{seq}", "said", 0), facts, data, SEED))


@contextmanager
def opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


def scan(path: Path, content: bytes) -> Scan:
    with opened(path, content) as fd:
        return scan_segment(fd, 1, SEED)


@pytest.mark.parametrize(
    ("content", "seqs", "spans"),
    [
        (b"", [], []),
        (line(1) + line(2), [1, 2], []),
        (line(1) + line(2)[:-1], [1, 2], []),
        (line(1) + line(2)[:-2], [1], [(len(line(1)), len(line(2)) - 2)]),
        (line(1) + b"\0" * 500 + b"\n" + line(2), [1, 2], [(len(line(1)), 501)]),
        (line(1) + b"\0" * 500 + line(2), [1, 2], [(len(line(1)), 500)]),
        (line(1)[:-1] + line(2), [1, 2], []),
        (line(1)[:40] + line(2), [2], [(0, 40)]),
        (line(1) + b"\n\n" + line(2), [1, 2], [(len(line(1)), 2)]),
        (line(1) + '"é"'.encode()[:-2] + b"\n" + line(2), [1, 2], [(len(line(1)), 3)]),
    ],
)
def test_records_on_both_sides_of_broken_bytes_are_found(
    tmp_path: Path, content: bytes, seqs: list[int], spans: list[tuple[int, int]]
) -> None:
    found = scan(tmp_path / "segment", content)
    assert [record.seq for record in found.records] == seqs
    assert found.spans == spans
    assert found.size == len(content)


def test_lines_longer_than_a_chunk_and_lines_across_chunks_are_read(tmp_path: Path) -> None:
    bodies = [b'"%s"' % (b"x" * size) for size in (3_000_000, 10, 1_048_000, 700_000, 9_000_000, 5)]
    content = b"".join(line(seq, body) for seq, body in enumerate(bodies, 1))
    with opened(tmp_path / "segment", content) as fd:
        found = scan_segment(fd, 1, SEED)
        assert found.spans == []
        pieces = [read_data(fd, record.location, SEED) for record in found.records]
    assert [piece and piece[1] for piece in pieces] == bodies


def test_a_record_behind_more_nuls_than_fit_in_memory_is_found(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(line(1))
    with path.open("r+b") as file:
        file.seek(len(line(1)) + 50_000_000)
        file.write(line(2))
    fd = os.open(path, os.O_RDONLY)
    found = scan_segment(fd, 1, SEED)
    os.close(fd)
    assert [record.seq for record in found.records] == [1, 2]
    assert found.spans == [(len(line(1)), 50_000_000)]


def test_a_body_behind_long_facts_is_read_and_verified(tmp_path: Path) -> None:
    facts = b'{"text":"%s"}' % (b"f" * 100_000)
    with opened(tmp_path / "segment", line(1) + line(2, b'"second"', facts) + line(3)) as fd:
        record = scan_segment(fd, 1, SEED).records[1]
        pieces = read_data(fd, record.location, SEED)
    assert record.facts == facts
    assert pieces is not None
    assert pieces[1] == b'"second"'


def test_a_body_that_changed_since_it_was_scanned_is_not_given_out(tmp_path: Path) -> None:
    content = line(1) + line(2) + line(3)
    record = scan(tmp_path / "segment", content).records[1]
    for position in range(len(line(1)), len(line(1) + line(2)) - 1):
        changed = bytearray(content)
        changed[position] ^= 1
        with opened(tmp_path / "segment", bytes(changed)) as fd:
            assert read_data(fd, record.location, SEED) is None, position
