"""Ranges of a file within a budget: exact, whole lines, and every suggestion can be followed."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.model.errors import InvalidParams, Sensitive, TooLarge
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.ranges import MAX_BYTES, Lines, Over, Range, read_lines
from tests.support.behaviour import behaviour
from tests.workspace.attacks import Place


@pytest.fixture
def boundary(place: Place) -> Iterator[Boundary]:
    with Boundary(str(place.root)) as made:
        yield made


def read(
    boundary: Boundary,
    place: Place,
    data: bytes,
    start: int | None = None,
    end: int | None = None,
    *,
    offset: int | None = None,
    budget: int = 1000,
) -> Lines | Over:
    (place.root / "x.txt").write_bytes(data)
    return read_lines(boundary, "x.txt", start, end, offset, budget)


def lines(*args: object, **given: object) -> Lines:
    found = read(*args, **given)  # type: ignore[arg-type]  # as read
    assert isinstance(found, Lines)
    return found


def refused(*args: object, **given: object) -> str:
    with pytest.raises(InvalidParams) as error:
        read(*args, **given)  # type: ignore[arg-type]  # as read
    errors = error.value.facts["errors"]
    assert isinstance(errors, list)
    return str(errors[0]["path"])


def test_a_small_file_is_read_whole(boundary: Boundary, place: Place) -> None:
    data = b"one\r\ntwo\nthree"
    found = lines(boundary, place, data)
    assert (found.text.encode(), found.range, found.total) == (data, Range(1, 3), 3)
    assert (found.next, found.lossy, found.torn) == (None, False, False)
    assert found.digest == "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("start", "end", "text", "range_", "follows"),
    [
        (2, 2, "b\n", Range(2, 2), Range(3, 4)),
        (2, None, "b\nc\nd\n", Range(2, 4), None),
        (None, 2, "a\nb\n", Range(1, 2), Range(3, 4)),
        (4, 4, "d\n", Range(4, 4), None),
        (3, 99, "c\nd\n", Range(3, 4), None),
    ],
)
def test_a_range_is_exact_and_names_the_next(
    boundary: Boundary,
    place: Place,
    start: int | None,
    end: int | None,
    text: str,
    range_: Range,
    follows: Range | None,
) -> None:
    found = lines(boundary, place, b"a\nb\nc\nd\n", start, end)
    assert (found.text, found.range, found.next) == (text, range_, follows)


def test_a_range_outside_the_file_or_backwards_is_refused(boundary: Boundary, place: Place) -> None:
    assert refused(boundary, place, b"a\nb\n", 3) == "startLine"
    assert refused(boundary, place, b"a\nb\n", 2, 1) == "endLine"
    assert refused(boundary, place, b"", 2) == "startLine"


def test_an_empty_file_has_no_lines(boundary: Boundary, place: Place) -> None:
    found = lines(boundary, place, b"")
    assert (found.text, found.total, found.next) == ("", 0, None)


@behaviour("read.hint")
def test_more_than_the_budget_is_a_hint_that_fits_exactly(boundary: Boundary, place: Place) -> None:
    data = b"".join(b"%04d\n" % n for n in range(100))
    assert isinstance(read(boundary, place, data, budget=500), Lines)
    found = read(boundary, place, data, budget=499)
    assert isinstance(found, Over)
    assert (found.reason, found.size, found.total, found.budget) == ("overBudget", 500, 100, 499)
    assert found.suggestion == Range(1, 99)
    assert read(boundary, place, data, 51, budget=249) == Over(
        "x.txt", 500, 100, 249, "overBudget", Range(51, 99)
    )


def test_a_line_above_the_budget_is_read_by_offset(boundary: Boundary, place: Place) -> None:
    data = b"kurz\n" + "ä€🙂".encode() * 100 + b"\nend\n"
    hint = read(boundary, place, data, 2, budget=101)
    assert isinstance(hint, Over)
    assert (hint.reason, hint.suggestion) == ("lineTooLong", Range(2, 2, 0))
    assert lines(boundary, place, data, 1, 1, budget=101).next == Range(2, 2, 0)
    got, at = "", hint.suggestion
    while at.start == 2:
        part = lines(boundary, place, data, at.start, at.end, offset=at.offset, budget=101)
        assert 0 < len(part.text.encode()) <= 101
        got += part.text
        assert part.next is not None
        at = part.next
    assert (got, at) == ("ä€🙂" * 100 + "\n", Range(3, 3))


def test_an_offset_inside_a_character_or_behind_the_range_is_refused(
    boundary: Boundary, place: Place
) -> None:
    assert refused(boundary, place, "€\n".encode(), offset=1) == "offset"
    assert refused(boundary, place, "€\n".encode(), offset=4) == "offset"


def test_bytes_that_are_no_utf_8_are_shown_as_such(boundary: Boundary, place: Place) -> None:
    assert lines(boundary, place, b"caf\xe9\n").lossy
    assert not lines(boundary, place, "caf\ufffd\n".encode()).lossy


def test_what_is_no_text_is_refused(boundary: Boundary, place: Place) -> None:
    assert refused(boundary, place, b"\x7fELF\0\0") == "path"


def test_secrets_by_name_or_by_content_are_refused(boundary: Boundary, place: Place) -> None:
    place.put(".env")
    with pytest.raises(Sensitive):
        read_lines(boundary, ".env", None, None, None, 1000)
    with pytest.raises(Sensitive):
        read(boundary, place, b"-----BEGIN PRIVATE KEY-----\n")


def test_a_file_above_the_cap_is_too_large(boundary: Boundary, place: Place) -> None:
    with (place.root / "huge").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(TooLarge) as error:
        read_lines(boundary, "huge", 1, 1, None, 1000)
    assert error.value.facts == {"bytes": MAX_BYTES + 1, "limit": MAX_BYTES}


@behaviour("read.complete")
@given(st.text(alphabet="aé€🙂\n\r\u2028", max_size=200), st.integers(4, 30))
@settings(max_examples=150, deadline=None)
def test_following_every_suggestion_reads_the_whole_file(text: str, budget: int) -> None:
    with tempfile.TemporaryDirectory() as folder, Boundary(folder) as held:
        Path(folder, "x").write_bytes(text.encode())
        got, at = b"", Range(1, 0)
        first = read_lines(held, "x", None, None, None, budget)
        at = first.suggestion if isinstance(first, Over) else None  # type: ignore[assignment]  # None ends it
        if isinstance(first, Lines):
            got = first.text.encode()
        while at is not None:
            part = read_lines(held, "x", at.start, at.end, at.offset, budget)
            assert isinstance(part, Lines)
            assert 0 < len(part.text.encode()) <= budget
            got += part.text.encode()
            at = part.next
        assert got == text.encode()


@given(st.lists(st.integers(0, 40_000), max_size=12), st.integers(1, 14), st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_line_is_found_wherever_it_begins(sizes: list[int], line: int, ends: bool) -> None:
    """Across the blocks that line feeds are counted in."""
    made = [b"x" * size + b"\n" for size in sizes]
    data = b"".join(made) if ends else b"".join(made).removesuffix(b"\n")
    with tempfile.TemporaryDirectory() as folder, Boundary(folder) as held:
        Path(folder, "x").write_bytes(data)
        wanted = data.splitlines(keepends=True)
        if line > max(len(wanted), 1):
            with pytest.raises(InvalidParams):
                read_lines(held, "x", line, line, None, 10**6)
            return
        found = read_lines(held, "x", line, line, None, 10**6)
        assert isinstance(found, Lines)
        assert found.total == len(wanted)
        assert found.text.encode() == b"".join(wanted[line - 1 : line])
