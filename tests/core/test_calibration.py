"""What a session learns from its own reports: a ratio, and how far to trust it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.core.calibration import ANCHORED_PRIOR, PRIOR_WEIGHT, WINDOW, Calibration
from tests.support.behaviour import behaviour


def learn(
    known: Calibration, counted: int, reported: int, predicted: int = 0, prompt: int = 0
) -> Calibration:
    return known.learn(counted=counted, reported=reported, predicted=predicted, prompt=prompt)


def test_the_ratio_starts_at_the_factor_of_the_family() -> None:
    assert Calibration().ratio(1.27) == pytest.approx(1.27)


def test_as_much_evidence_as_the_prior_moves_the_ratio_half_way() -> None:
    known = learn(Calibration(), PRIOR_WEIGHT, PRIOR_WEIGHT * 2)
    assert known.ratio(1.0) == pytest.approx(1.5)


def test_many_reports_of_one_ratio_lead_to_it() -> None:
    known = Calibration()
    for _ in range(200):
        known = learn(known, 5_000, 6_000)
    assert known.ratio(1.0) == pytest.approx(1.2, abs=0.01)


@pytest.mark.parametrize(
    ("counted", "reported"),
    [(199, 220), (1_000, 599), (1_000, 2_501), (0, 0), (0, 500), (-500, -600), (1_000, -1_000)],
)
def test_an_increment_that_says_nothing_of_the_tokenizer_is_not_learned(counted: int, reported: int) -> None:
    assert learn(Calibration(), counted, reported) == Calibration()


@pytest.mark.parametrize(("counted", "reported"), [(200, 220), (1_000, 600), (1_000, 2_500)])
def test_an_increment_at_the_bounds_is_learned(counted: int, reported: int) -> None:
    assert learn(Calibration(), counted, reported).estimated == counted


@pytest.mark.parametrize(("predicted", "prompt"), [(0, 100), (100, 0), (0, 0)])
def test_no_error_is_learned_without_prediction_and_prompt(predicted: int, prompt: int) -> None:
    assert learn(Calibration(), 0, 0, predicted, prompt).errors == ()


def test_errors_keep_their_sign_and_only_the_newest_count() -> None:
    known = Calibration()
    for number in range(WINDOW + 5):
        known = learn(known, 0, 0, 100, 100 + number)
    assert len(known.errors) == WINDOW
    assert known.errors[-1] == pytest.approx((WINDOW + 4) / (WINDOW + 104))
    assert learn(Calibration(), 0, 0, 110, 100).errors[0] == pytest.approx(-0.1)


def test_without_errors_the_interval_is_the_prior() -> None:
    assert Calibration().half_width() == ANCHORED_PRIOR


def test_the_prior_fades_as_errors_come_in() -> None:
    widths = [Calibration(errors=(0.0001,) * n).half_width() for n in (1, WINDOW // 2, WINDOW)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0.002


@behaviour("projection.interval")
@given(st.lists(st.floats(-0.5, 0.5), min_size=WINDOW, max_size=WINDOW))
def test_the_interval_covers_the_errors_it_was_made_of(errors: list[float]) -> None:
    width = Calibration(errors=tuple(errors)).half_width()
    inside = sum(abs(error) <= width for error in errors)
    assert inside >= 0.95 * len(errors)


@given(
    st.lists(
        st.tuples(
            st.integers(-(10**6), 10**6),
            st.integers(-(10**6), 10**6),
            st.integers(0, 10**6),
            st.integers(0, 10**6),
        ),
        max_size=50,
    ),
    st.floats(0.8, 2.0),
)
def test_the_ratio_stays_in_bounds_whatever_is_reported(
    reports: list[tuple[int, int, int, int]], factor: float
) -> None:
    known = Calibration()
    for counted, reported, predicted, prompt in reports:
        known = learn(known, counted, reported, predicted, prompt)
    assert 0.6 <= known.ratio(factor) <= 2.5
    assert known.half_width() > 0
