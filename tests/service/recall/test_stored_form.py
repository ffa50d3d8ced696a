"""Stored forms: pages, lines and ranges of large and odd bytes, and a shelf that stays bounded."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.service.recall import stored_form
from ctxd.service.recall.stored_form import CHUNK_BYTES, RANGE_BYTES, Part, Shelf, StoredForm, paginate

TEXTS = st.text(st.sampled_from("a\né你😀\x00"), max_size=80)


@given(TEXTS)
def test_lines_are_where_splitting_puts_them(text: str) -> None:
    form = StoredForm(text.encode())
    lines = text.encode().split(b"\n")
    assert form.lines == len(lines)
    position = 0
    for number, line in enumerate(lines, 1):
        assert form.line_start(number) == position
        assert form.line_at(position) == number
        assert form.take(Part(start_line=number, end_line=number), 10).content == line.decode()
        position += len(line) + 1


@pytest.mark.parametrize("line_bytes", [1, 7, 100, CHUNK_BYTES, CHUNK_BYTES + 1])
def test_lines_are_found_across_chunks(line_bytes: int) -> None:
    count = min(200_000, 5 * CHUNK_BYTES // line_bytes + 3)
    form = StoredForm((b"x" * (line_bytes - 1) + b"\n") * count)
    for number in {1, 2, count // 2, count, count + 1}:
        assert form.line_start(number) == (number - 1) * line_bytes
        assert form.line_at(form.line_start(number)) == number


@given(TEXTS, st.integers(1, 9))
def test_pages_are_whole_characters_whatever_their_size(text: str, page_bytes: int) -> None:
    data = text.encode()
    starts = [*paginate(data, page_bytes), len(data)]
    pages = [data[a:b].decode() for a, b in itertools.pairwise(starts)]
    assert "".join(pages) == text
    assert all(pages) or not text


@given(TEXTS, st.integers(0, 300), st.integers(1, 40))
def test_pieces_follow_each_other_without_gap_and_without_cutting_a_character(
    text: str, offset: int, most: int
) -> None:
    form = StoredForm(text.encode())
    size = len(form.data)
    start, stop = form.piece(offset, size, most)
    assert start <= offset
    found = form.data[:start].decode()
    while start < size:
        assert stop > start
        assert stop - start <= max(most, 4)
        found += form.data[start:stop].decode()
        start, stop = form.piece(stop, size, most)
    assert found == text


def test_a_long_range_comes_in_parts_that_meet() -> None:
    text = "0123456789" * (RANGE_BYTES // 10 * 2 + 7)
    form = StoredForm(text.encode())
    found, part = "", Part(offset=3)
    while part is not None:
        taken = form.take(part, 100)
        assert len(taken.content) <= RANGE_BYTES
        found, part = found + taken.content, taken.next
    assert found == text[3:]


@pytest.mark.parametrize("line", ["x" * 99, "y" * (RANGE_BYTES + 5)], ids=["short lines", "one long line"])
def test_a_long_line_range_comes_in_parts_that_meet(line: str) -> None:
    lines = [line] * (3 * RANGE_BYTES // len(line))
    form = StoredForm("\n".join([*lines, "end"]).encode())
    taken = form.take(Part(start_line=1, end_line=len(lines)), 100)
    assert len(taken.content) <= RANGE_BYTES
    assert taken.next is not None
    again = form.take(taken.next, 100)
    assert again.start in (taken.stop, taken.stop + 1)


def test_what_is_on_the_shelf_stays_bounded_and_the_newest_is_always_there() -> None:
    shelf = Shelf(most=1_000)
    forms = [StoredForm(b"%d" % number * 400) for number in range(10)]
    for form in forms:
        shelf.put(form)
        shelf.put(form)
        assert shelf.get(form.digest) is form
    kept = [form for form in forms if shelf.get(form.digest)]
    assert sum(len(form.data) for form in kept) <= 1_000
    huge = StoredForm(b"x" * 5_000)
    shelf.put(huge)
    assert [shelf.get(form.digest) for form in [*forms, huge]] == [None] * 10 + [huge]
    assert stored_form.CACHE_BYTES <= 128 * 1024 * 1024
