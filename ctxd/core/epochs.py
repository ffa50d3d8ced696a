"""What changes a view other than growth and elision: undo, pins, the handoff of an epoch.

Functions on the folded state, called by `fold` alone. An epoch lasts from one valid checkpoint to
the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ctxd.core.budget import part
from ctxd.model.events import HandoffRecorded, Pinned, Rewound, Unpinned, ViewUndone
from ctxd.model.summary import SessionSummary

if TYPE_CHECKING:
    from ctxd.core.fold import Entry, SessionState

HANDOFF_VERSION = 1


class Handoff(msgspec.Struct, frozen=True):
    """The handoff of an epoch. `suppressed`: records contradict, and none is believed (E §4.2)."""

    record: HandoffRecorded | None = None
    suppressed: bool = False

    @property
    def is_open(self) -> bool:
        """True while a handoff may still be recorded in this epoch."""
        return self.record is None and not self.suppressed


class Before(msgspec.Struct, frozen=True):
    """What a checkpoint replaced: the whole view, typed state, epoch and handoff as they were.

    `transcript` is how much of the transcript it stands for, `end` how long the transcript was.
    """

    entries: tuple[Entry, ...]
    summary: SessionSummary
    transcript: int
    end: int
    epoch: int
    handoff: Handoff


def remember(state: SessionState, covers: int) -> Before:
    """The state before a checkpoint that stands for the first `covers` entries of the view."""
    covered = [state.positions.get(entry.facts.id, -1) for entry in state.view[:covers]]
    return Before(
        entries=tuple(entry.copy() for entry in state.view),
        summary=state.summary,
        transcript=max(covered, default=-1) + 1,
        end=len(state.transcript),
        epoch=state.epoch,
        handoff=state.handoff,
    )


def undo(state: SessionState, event: ViewUndone) -> None:
    """Bring back the view before a checkpoint, and what came since behind it.

    Later checkpoints go with it, and the handoffs of their epochs. Pins are as they are now. Unknown ids
    change nothing.
    """
    before = state.befores.get(event.checkpoint_id)
    if before is None:
        return
    showing = {pin.facts.id: pin.facts for pin in state.pins.values() if pin.facts is not None}
    entries = [
        entry
        for entry in before.entries
        if (entry.facts.inserted != "pin" or entry.facts.id in showing) and entry.facts.id not in state.gone
    ]
    for entry in entries:
        if (place := state.positions.get(entry.facts.id)) is not None:
            state.entries[place] = entry
    known = {entry.facts.id for entry in entries}
    entries.extend(entry for entry in state.entries[before.end :] if entry.facts.id not in state.gone)
    position = next(i for i, c in enumerate(state.checkpoints) if c.checkpoint_id == event.checkpoint_id)
    for gone in state.checkpoints[position:]:
        state.befores.pop(gone.checkpoint_id, None)
    del state.checkpoints[position:]
    state.summary = before.summary
    state.epoch = before.epoch
    state.generation += 1
    state.handoff = before.handoff
    state.set_view(entries)
    for facts in showing.values():
        if facts.id not in known:
            state.show(facts)


def rewind(state: SessionState, event: Rewound) -> None:
    """Go back to before a message: the view then, without it and what followed. Unknown ids change nothing.

    Pins stay, but for those of messages that are gone.
    """
    position = state.positions.get(event.to)
    if position is None or event.to in state.gone:
        return
    later = next((c for c in state.checkpoints if state.befores[c.checkpoint_id].transcript > position), None)
    if later is not None:
        undo(state, ViewUndone(checkpoint_id=later.checkpoint_id))
    place = state.places.get(event.to)
    if place is None:
        return
    state.gone.update(facts.id for facts in state.transcript[position:])
    for pin_id in [p.pin_id for p in state.pins.values() if p.message_id in state.gone]:
        del state.pins[pin_id]
    kept = state.view[:place]
    kept += [entry for entry in state.view[place:] if entry.facts.inserted == "pin"]
    record = state.handoff.record
    if record is not None and all(entry.facts.id != record.facts.id for entry in kept):
        state.handoff = Handoff()
    entry = state.view[place]
    state.turn = entry.turn if entry.facts.steered else max(0, entry.turn - 1)
    state.steering.end_turn()
    state.generation += 1
    state.set_view(kept)


def pin(state: SessionState, event: Pinned) -> None:
    """Keep something whole: a message where it stands, or a text shown from now on."""
    state.pins[event.pin_id] = event
    if event.facts is not None:
        state.show(event.facts)


def held(state: SessionState) -> frozenset[str]:
    """Ids of the messages that pins keep whole: pinned ones, and those that show a pinned text."""
    return frozenset(pin.message_id or (pin.facts.id if pin.facts else "") for pin in state.pins.values())


def unpin(state: SessionState, event: Unpinned) -> None:
    """Let a pin go. A text it showed leaves the view, which is a change of the view."""
    gone = state.pins.pop(event.pin_id, None)
    if gone is None or gone.facts is None or gone.facts.id not in state.places:
        return
    anchor = state.anchor
    state.set_view([entry for entry in state.view if entry.facts.id != gone.facts.id])
    state.anchor = anchor
    state.generation += 1


def hand_off(state: SessionState, event: HandoffRecorded) -> None:
    """Show the handoff of this epoch; a second or malformed one suppresses them all."""
    if state.handoff.record is not None or state.handoff.suppressed or not is_valid(event):
        shown = state.handoff.record
        state.handoff = Handoff(suppressed=True)
        if shown is not None and shown.facts.id in state.places:
            anchor = state.anchor
            state.set_view([entry for entry in state.view if entry.facts.id != shown.facts.id])
            state.anchor = anchor
            state.generation += 1
        return
    state.handoff = Handoff(record=event)
    state.show(event.facts)


def is_valid(event: HandoffRecorded) -> bool:
    """The strict v1 checks (E §4.1): version, id, and numbers that agree with each other."""
    return (
        event.version == HANDOFF_VERSION
        and 0 < len(event.facts.id) <= 128
        and all(" " < c != "\x7f" for c in event.facts.id)
        and event.available_for_input > 0
        and 0 <= event.handoff_threshold <= event.observed_prompt_tokens < event.compaction_threshold
        and event.compaction_threshold <= event.available_for_input
    )


def pin_budget(available: int | None, most: int) -> int:
    """Base tokens that pinned texts and messages may have: a tenth of the input budget, at most `most`."""
    return most if available is None else min(most, part(available, 0.1))
