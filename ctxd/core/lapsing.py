"""Reasoning that a provider leaves out of the prompt once the user speaks again (behaviour.md, section 2).

It stays in the view and is sent as it came; what has lapsed weighs nothing. Functions on the folded state,
called by `fold` alone; which reasoning lapses, the dialect says. Must not know events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxd.core.fold import Entry, SessionState


def extend(state: SessionState, entries: Sequence[Entry]) -> None:
    """`entries` are new at the view's end, and weighed; a user's message lets what is before it lapse."""
    if not state.lapsing and not any(entry.facts.lapses for entry in entries):
        return
    for entry in entries:
        if entry.facts.lapses:
            state.lapsing.append(entry)
        elif entry.facts.role == "user":
            state.view_tokens -= sum([lapsing.tokens for lapsing in state.lapsing])
            for lapsing in state.lapsing:
                lapsing.lapsed = True
            state.lapsing = []


def settle(state: SessionState) -> None:
    """The view is another one: what has lapsed is what stands before the newest message of the user in it."""
    places = range(len(state.view) - 1, -1, -1)
    newest = next((place for place in places if state.view[place].facts.role == "user"), 0)
    lapsing = [(place, entry) for place, entry in enumerate(state.view) if entry.facts.lapses]
    for place, entry in lapsing:
        entry.lapsed = place < newest
    state.lapsing = [entry for _, entry in lapsing if not entry.lapsed]
