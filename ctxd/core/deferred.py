"""Counts that come later than the messages they are of. On the folded state, called by `fold` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.model.events import TokensCounted

if TYPE_CHECKING:
    from ctxd.core.fold import SessionState


def count(state: SessionState, event: TokensCounted) -> None:
    """Fill in what messages weigh, in the view and in what predictions stand on."""
    counts = {found[0]: found for found in event.counts if found[0] in state.uncounted}
    state.uncounted.difference_update(counts)
    positions, places = state.positions, state.places
    for message_id, tokens, sizes in counts.values():
        position = positions[message_id]
        facts = state.transcript[position].counted(tokens, sizes)
        state.transcript[position] = state.entries[position].facts = facts
        if message_id not in places:
            continue
        entry = state.view[places[message_id]]
        entry.facts = facts
        if entry.lapsed:
            continue
        state.view_tokens += tokens
        if state.anchor is not None:
            paid = state.anchor.recount(position, tokens)
            state.unseen = max(0.0, state.unseen - state.ratio * paid)
