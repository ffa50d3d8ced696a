"""What a later look for secrets changes: messages that were stored before anyone could look.

Functions on the folded state, called by `fold` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ctxd.model.events import Elision, OutputsScanned
from ctxd.model.messages import MessageFacts, ResultFacts

if TYPE_CHECKING:
    from ctxd.core.fold import SessionState


def take(state: SessionState, event: OutputsScanned) -> None:
    """Take in a scan. Messages that lost secrets are others now: the view changes where they stand."""
    clean = [facts for message_id in event.clean if (facts := state.find(message_id)) is not None]
    changed = [facts for facts in event.messages if state.find(facts.id) is not None]
    for facts in (*(msgspec.structs.replace(facts, unscanned=False) for facts in clean), *changed):
        _exchange(state, facts)
    state.withdrawn.update(event.dropped)
    if changed:
        state.digest_anew(changed)
        state.set_view(state.view)
        state.generation += 1


def _exchange(state: SessionState, facts: MessageFacts) -> None:
    """Other facts for a message wherever it is known, the views that an undo brings back included."""
    state.unscanned.discard(facts.id)
    state.uncounted.discard(facts.id)
    position = state.positions[facts.id]
    old, state.transcript[position] = state.transcript[position], facts
    changes = {was.call_id: (was, new) for was, new in zip(old.results, facts.results)}
    views = (state.entries, state.view, *(before.entries for before in state.befores.values()))
    for entry in {
        id(entry): entry for view in views for entry in view if entry.facts.id == facts.id
    }.values():
        entry.facts = facts
        entry.elided = tuple(
            [_resave(e, *changes[e.call_id]) if e.call_id in changes else e for e in entry.elided]
        )


def _resave(elision: Elision, was: ResultFacts, new: ResultFacts) -> Elision:
    """An elision that saves what there is now."""
    return msgspec.structs.replace(
        elision,
        saved=elision.saved + max(0, new.tokens) - max(0, was.tokens),
        saved_bytes=elision.saved_bytes + new.bytes - was.bytes,
    )
