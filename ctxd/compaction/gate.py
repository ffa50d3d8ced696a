"""What a compaction must reach, and when its result is no success."""

from __future__ import annotations

TARGET_MAX = 50_000
TARGET_MIN = 5_000
SOURCE_SHARE = 8
"""Tenths of the source a replacement may have (E §6.2)."""

MIN_GAIN = 20
"""A result must be smaller than the source by one part in this many: 5 % (reports B.25, E.65)."""

ACTIVE_TASK_CHARS = 6_000
ACTIVE_TASK_HEAD, ACTIVE_TASK_TAIL = 4_500, 1_500
"""The active task in characters, and how it is cut (E §6.8)."""


def target(source: int, window: int | None, requested: int | None = None) -> int:
    """Tokens a replacement may have: min(50 000, max(5 000, 0.8 source), half the window).

    A requested target below that holds; one above it does not raise it.
    """
    bound = min(TARGET_MAX, max(TARGET_MIN, source * SOURCE_SHARE // 10))
    if window is not None:
        bound = min(bound, window // 2)
    return bound if requested is None else max(1, min(bound, requested))


def is_gain(before: int, after: int) -> bool:
    """True when `after` is at least 5 % smaller than `before`."""
    return after <= most_for_gain(before)


def most_for_gain(before: int) -> int:
    """The largest result that is a gain over `before`."""
    return before * (MIN_GAIN - 1) // MIN_GAIN


def clip_task(text: str) -> str:
    """The active task as it is placed: whole, or its first 4 500 and last 1 500 characters."""
    if len(text) <= ACTIVE_TASK_CHARS:
        return text
    cut = len(text) - ACTIVE_TASK_CHARS
    return f"{text[:ACTIVE_TASK_HEAD]}\n[… {cut} characters …]\n{text[-ACTIVE_TASK_TAIL:]}"
