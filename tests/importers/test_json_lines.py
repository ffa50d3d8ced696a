"""Damaged JSON Lines: each kind of damage costs only itself (reports F.66)."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ctxd.importers.json_lines import read_lines, read_records
from ctxd.importers.steps import NoteTaker

RECORD = b'{"a":1,"b":"x"}'
NESTED = b'{"type":"progress","data":{"message":{"type":"user","text":"inner"}}}'

CASES: list[tuple[str, bytes, list[Any], dict[str, tuple[int, ...]]]] = [
    ("sound lines", RECORD + b"\n" + RECORD + b"\n", [1, 2], {}),
    ("no line feed at the end", RECORD + b"\n" + RECORD, [1, 2], {}),
    ("blank lines", b"\n" + RECORD + b"\n  \t\n", [2], {"blankLine": (1, 3)}),
    ("two objects on a line", RECORD + RECORD + b"\n", [1, 1], {"fusedLine": (1,)}),
    ("objects fused with a blank", RECORD + b"  " + RECORD, [1, 1], {"fusedLine": (1,)}),
    ("a torn record in front of a whole one", b'{"a":1,"b":"tr' + RECORD, [1], {"tornRecord": (1,)}),
    ("a whole record, then a torn one", RECORD + b'{"a":1,"b":"tr\n' + RECORD, [1, 2], {"tornRecord": (1,)}),
    ("a torn tail", RECORD + b'\n{"a":1,"b":"tr', [1], {"tornRecord": (2,)}),
    ("a tail cut after a nested object", NESTED[:-2], [], {"tornRecord": (1,)}),
    ("a line of NUL bytes", b"\0" * 500 + b"\n" + RECORD, [2], {"nulRun": (1,)}),
    ("NUL bytes before a record", b"\0" * 413 + RECORD + b"\n", [1], {"nulRun": (1,)}),
    (
        "NUL bytes inside a record",
        b'{"a":1,"b":"tr' + b"\0" * 9 + RECORD + b"\n" + RECORD,
        [1, 2],
        {"nulRun": (1,), "tornRecord": (1,)},
    ),
    (
        "a character cut in its middle",
        '{"a":1,"b":"é'.encode()[:-1] + b"\n" + RECORD,
        [2],
        {"invalidUtf8": (1,), "tornRecord": (1,)},
    ),
    ("a stray byte in a whole record", b'{"b":"\xff"}', [1], {"invalidUtf8": (1,)}),
    ("a value that is no object", b"[1,2]\n7\n" + RECORD, [3], {"notARecord": (1, 2)}),
    ("NaN is not JSON", b'{"a":NaN}\n' + RECORD, [2], {"tornRecord": (1,)}),
    ("a number too long to read", b'{"a":' + b"9" * 5000 + b"}\n" + RECORD, [2], {"tornRecord": (1,)}),
    ("nesting too deep to read", b"[" * 200_000 + b"\n" + RECORD, [2], {"tornRecord": (1,)}),
    ("a line feed look-alike", '{"a":"\u2028\x85"}\n'.encode() + RECORD, [1, 2], {}),
]


@pytest.mark.parametrize(("data", "lines", "noted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_every_whole_record_is_recovered_and_the_rest_is_noted(
    data: bytes, lines: list[int], noted: dict[str, tuple[int, ...]]
) -> None:
    notes = NoteTaker()
    records = list(read_records(read_lines(io.BytesIO(data), notes), notes))
    assert [line for line, _ in records] == lines
    assert {note.kind: note.lines for note in notes.notes()} == noted


def test_a_line_above_the_limit_is_drained_and_its_neighbours_are_read() -> None:
    notes = NoteTaker()
    data = RECORD + b"\n" + b'{"long":"' + b"x" * 500 + b'"}\n' + RECORD
    lines = list(read_lines(io.BytesIO(data), notes, max_bytes=100))
    assert lines == [(1, RECORD), (3, RECORD)]
    assert [(note.kind, note.lines) for note in notes.notes()] == [("tooLong", (2,))]


def test_notes_keep_every_count_but_only_the_first_lines() -> None:
    notes = NoteTaker(most_lines=3)
    for line in range(1, 11):
        notes.note("blankLine", line)
    (note,) = notes.notes()
    assert (note.count, note.lines) == (10, (1, 2, 3))
