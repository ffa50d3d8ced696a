"""How much of a tool result, and of all results of one assistant turn together, is shown when they arrive.

E §12 with its weaknesses mended: limits are scaled to the window down to the smallest, are decided once and
kept in the log, and what is shown of a turn never exceeds its limit, however many results there are. Pure;
sizes are bytes of stored forms.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxd.model.settings import RecallOptions

BYTES_PER_TOKEN = 4
"""Bytes taken for a token when a limit is scaled to the window (E §12)."""

FAVOUR = 4
"""How many times the room of another result an error or the newest result may take."""


class ResultLimits(msgspec.Struct, frozen=True):
    """Bytes that one result, and all results of one assistant turn, may show."""

    result: int
    turn: int


class Wish(msgspec.Struct, frozen=True):
    """What one result would show, and the least it can be shortened to; `favoured` ones keep more."""

    wanted: int
    least: int
    favoured: bool = False


def limits_for(options: RecallOptions, window: int | None) -> ResultLimits:
    """The limits for a window in tokens; the options' own where it is unknown, and never more than those.

    A turn may show `turn_share` of the window, one result half of that. With the default E's limits for all
    windows (100,000 and 200,000) are those of a window of 200,000 tokens; smaller ones get less.
    """
    if window is None:
        return ResultLimits(min(options.spill_bytes, options.turn_bytes), options.turn_bytes)
    share = max(1, round(window * BYTES_PER_TOKEN * options.turn_share))
    turn = min(options.turn_bytes, share)
    return ResultLimits(min(options.spill_bytes, (share + 1) // 2, turn), turn)


def share_out(room: int, wishes: Sequence[Wish]) -> list[int]:
    """Bytes for each result: all it wants while everything fits in `room`, else a level for all.

    Together they never exceed `room`, unless the least of each already does. What a small one leaves goes to
    the others; favoured ones get up to `FAVOUR` times as much as the rest.
    """
    least = [min(wish.least, wish.wanted) for wish in wishes]
    given = list(least)
    left = room - sum(given)
    waiting = [index for index, wish in enumerate(wishes) if wish.wanted > given[index]]
    while waiting and left > 0:
        weights = {index: FAVOUR if wishes[index].favoured else 1 for index in waiting}
        level = left / sum(weights.values())
        full = [i for i in waiting if wishes[i].wanted - given[i] <= level * weights[i]]
        if not full:
            for index in waiting:
                given[index] += int(level * weights[index])
            break
        for index in full:
            left -= wishes[index].wanted - given[index]
            given[index] = wishes[index].wanted
        waiting = [index for index in waiting if given[index] < wishes[index].wanted]
    return given
