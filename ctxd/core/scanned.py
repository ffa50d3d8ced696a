"""What a later look for secrets changes: messages that were stored before anyone could look.

Functions on the folded state, called by `fold` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ctxd.model.events import Elision, OutputsScanned
from ctxd.model.messages import MessageFacts, ResultFacts

if TYPE_CHECKING:
    from ctxd.core.fold import Entry, SessionState


def take(state: SessionState, event: OutputsScanned) -> None:
    """Take in a scan. Messages that lost secrets are others now: the view changes where they stand."""
    known = [facts for message_id in event.clean if (facts := state.find(message_id)) is not None]
    for facts in known:
        _exchange(state, msgspec.structs.replace(facts, unscanned=False))
    for facts in event.messages:
        if state.find(facts.id) is not None:
            _exchange(state, facts)
            state.digest_anew(facts)
    state.withdrawn.update(event.dropped)
    if event.messages:
        state.anchor = None
        state.generation += 1
        state.rechain()


def _exchange(state: SessionState, facts: MessageFacts) -> None:
    """Other facts for a message wherever it is known, the views that an undo brings back included."""
    state.unscanned.discard(facts.id)
    state.uncounted.discard(facts.id)
    position = state.positions[facts.id]
    old, state.transcript[position] = state.transcript[position], facts
    place = state.places.get(facts.id)
    entries = [state.entries[position]] if place is None else [state.entries[position], state.view[place]]
    befores = (entry for before in state.befores.values() for entry in before.entries)
    entries += [entry for entry in befores if entry.facts.id == facts.id]
    before = _weight(state.view[place]) if place is not None else (0, 0, 0)
    for entry in {id(entry): entry for entry in entries}.values():
        results = {was.call_id: (was, new) for was, new in zip(old.results, facts.results)}
        entry.facts = facts
        entry.elided = tuple(
            [_resave(e, *results[e.call_id]) if e.call_id in results else e for e in entry.elided]
        )
    after = _weight(state.view[place]) if place is not None else (0, 0, 0)
    state.view_tokens += after[0] - before[0]
    state.view_media += after[1] - before[1]
    state.view_bytes += after[2] - before[2]


def _weight(entry: Entry) -> tuple[int, int, int]:
    return entry.tokens, entry.media, entry.size


def _resave(elision: Elision, was: ResultFacts, new: ResultFacts) -> Elision:
    """An elision that saves what there is now."""
    return msgspec.structs.replace(
        elision,
        saved=elision.saved + max(0, new.tokens) - max(0, was.tokens),
        saved_bytes=elision.saved_bytes + new.bytes - was.bytes,
    )
