"""What results of one turn may show: scaled to the window, never more than the turn's limit together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.compaction.result_budget import FAVOUR, ResultLimits, Wish, limits_for, share_out
from ctxd.model.settings import RecallOptions
from tests.support.behaviour import behaviour

DEFAULTS = RecallOptions()


@behaviour("budget.window")
@pytest.mark.parametrize(
    ("window", "result", "turn"),
    [
        (None, 102_400, 204_800),
        (1_000_000, 102_400, 204_800),
        (200_000, 100_000, 200_000),
        (128_000, 64_000, 128_000),
        (32_768, 16_384, 32_768),
        (8_192, 4_096, 8_192),
        (2_000, 1_000, 2_000),
        (1, 1, 1),
    ],
)
def test_limits_are_scaled_to_the_window(window: int | None, result: int, turn: int) -> None:
    assert limits_for(DEFAULTS, window) == ResultLimits(result, turn)


@pytest.mark.parametrize("window", [4_096, 8_192, 16_384, 32_768, 128_000, 200_000, 1_000_000])
def test_a_full_turn_leaves_room_in_every_window(window: int) -> None:
    limits = limits_for(DEFAULTS, window)
    assert limits.turn <= window * 4 // 4
    assert limits.result * 2 <= max(limits.turn, 2)


def test_options_are_upper_bounds() -> None:
    small = RecallOptions(spill_bytes=500, turn_bytes=800)
    assert limits_for(small, 1_000_000) == ResultLimits(500, 800)
    assert limits_for(RecallOptions(spill_bytes=10**6, turn_bytes=800), None) == ResultLimits(800, 800)


WISHES = st.lists(
    st.builds(Wish, wanted=st.integers(0, 5_000), least=st.integers(0, 300), favoured=st.booleans()),
    max_size=40,
)


@given(st.integers(-100, 20_000), WISHES)
def test_shares_never_exceed_the_room_or_the_wishes(room: int, wishes: list[Wish]) -> None:
    given_bytes = share_out(room, wishes)
    least = [min(wish.least, wish.wanted) for wish in wishes]
    assert sum(given_bytes) <= max(room, sum(least))
    for wish, share, bottom in zip(wishes, given_bytes, least, strict=True):
        assert bottom <= share <= wish.wanted
    if sum(wish.wanted for wish in wishes) <= room:
        assert given_bytes == [wish.wanted for wish in wishes]
    elif wishes and room > sum(least):
        assert sum(given_bytes) > room - len(wishes) - FAVOUR * len(wishes)


@behaviour("budget.favours")
def test_small_ones_stay_whole_and_favoured_ones_keep_most() -> None:
    small, large, error = Wish(100, 50), Wish(10_000, 50), Wish(10_000, 50, favoured=True)
    shares = share_out(6_100, [small, large, large, error])
    assert shares[0] == 100
    assert shares[1] == shares[2]
    assert 3 * shares[1] < shares[3] < 4.2 * shares[1]
    assert share_out(12_000, [large, error])[1] > 8_000
