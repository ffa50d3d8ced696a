"""Spreads and shares are what they say."""

from __future__ import annotations

import pytest

from ctxd.report.figures import Accuracy, Comparison, Spread


@pytest.mark.parametrize(
    ("values", "spread"),
    [
        ([], Spread(0, 0.0, 0.0)),
        ([7.0], Spread(1, 7.0, 7.0)),
        ([3.0, 1.0, 2.0], Spread(3, 2.0, 3.0)),
        ([float(n) for n in range(100)], Spread(100, 49.0, 95.0)),
    ],
)
def test_a_spread_has_nearest_rank_median_and_p95(values: list[float], spread: Spread) -> None:
    assert Spread.of(values) == spread


def test_first_requests_are_listed_apart_and_the_baseline_is_theirs_alone_who_have_one() -> None:
    accuracy = Accuracy.of(
        [
            _compare(predicted=50, low=40, high=60, reported=100, baseline=None),
            _compare(predicted=99, low=90, high=110, reported=100, baseline=98),
            _compare(predicted=104, low=101, high=110, reported=100, baseline=100),
        ]
    )
    assert accuracy.requests == 3
    assert (accuracy.anchored.median, accuracy.anchored.p95) == (1.0, 4.0)
    assert (accuracy.baseline.median, accuracy.baseline.p95) == (0.0, 2.0)
    assert (accuracy.unanchored.count, accuracy.unanchored.median) == (1, 50.0)
    assert (accuracy.inside, accuracy.inside_anchored, accuracy.inside_unanchored) == (1 / 3, 0.5, 0.0)


def _compare(*, predicted: int, low: int, high: int, reported: int, baseline: int | None) -> Comparison:
    return Comparison(
        line=1,
        anchored=baseline is not None,
        predicted=predicted,
        low=low,
        high=high,
        source="provider",
        reported=reported,
        baseline=baseline,
    )
