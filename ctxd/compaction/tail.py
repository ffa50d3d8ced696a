"""The kept tail: how many of the newest units stay as they are, by tokens and never by count alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ctxd.compaction.extract import Item
from ctxd.compaction.placeholder import clipped
from ctxd.core import epochs
from ctxd.core.fold import SessionState
from ctxd.core.units import Unit
from ctxd.model.blocks import ToolResult
from ctxd.model.events import Elision

BYTES_PER_TOKEN = 3
"""Bytes one base token stands for when a result is cut to a token budget; low, so the cut fits."""

MIN_CLIP_TOKENS = 120
"""A result is not cut below this: less would show nothing of it."""


class Tail(msgspec.Struct, frozen=True):
    """Units from index `first` on are kept. `tokens` base, `media` by formula, after `elisions`."""

    first: int
    tokens: int
    media: int
    elisions: tuple[Elision, ...] = ()


def choose_tail(
    state: SessionState,
    items: Sequence[Item],
    units: Sequence[Unit],
    budget: int,
    keep_messages: int,
    *,
    ratio: float,
    count: Callable[[str], int],
    least: int = 0,
) -> Tail:
    """Newest whole units within `budget` base tokens.

    The newest unit stays whatever it costs, its results clipped to fit. While fewer than
    `keep_messages` messages are kept, units that do not fit are clipped too; then one boundary
    unit is, and older ones go. Units before index `least` are not considered.
    """
    first, tokens, media, messages = len(units), 0, 0, 0
    elisions: list[Elision] = []
    for index in range(len(units) - 1, least - 1, -1):
        unit = units[index]
        cost = sum(items[i].entry.tokens for i in range(unit.start, unit.end))
        inside = sum(items[i].entry.media for i in range(unit.start, unit.end))
        room = budget - tokens - round(media / ratio)
        if cost + round(inside / ratio) > room:
            cut = clip_unit(state, items, unit, max(0, room - round(inside / ratio)), count)
            less = sum(elision.saved - shown for elision, shown in cut)
            images = sum(elision.saved_media for elision, _ in cut)
            mandatory = index == len(units) - 1
            if not mandatory and cost - less + round((inside - images) / ratio) > room:
                break
            elisions.extend(elision for elision, _ in cut)
            cost, inside = cost - less, inside - images
            boundary = messages >= keep_messages
        else:
            boundary = False
        first, tokens, media = index, tokens + cost, media + inside
        messages += unit.end - unit.start
        if boundary:
            break
    return Tail(first, tokens, media, tuple(elisions))


def clip_unit(
    state: SessionState, items: Sequence[Item], unit: Unit, room: int, count: Callable[[str], int]
) -> list[tuple[Elision, int]]:
    """Clip the results of a unit, largest first, until it costs at most `room` base tokens.

    Each elision comes with what an earlier one of the same result already saved. What is pinned is never
    clipped.
    """
    cost = sum(items[i].entry.tokens for i in range(unit.start, unit.end))
    held = epochs.held(state)
    results = [
        (item, result, block)
        for item in items[unit.start : unit.end]
        if not item.entry.facts.pinned and item.entry.facts.id not in held
        for result in item.entry.facts.results
        for block in item.view.blocks
        if isinstance(block, ToolResult) and block.call_id == result.call_id
    ]
    made: list[tuple[Elision, int]] = []
    share = max(MIN_CLIP_TOKENS, (room // max(1, len(results))) * 3 // 4)
    for item, result, block in sorted(results, key=lambda r: -r[1].tokens):
        if cost <= room:
            break
        shown = sum(e.saved for e in item.entry.elided if e.call_id == result.call_id)
        if result.tokens - shown <= share:
            continue
        size = share * BYTES_PER_TOKEN
        text = clipped(
            state.call_of(result.call_id, item.entry.facts.id),
            result,
            "clippedNewest",
            block.text,
            head_bytes=size * 2 // 3,
            tail_bytes=size // 3,
            occurrence=state.results[result.call_id].index(item.entry.facts.id),
        )
        saved = result.tokens - count(text)
        if saved <= shown:
            continue
        elision = Elision(
            message_id=item.entry.facts.id,
            call_id=result.call_id,
            reason="clippedNewest",
            placeholder=text,
            saved=saved,
            saved_bytes=result.bytes - len(text.encode("utf-8", "replace")) + result.media_bytes,
            saved_media=result.media_tokens,
        )
        made.append((elision, shown))
        cost -= saved - shown
    return made
