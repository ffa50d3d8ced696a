from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ctxd.core.abridgement import Abridged, Bounds, abridge
from tests.support.behaviour import behaviour

WIDE = Bounds(200, 25_600, 6_000)


def count(text: str) -> int:
    return -(-len(text) // 4)


def made(lines: Sequence[str], topics: Sequence[str] = (), bounds: Bounds = WIDE) -> Abridged:
    return abridge(lines, [f"- {topic}" for topic in topics], bounds, count, "MEMORY.md")


def test_what_fits_is_shown_as_it_is() -> None:
    assert made(["# T", "", "- x"], ["a"]).text == "# T\n\n- x\n\nTopics:\n- a"
    assert made([]).text == ""


@behaviour("memory.index-bounded")
def test_of_10000_entries_the_newest_are_shown_and_the_rest_is_named() -> None:
    lines = [f"- [2026-{1 + n // 900:02}-{1 + n % 28:02}] entry {n}" for n in range(10_000)]
    found = made(["# Project", *lines])
    shown = found.text.split("\n")
    assert len(shown) <= 200
    assert len(found.text.encode()) <= 25_600
    assert count(found.text) == found.tokens <= 6_000
    assert shown[0] == "# Project"
    newest = sorted(lines, key=lambda line: line[3:13])[-1]
    assert newest in shown
    left = {n for run in found.omitted for n in range(run.first, run.last + 1)}
    numbers = {line: n for n, line in enumerate(["# Project", *lines], 1)}
    assert {numbers[line] for line in shown if line in numbers} | left == set(range(1, 10_002))
    assert f"[Left out of MEMORY.md: {found.omitted_lines} lines, " in found.text


@behaviour("memory.index-bounded")
def test_a_replaced_entry_goes_before_any_that_holds() -> None:
    lines = ["- [2026-01-01] holds", *["- ~~[2026-11-30] gone~~"] * 20, *["- [2026-11-01] newer"] * 5]
    found = made(lines, bounds=Bounds(16, 4_000, 1_000))
    assert "- [2026-01-01] holds" in found.text
    assert "gone" not in found.text
    assert [(run.first, run.last) for run in found.omitted] == [(2, 21)]


def test_lines_without_a_day_are_as_old_as_the_entry_they_follow() -> None:
    lines = [
        "prose at the top",
        *[f"- [2026-01-{n:02}] old" for n in range(1, 29)],
        "  of the 28th",
        *[f"- [2026-02-{n:02}] new" for n in range(1, 4)],
    ]
    found = made(lines, bounds=Bounds(14, 4_000, 1_000))
    assert "prose at the top" in found.text
    assert "  of the 28th" in found.text
    assert "[2026-01-01]" not in found.text.split("[Left out")[0]


def test_one_line_that_is_larger_than_the_index_is_left_out_and_named() -> None:
    found = made(["short", "x" * 100_000, "- [2026-11-30] newest"])
    assert "short" in found.text
    assert "newest" in found.text
    assert [(run.first, run.last, run.bytes) for run in found.omitted] == [(2, 2, 100_001)]
    assert "line 2" in found.text


def test_many_topics_leave_room_for_what_was_said_and_are_named_when_they_are_not_listed() -> None:
    topics = [f"topic {n:04}" for n in range(1_000)]
    found = made(["- [2026-11-30] said"], topics)
    assert "- [2026-11-30] said" in found.text
    assert len(found.text.split("\n")) <= 200
    assert found.text.endswith(
        f"[Left out: {len(found.topics_omitted)} topics: {found.topics_omitted[0]} to topic 0999.]"
    )


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=40), max_size=60),
    topics=st.lists(st.text("abc", min_size=1, max_size=20), max_size=30),
    bounds=st.builds(Bounds, st.integers(12, 40), st.integers(400, 3_000), st.integers(150, 900)),
)
def test_bounds_hold_whatever_there_is_and_nothing_vanishes_unnamed(
    lines: list[str], topics: list[str], bounds: Bounds
) -> None:
    found = made(lines, topics, bounds)
    assert found.text.count("\n") < bounds.lines + 1
    assert len(found.text.encode()) <= bounds.bytes
    assert found.tokens <= bounds.tokens
    left = {n for run in found.omitted for n in range(run.first, run.last + 1)}
    for number, line in enumerate(lines, 1):
        assert number in left or line in found.text
