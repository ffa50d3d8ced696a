"""How much of a message the model is shown: whole, cut, one line, or only what a summary says (O §22).

Read from what was done to it, never from its text. A unit is at the lowest level of its messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ctxd.core.fold import Entry, SessionState
from ctxd.model.events import ElisionReason, Fidelity, UnitFate

LEVELS: tuple[Fidelity, ...] = ("full", "truncate", "compact", "summary", "dropped")
"""From all of it to nothing."""

_CUT: frozenset[ElisionReason] = frozenset({"spilled", "turnBudget", "clippedNewest"})
"""Elisions that leave a beginning and an end; all others leave one line."""


class Shown(msgspec.Struct, frozen=True):
    """What of a message is shown. `handle` is the id of a tool call, or of the message where that says more
    than one thing, under which recall gives what is not, or is shown changed; "" where all is as it came, or
    nothing is stored.
    """

    fidelity: Fidelity
    handle: str = ""


def of_entry(entry: Entry, state: SessionState) -> Shown:
    """What the view shows of one of its messages."""
    if entry.facts.inserted == "summary":
        return Shown("summary")
    if not entry.elided:
        return Shown("full")
    hidden = [elision for elision in entry.elided if elision.hides]
    lines = [elision for elision in hidden if elision.reason not in _CUT]
    call_id = (lines or hidden or entry.elided)[0].call_id
    is_alone = len(entry.elided) == 1 and len(state.results.get(call_id, ())) == 1
    level: Fidelity = "compact" if lines else "truncate" if hidden else "full"
    return Shown(level, call_id if is_alone else entry.facts.id)


def departed(state: SessionState) -> Mapping[str, UnitFate]:
    """What checkpoints say became of messages, by message id; the newest word counts."""
    return {
        message_id: fate
        for checkpoint in state.checkpoints
        for fate in checkpoint.units
        for message_id in fate.message_ids
    }


def of_message(message_id: str, state: SessionState, fates: Mapping[str, UnitFate]) -> Shown:
    """What the next request shows of a message of the transcript; `fates` are the `departed`."""
    place = state.places.get(message_id)
    if place is not None:
        return of_entry(state.view[place], state)
    fate = fates.get(message_id)
    return Shown("dropped" if fate is None else lowest([fate.fidelity, "summary"]), message_id)


def lowest(levels: Iterable[Fidelity]) -> Fidelity:
    """The level at which least is shown; `full` for none."""
    return max(levels, key=LEVELS.index, default="full")
