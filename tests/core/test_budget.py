"""Window, reserve and thresholds, with E section 3's numbers and the places where ctxd does better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.core.budget import Limits, Window, limit, part, phase_of, resolve_window
from ctxd.model.events import Model
from ctxd.model.settings import Budget
from tests.support.behaviour import behaviour

SAFE_MAX = 2**53 - 1


def limits(window: int, cap: int | None = None, reserve: int = 0) -> Limits:
    found = limit(Window(window, "host"), Model(max_output_tokens=cap), Budget(reserve=reserve))
    assert found is not None
    return found


@behaviour("budget.reserve")
@pytest.mark.parametrize(
    ("window", "reserve"),
    [
        (1_000_000, 32_768),
        (327_690, 32_768),
        (200_000, 20_000),
        (100_000, 10_000),
        (81_920, 8_192),
        (20_000, 8_192),
        (16_384, 8_192),
        (8_192, 4_096),
        (1_000, 500),
        (3, 1),
    ],
)
def test_the_reserve_is_a_tenth_within_bounds_and_at_most_half_the_window(window: int, reserve: int) -> None:
    found = limits(window)
    assert (found.reserve, found.available) == (reserve, window - reserve)


@behaviour("budget.small-windows")
def test_an_8k_window_has_thresholds_where_e_said_unknown_for_ever() -> None:
    assert limits(8_192) == Limits(8_192, 4_096, 4_096, 2_867, 3_276)


@pytest.mark.parametrize(
    ("cap", "reserve", "expected"),
    [
        (10_000, 0, 10_000),
        (0, 0, 20_000),
        (None, 0, 20_000),
        (10_000, 5_000, 5_000),
        (150_000, 0, 100_000),
        (1, 0, 1),
    ],
)
def test_an_output_cap_above_zero_is_the_reserve_and_zero_says_nothing(
    cap: int | None, reserve: int, expected: int
) -> None:
    assert limits(200_000, cap, reserve).reserve == expected


@pytest.mark.parametrize(
    ("amount", "ratio", "expected"),
    [
        (SAFE_MAX, 0.7, 6_305_039_478_318_693),
        (SAFE_MAX, 0.8, 7_205_759_403_792_792),
        (100_000, 0.7, 70_000),
        (9, 0.7, 6),
        (10, 0.1, 1),
        (0, 0.8, 0),
        (7, 1.0, 7),
        (7, 0.0, 0),
    ],
)
def test_parts_are_exact_however_large_the_amount(amount: int, ratio: float, expected: int) -> None:
    assert part(amount, ratio) == expected


@given(st.integers(0, 2**70), st.sampled_from([0.7, 0.8]))
def test_a_part_is_the_part_in_whole_numbers(amount: int, ratio: float) -> None:
    tenths = 7 if ratio == 0.7 else 8
    assert part(amount, ratio) == amount * tenths // 10


@pytest.mark.parametrize(
    ("tokens", "phase"),
    [
        (0, "below_handoff"),
        (69_999, "below_handoff"),
        (70_000, "handoff_band"),
        (79_999, "handoff_band"),
        (80_000, "compaction_due"),
        (SAFE_MAX, "compaction_due"),
    ],
)
def test_being_at_a_threshold_is_being_beyond_it(tokens: int, phase: str) -> None:
    assert phase_of(tokens, limits(110_000, 10_000)) == phase


def test_without_a_window_the_phase_is_unknown() -> None:
    assert limit(Window(None, "unknown"), Model(max_output_tokens=5), Budget()) is None
    assert phase_of(10**9, None) == "unknown"


def test_options_move_the_thresholds() -> None:
    found = limit(Window(110_000, "host"), Model(max_output_tokens=10_000), Budget(0.5, 0.95))
    assert found is not None
    assert (found.handoff, found.compaction) == (50_000, 95_000)


@behaviour("budget.unknown")
@pytest.mark.parametrize(
    ("model", "overrides", "catalog", "expected"),
    [
        (Model(id="a", context_window=5), {"a": 6}, 7, Window(5, "host")),
        (Model(id="a"), {"a": 6}, 7, Window(6, "host")),
        (Model(id="a"), {"b": 6}, 7, Window(7, "catalog")),
        (Model(id="a"), {}, None, Window(None, "unknown")),
        (Model(id="a", context_window=0), {}, None, Window(None, "unknown")),
        (Model(id="a", context_window=-1), {}, 7, Window(7, "catalog")),
    ],
)
def test_the_host_is_believed_before_the_catalog_and_nothing_is_guessed(
    model: Model, overrides: dict[str, int], catalog: int | None, expected: Window
) -> None:
    assert resolve_window(model, overrides, catalog) == expected
