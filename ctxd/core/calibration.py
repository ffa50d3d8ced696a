"""How far local counts are from what the provider reports, learned inside one session.

Two things are learned from every report that has a usable anchor before it: the ratio of reported
to counted tokens, and how wrong the predictions were. Both are plain sums and a short window, so
they fold from events and are the same after a restart.
"""

from __future__ import annotations

import math

import msgspec

PRIOR_WEIGHT = 20_000
"""Base tokens of evidence the family's start factor is worth."""

WINDOW = 64
"""Newest errors that set the interval."""

QUANTILE = 0.975
"""Share of past errors the interval covers; above the promised 95 % so that drift stays inside."""

RATIO_BOUNDS = (0.6, 2.5)
"""A single report outside these against the count is a change of the request, not of the tokenizer."""

MIN_EVIDENCE = 200
"""Base tokens below which framing noise outweighs what an increment says of the ratio."""

ANCHORED_PRIOR = 0.02
"""Relative half-width of an anchored projection before the session has taught better."""

LOCAL_PRIOR = 0.35
"""Relative half-width of a purely local estimate: the spread of families' factors over content kinds."""


class Calibration(msgspec.Struct, frozen=True):
    """`estimated`/`observed`: base tokens counted and tokens reported, over increments with evidence.

    `errors` are signed relative errors of anchored predictions, newest last, at most WINDOW.
    """

    estimated: float = 0.0
    observed: float = 0.0
    errors: tuple[float, ...] = ()

    def ratio(self, factor: float) -> float:
        """Tokens per base token, starting at the family's `factor`."""
        return (factor * PRIOR_WEIGHT + self.observed) / (PRIOR_WEIGHT + self.estimated)

    def learn(self, *, counted: int, reported: int, predicted: int, prompt: int) -> Calibration:
        """Take in one report.

        `counted` base tokens were new since the anchor and cost `reported` tokens; the whole prompt
        was predicted as `predicted` (0: no prediction) and came to `prompt`.
        """
        estimated, observed = self.estimated, self.observed
        if counted >= MIN_EVIDENCE and RATIO_BOUNDS[0] <= reported / counted <= RATIO_BOUNDS[1]:
            estimated += counted
            observed += reported
        errors = self.errors
        if predicted > 0 and prompt > 0:
            errors = (*errors, (prompt - predicted) / prompt)[-WINDOW:]
        return Calibration(estimated=estimated, observed=observed, errors=errors)

    def half_width(self) -> float:
        """Relative half-width of an anchored projection, from this session's own errors."""
        if not self.errors:
            return ANCHORED_PRIOR
        ranked = sorted(abs(e) for e in self.errors)
        rank = min(len(ranked) - 1, math.ceil(QUANTILE * (len(ranked) + 1)) - 1)
        # Few errors say little about the tail: the prior fades as the window fills.
        fade = max(0.0, 1.0 - len(ranked) / WINDOW)
        return max(ranked[rank] * 1.25, ANCHORED_PRIOR * fade, 0.002)
