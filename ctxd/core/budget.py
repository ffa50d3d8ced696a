"""How much a request may hold: window, reserve, thresholds. All integers, all tokens."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.events import Model
from ctxd.model.settings import Budget

Phase: TypeAlias = Literal["below_handoff", "handoff_band", "compaction_due", "unknown"]
WindowSource: TypeAlias = Literal["host", "catalog", "unknown"]

RESERVE_MIN, RESERVE_MAX = 8_192, 32_768
"""Bounds of the default output reserve, a tenth of the window (E §3)."""

LOCAL_MARGIN = Fraction(12, 10)
"""Decisions multiply a purely local estimate by this (O §1.2)."""


class Window(msgspec.Struct, frozen=True):
    """Context window in tokens and who said so. An unknown window is said, never guessed (reports D.52)."""

    value: int | None
    source: WindowSource


class Limits(msgspec.Struct, frozen=True):
    """What a window allows. `available` is window minus reserve; thresholds are parts of it."""

    window: int
    reserve: int
    available: int
    handoff: int
    compaction: int


def resolve_window(model: Model, overrides: dict[str, int], catalog: int | None) -> Window:
    """The host's word first (on the model, then in `model.windows`), then the catalog's."""
    if model.context_window and model.context_window > 0:
        return Window(model.context_window, "host")
    if model.id in overrides:
        return Window(overrides[model.id], "host")
    if catalog:
        return Window(catalog, "catalog")
    return Window(None, "unknown")


def limit(window: Window, model: Model, options: Budget) -> Limits | None:
    """Limits of a window; None when it is unknown.

    The reserve is the explicit output cap when above 0, else a tenth of the window between
    RESERVE_MIN and RESERVE_MAX; never above half the window, so that 8k models work.
    """
    if window.value is None:
        return None
    explicit = options.reserve or model.max_output_tokens or 0
    reserve = explicit if explicit > 0 else min(max(window.value // 10, RESERVE_MIN), RESERVE_MAX)
    reserve = min(reserve, window.value // 2)
    available = window.value - reserve
    return Limits(
        window=window.value,
        reserve=reserve,
        available=available,
        handoff=part(available, options.handoff_ratio),
        compaction=part(available, options.compaction_ratio),
    )


def part(amount: int, ratio: float) -> int:
    """`ratio` of `amount` in exact integer arithmetic: a ratio of 0.7 is seven tenths, not 0.69999."""
    exact = _exact(ratio)
    whole, rest = divmod(amount, exact.denominator)
    return whole * exact.numerator + rest * exact.numerator // exact.denominator


@lru_cache(maxsize=64)
def _exact(ratio: float) -> Fraction:
    return Fraction(str(ratio))


def phase_of(tokens: int, limits: Limits | None) -> Phase:
    """Where `tokens` stand. At a threshold counts as beyond it (E §3)."""
    if limits is None:
        return "unknown"
    if tokens >= limits.compaction:
        return "compaction_due"
    return "handoff_band" if tokens >= limits.handoff else "below_handoff"
