"""Targets and gains in numbers (E sections 6.2 and 7, reports B.25 and E.65)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.compaction.gate import ACTIVE_TASK_HEAD, ACTIVE_TASK_TAIL, clip_task, is_gain, target
from tests.support.behaviour import behaviour


@behaviour("compaction.target")
@pytest.mark.parametrize(
    ("source", "window", "requested", "expected"),
    [
        (100_000, 6_000, None, 3_000),
        (1_000_000, 1_000_000, None, 50_000),
        (100, 1_000_000, None, 5_000),
        (100, None, None, 5_000),
        (10_000, 200_000, None, 8_000),
        (62_500, 200_000, None, 50_000),
        (62_499, 200_000, None, 49_999),
        (6_251, 200_000, None, 5_000),
        (100_000, 200_000, 20_000, 20_000),
        (100_000, 200_000, 90_000, 50_000),
        (100_000, 200_000, 0, 1),
        (100_000, 200_000, -5, 1),
        (0, 0, None, 0),
    ],
)
def test_the_target_is_the_smallest_of_its_bounds(
    source: int, window: int | None, requested: int | None, expected: int
) -> None:
    assert target(source, window, requested) == expected


@given(st.integers(0, 10**9), st.none() | st.integers(1, 10**7), st.none() | st.integers(-10, 10**9))
def test_a_request_never_raises_the_target(source: int, window: int | None, requested: int | None) -> None:
    found = target(source, window, requested)
    assert found <= max(1, target(source, window))
    assert found <= 50_000
    assert window is None or found <= max(1, window // 2)


@behaviour("compaction.gain")
@pytest.mark.parametrize(
    ("before", "after", "gain"),
    [
        (1_000, 950, True),
        (1_000, 951, False),
        (72_700, 79_700, False),
        (0, 0, True),
        (1, 1, False),
        (1, 0, True),
    ],
)
def test_a_gain_is_five_percent_or_more(before: int, after: int, gain: bool) -> None:
    assert is_gain(before, after) is gain


@behaviour("compaction.task")
def test_a_task_of_six_thousand_characters_stays_whole_and_one_more_is_cut() -> None:
    assert clip_task("x" * 6_000) == "x" * 6_000
    text = "h" * ACTIVE_TASK_HEAD + "m" + "t" * ACTIVE_TASK_TAIL
    cut = clip_task(text)
    assert cut.startswith("h" * ACTIVE_TASK_HEAD + "\n")
    assert cut.endswith("\n" + "t" * ACTIVE_TASK_TAIL)
    assert "1 characters" in cut
