"""A record on one line: what goes in comes out, and nothing else verifies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.model.errors import TooLarge
from ctxd.model.records import Draft
from ctxd.store.log.frame import (
    MAX_LINE,
    Head,
    build_line,
    check_draft,
    read_line,
    read_lines,
    salvage,
    seed_of,
)
from tests.support.behaviour import behaviour

SEED = seed_of("session-1")
AWKWARD = [
    '"\u2028 and \u2029 and \x85"',
    '"\\u0000"',
    '"\\ud800 alone"',
    '"\\"c\\":\\"00000000\\"}"',
    '{"data":1,"facts":{},"c":"00000000"}',
    "18446744073709551616",
    '[{"v":1,"seq":1}]',
    "null",
]


def make(data: bytes, facts: bytes = b"", batch: tuple[int, int] | None = None, seq: int = 7) -> bytes:
    head = Head(1, seq, 3, seq - 1, "id-1", "said", 1_764_500_000_000, batch)
    return b"".join(build_line(head, facts, data, SEED))


def read(line: bytes, seed: int = SEED) -> tuple[Head, bytes, bytes] | None:
    assert line.endswith(b"\n")
    found = read_line(line, memoryview(line), 0, len(line) - 1, seed)
    return found and (found[0], found[1], line[found[2] : -17])


@behaviour("D2.any-json")
@pytest.mark.parametrize("data", AWKWARD)
def test_awkward_bodies_come_back_byte_for_byte(data: str) -> None:
    line = make(data.encode(), b'{"f":1}')
    assert line.count(b"\n") == 1
    found = read(line)
    assert found is not None
    assert found[1:] == (b'{"f":1}', data.encode())


@behaviour("D2.any-json")
@given(
    data=st.recursive(
        st.none() | st.text() | st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    ),
    facts=st.dictionaries(st.text(), st.text() | st.integers()),
    batch=st.none() | st.tuples(st.integers(0, 99), st.integers(1, 100)),
    ascii_only=st.booleans(),
)
def test_any_json_comes_back_byte_for_byte(
    data: object, facts: dict[str, object], batch: tuple[int, int] | None, ascii_only: bool
) -> None:
    body = json.dumps(data, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    about = json.dumps(facts, separators=(",", ":"), ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    found = read(make(body, about, batch))
    assert found is not None
    assert found == (Head(1, 7, 3, 6, "id-1", "said", 1_764_500_000_000, batch), about, body)


@behaviour("D2.frame")
def test_a_line_is_valid_json_with_the_checksum_last() -> None:
    line = json.loads(make(b'{"b":2}', b'{"f":1}', (0, 2)))
    assert list(line) == ["v", "seq", "ep", "ack", "id", "type", "at", "batch", "facts", "data", "c"]
    assert line["data"] == {"b": 2}
    assert "facts" not in json.loads(make(b"1"))


@behaviour("D2.seed")
def test_a_line_of_another_session_does_not_verify() -> None:
    assert read(make(b"1"), seed_of("session-2")) is None


@behaviour("D2.bit-flip")
def test_no_flipped_bit_verifies() -> None:
    line = make(b'{"text":"hello"}', b'{"f":1}')
    for position in range(len(line) - 1):
        for bit in range(8):
            flipped = bytearray(line)
            flipped[position] ^= 1 << bit
            assert read(bytes(flipped)) is None, (position, bit)


@pytest.mark.parametrize(
    "draft",
    [
        Draft(id="", type="said", data=b"1"),
        Draft(id='a"b', type="said", data=b"1"),
        Draft(id="a" * 201, type="said", data=b"1"),
        Draft(id="a", type="9", data=b"1"),
        Draft(id="a", type="two words", data=b"1"),
        Draft(id="a", type="said", data=b""),
        Draft(id="a", type="said", data=b"[1,\n2]"),
        Draft(id="a", type="said", data=b"1", facts=b'{"a":\n1}'),
        Draft(id="a", type="said", data=b"1", facts=b'{"a":\t1}'),
    ],
)
def test_a_draft_that_would_break_the_frame_is_refused(draft: Draft) -> None:
    with pytest.raises(ValueError):
        check_draft(draft)


@pytest.mark.parametrize("facts", [b'{"a":1,"data":2,"facts":3}', b'{"t":"x,\\t\\"data\\":1"}'])
def test_the_words_of_the_frame_may_stand_in_facts_and_bodies(facts: bytes) -> None:
    check_draft(Draft(id="a", type="said", data=facts, facts=facts))
    found = read(make(facts, facts))
    assert found is not None
    assert found[1:] == (facts, facts)


def test_a_body_may_be_laid_out_with_tabs() -> None:
    body = b'{\t"data":\t[1,\t"facts"]}'
    for facts in (b"", b'{"f":1}'):
        found = read(make(body, facts))
        assert found is not None
        assert found[1:] == (facts, body)


def test_many_lines_read_at_once_are_the_same_as_one_by_one() -> None:
    lines = [
        make(body, facts, batch, seq)
        for seq, (body, facts, batch) in enumerate(
            [(b"1", b"", None), (b'{\t"data":1}', b'{"f":1}', (0, 2)), (b'"x"', b"", (1, 2))], 1
        )
    ]
    chunk = b"".join(lines)
    ends = [position for position, byte in enumerate(chunk) if byte == 0x0A]
    starts = [0, *[end + 1 for end in ends[:-1]]]
    found = read_lines(chunk, starts, ends, SEED)
    assert found is not None
    one_by_one = [read_line(chunk, memoryview(chunk), *at, SEED) for at in zip(starts, ends, strict=True)]
    assert list(zip(found.heads, found.facts, found.data, strict=True)) == one_by_one
    assert [chunk[a:b] for a, b in zip(found.data, found.ends, strict=True)] == [
        b"1",
        b'{\t"data":1}',
        b'"x"',
    ]


@pytest.mark.parametrize("where", [0, 1, 2])
def test_many_lines_are_only_read_at_once_when_all_are_right(where: int) -> None:
    lines = [make(b'"%d"' % n, b'{"f":1}', seq=n) for n in range(1, 4)]
    for position in range(len(lines[where]) - 1):
        changed = bytearray(lines[where])
        changed[position] ^= 1
        chunk = b"".join([*lines[:where], bytes(changed), *lines[where + 1 :]])
        ends = [sum(map(len, lines[: n + 1])) - 1 for n in range(3)]
        assert read_lines(chunk, [0, ends[0] + 1, ends[1] + 1], ends, SEED) is None, position


@behaviour("D2.limit")
def test_a_line_above_16_mib_is_refused_with_its_size() -> None:
    check_draft(Draft(id="a", type="said", data=b"1" * (MAX_LINE - 1000)))
    with pytest.raises(TooLarge) as caught:
        check_draft(Draft(id="a", type="said", data=b"1" * MAX_LINE))
    assert caught.value.facts["limit"] == MAX_LINE


@pytest.mark.parametrize("between", [b"", b"\0" * 500, b"\xc3", b'{"v":1,"seq":9,"ep":3,"da', b"}{"])
def test_records_fused_on_one_line_are_told_apart(between: bytes) -> None:
    one, two = make(b'"one"', seq=7)[:-1], make(b'"two"', b'{"f":2}', seq=8)[:-1]
    fused = one + between + two
    found = list(salvage(fused, memoryview(fused), 0, len(fused), SEED))
    assert found == [(0, len(one)), (len(one) + len(between), len(fused))]


def test_salvage_of_hostile_bytes_is_bounded() -> None:
    hostile = b'{"v":1,"seq":' * 2000 + b',"c":"00000000"}' * 2000
    assert list(salvage(hostile, memoryview(hostile), 0, len(hostile), SEED)) == []
