"""Events to state to model view. The one place where an event means something.

`SessionState` is owned by one writer; `apply` is the only thing that changes it, and it reads
nothing but the event. The same events give the same state, always.
"""

from __future__ import annotations

import hashlib
from typing import assert_never

from ctxd.core import epochs
from ctxd.core.anchor import Anchor
from ctxd.core.calibration import Calibration
from ctxd.model.events import (
    BOOKKEEPING,
    AnyEvent,
    CheckpointCommitted,
    Elision,
    HandoffRecorded,
    Kept,
    Load,
    MessagesAppended,
    Model,
    Pinned,
    Placed,
    RequestReported,
    SessionCreated,
    SessionUpdated,
    StageFailed,
    TokensCounted,
    Unpinned,
    ViewElided,
    ViewUndone,
)
from ctxd.model.messages import CallFacts, MessageFacts, Usage
from ctxd.model.summary import SessionSummary


class Entry:
    """One message of the model view, with what was elided from it."""

    __slots__ = ("elided", "facts", "turn")

    def __init__(self, facts: MessageFacts, turn: int) -> None:
        self.facts = facts
        self.turn = turn
        self.elided: tuple[Elision, ...] = ()

    @property
    def tokens(self) -> int:
        """Base tokens as shown, 0 while they are not counted."""
        return max(0, self.facts.tokens) - sum(e.saved for e in self.elided)

    @property
    def media(self) -> int:
        return self.facts.media_tokens - sum(e.saved_media for e in self.elided)

    @property
    def size(self) -> int:
        """Bytes of JSON as shown, about: placeholders are counted by their text."""
        return self.facts.bytes - sum(e.saved_bytes for e in self.elided)

    def copy(self) -> Entry:
        """The message as shown now; what is elided later leaves the copy as it is."""
        entry = Entry(self.facts, self.turn)
        entry.elided = self.elided
        return entry

    def digest(self) -> bytes:
        """Identity of what is shown: the message's bytes and every placeholder in it."""
        seal = hashlib.sha256(bytes.fromhex(self.facts.digest))
        for elision in self.elided:
            seal.update(
                elision.call_id.encode() + b"\0" + elision.placeholder.encode("utf-8", "surrogatepass")
            )
        return seal.digest()


class SessionState:
    """Everything a session knows, folded from its events. Token totals are base tokens."""

    def __init__(self) -> None:
        self.created: SessionCreated | None = None
        self.created_at = 0
        self.updated_at = 0
        self.model = Model()
        self.system = ""
        self.tools = ""
        self.system_tokens = 0
        self.tools_tokens = 0
        self.factor = 1.0
        self.revision = 0
        self.generation = 0
        self.epoch = 0
        self.turn = 0
        self.transcript: list[MessageFacts] = []
        self.positions: dict[str, int] = {}
        self.turns: dict[str, int] = {}
        self.calls: dict[str, list[tuple[str, CallFacts]]] = {}
        self.results: dict[str, list[str]] = {}
        self.digests: dict[str, tuple[str, str]] = {}
        self.uncounted: set[str] = set()
        self.client_ids: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.reported_at = 0
        self.reported: dict[str, tuple[int, RequestReported]] = {}
        self.entries: dict[str, Entry] = {}
        self.view: list[Entry] = []
        self.places: dict[str, int] = {}
        self.view_tokens = 0
        self.view_media = 0
        self.view_bytes = 0
        self.anchor: Anchor | None = None
        self.calibration = Calibration()
        self.unseen = 0.0
        self.last_call_at = 0
        self.provider_calls = 0
        self.recovering = False
        self.model_changed = False
        self.summary = SessionSummary()
        self.checkpoints: list[CheckpointCommitted] = []
        self.befores: dict[str, epochs.Before] = {}
        self.pins: dict[str, Pinned] = {}
        self.handoff = epochs.Handoff()
        self._chain = hashlib.sha256()

    def apply(self, event: AnyEvent, at: int) -> None:
        """Take in one event that is durable. `at` is its time in milliseconds, as recorded."""
        match event:
            case SessionCreated():
                self._create(event, at)
            case SessionUpdated():
                self._update(event)
            case MessagesAppended():
                self._append(event, at)
            case TokensCounted():
                self._count(event)
            case RequestReported():
                self._report(event, at)
            case ViewElided():
                self._elide(event.elisions)
                self.generation += 1
            case CheckpointCommitted():
                self._replace(event)
            case ViewUndone():
                epochs.undo(self, event)
            case Pinned():
                epochs.pin(self, event)
            case Unpinned():
                epochs.unpin(self, event)
            case HandoffRecorded():
                epochs.hand_off(self, event)
            case StageFailed():
                pass
            case _:
                assert_never(event)
        if event.__struct_config__.tag not in BOOKKEEPING:
            self.revision += 1
            self.updated_at = max(self.updated_at, at)

    @property
    def load(self) -> Load:
        """What the next request weighs without pending messages."""
        return Load(
            fixed=self.system_tokens + self.tools_tokens, view=self.view_tokens, media=self.view_media
        )

    @property
    def ratio(self) -> float:
        """Tokens per base token of this session."""
        return self.calibration.ratio(self.factor)

    def view_digest(self) -> bytes:
        """Digest over the whole view, kept up as it grows."""
        return self._chain.digest()

    def find(self, message_id: str) -> MessageFacts | None:
        """Facts of a message of the transcript."""
        position = self.positions.get(message_id)
        return None if position is None else self.transcript[position]

    def call_of(self, call_id: str, message_id: str | None = None) -> CallFacts | None:
        """The call a result answers: the newest owner of the id that was made before the message."""
        owners = self.calls.get(call_id)
        if not owners:
            return None
        if message_id is not None and message_id in self.positions:
            limit = self.positions[message_id]
            for owner, call in reversed(owners):
                if self.positions[owner] < limit:
                    return call
            return None
        return owners[-1][1]

    def _create(self, event: SessionCreated, at: int) -> None:
        self.created = event
        self.created_at = at
        self.model = event.model
        self.system, self.tools = event.system, event.tools
        self.system_tokens, self.tools_tokens = event.system_tokens, event.tools_tokens
        self.factor = event.factor

    def _update(self, event: SessionUpdated) -> None:
        if event.model is not None:
            self.model_changed = self.model_changed or event.model != self.model
            self.model = event.model
        if event.factor is not None:
            self.factor = event.factor
        if event.system is not None:
            self.system, self.system_tokens = event.system, event.system_tokens or 0
        if event.tools is not None:
            self.tools, self.tools_tokens = event.tools, event.tools_tokens or 0

    def _append(self, event: MessagesAppended, at: int) -> None:
        before = self.load
        first = len(self.transcript)
        entries: list[Entry] = []
        for facts in event.messages:
            self._remember(facts)
            entry = Entry(facts, self.turn)
            self.entries[facts.id] = entry
            self.places[facts.id] = len(self.view)
            self.view.append(entry)
            entries.append(entry)
            self._add(entry)
        self._shorten(event.elisions)
        for entry in entries:
            self._chain.update(entry.digest())
        if event.client_id:
            # The revision this event gets; `apply` counts it after us.
            self.client_ids[event.client_id] = (self.revision + 1, event.all_ids)
        if event.usage is not None:
            after = self.load
            response = Load(view=after.view - before.view, media=after.media - before.media)
            anchor = self._anchor(event.usage, before, response, predicted=0)
            anchor.said = range(first, len(self.transcript)) if self.uncounted else range(0)
            self.last_call_at = at
            self.provider_calls += 1
        elif entries and self.anchor is not None and self.anchor.awaiting:
            self._answer(self.anchor, entries[0])

    def _remember(self, facts: MessageFacts) -> None:
        if facts.user_turn:
            self.turn += 1
        self.positions[facts.id] = len(self.transcript)
        self.turns[facts.id] = self.turn
        self.transcript.append(facts)
        if facts.tokens < 0:
            self.uncounted.add(facts.id)
        for call in facts.calls:
            self.calls.setdefault(call.call_id, []).append((facts.id, call))
        for result in facts.results:
            self.results.setdefault(result.call_id, []).append(facts.id)
            self.digests[result.digest] = (facts.id, result.call_id)

    def _add(self, entry: Entry) -> None:
        self.view_tokens += entry.tokens
        self.view_media += entry.media
        self.view_bytes += entry.size

    def _count(self, event: TokensCounted) -> None:
        for message_id, tokens, sizes in event.counts:
            position = self.positions.get(message_id)
            if position is None or message_id not in self.uncounted:
                continue
            self.uncounted.discard(message_id)
            old = self.transcript[position]
            facts = old.counted(tokens, sizes)
            self.transcript[position] = facts
            place = self.places.get(message_id)
            if place is not None:
                entry = self.view[place]
                weight = entry.tokens
                entry.facts = facts
                self.view_tokens += entry.tokens - weight
                if self.anchor is not None:
                    paid = self.anchor.recount(position, entry.tokens - weight)
                    self.unseen = max(0.0, self.unseen - self.ratio * paid)

    def _report(self, event: RequestReported, at: int) -> None:
        if event.outcome == "ok":
            self.last_call_at = at
            self.provider_calls += 1
            self.recovering = False
            self.model_changed = False
        elif event.recovers:
            self.recovering = True
        self.reported_at = self.revision + 1
        self.reported[event.request_id] = (self.revision + 1, event)
        if event.usage is None or event.load is None or event.outcome != "ok":
            if event.outcome == "ok":
                self.anchor = None
            return
        anchor = self._anchor(event.usage, event.load, event.response or Load(), predicted=event.predicted)
        if not event.message_ids:
            self._seek_answer(anchor)

    def _seek_answer(self, anchor: Anchor) -> None:
        """The answer of a report without messages was appended before it, or is still to come."""
        surplus = self.view_tokens - anchor.view
        if surplus <= 0:
            anchor.awaiting = True
            return
        place = len(self.view)
        while place > 0 and surplus > 0:
            place -= 1
            surplus -= self.view[place].tokens
        if surplus:
            self.anchor = None
        else:
            self._answer(anchor, self.view[place])

    def _answer(self, anchor: Anchor, entry: Entry) -> None:
        """The first message behind a reported request is its answer, or nothing is known of it (E §2.4)."""
        if entry.facts.role == "assistant":
            anchor.take_answer(entry.tokens, entry.media)
        else:
            self.anchor = None

    def _anchor(self, usage: Usage, load: Load, response: Load, *, predicted: int) -> Anchor:
        previous = self.anchor
        if previous is not None and previous.model == self.model.id and not self.uncounted:
            floor = max(
                previous.usage.completion, round(self.ratio * previous.response) + previous.response_media
            )
            counted = load.view - previous.view - previous.response + max(0, load.fixed - previous.fixed)
            media = load.media - previous.media - previous.response_media
            self.calibration = self.calibration.learn(
                counted=counted,
                reported=usage.prompt - previous.usage.prompt - floor - media,
                predicted=predicted,
                prompt=usage.prompt,
            )
        self.unseen = max(0.0, usage.prompt - self.ratio * (load.fixed + load.view) - load.media)
        self.anchor = Anchor(usage, load, response, self.model.id, self.generation)
        return self.anchor

    def _elide(self, elisions: tuple[Elision, ...]) -> None:
        self._shorten(elisions)
        self._rechain()

    def _shorten(self, elisions: tuple[Elision, ...]) -> None:
        for elision in elisions:
            place = self.places.get(elision.message_id)
            if place is None:
                continue
            entry = self.view[place]
            self.view_tokens -= entry.tokens
            self.view_media -= entry.media
            self.view_bytes -= entry.size
            entry.elided = (*(e for e in entry.elided if e.call_id != elision.call_id), elision)
            self._add(entry)

    def _replace(self, event: CheckpointCommitted) -> None:
        old = self.view
        entries: list[Entry] = []
        for item in event.replacement:
            match item:
                case Kept(message_id=message_id):
                    entries.append(old[self.places[message_id]])
                case Placed(facts=facts):
                    entries.append(Entry(facts, self.turns.get(facts.source, self.turn)))
                case _:
                    assert_never(item)
        behind = sum(1 for entry in old[event.covers :] if entry.facts.id in self.positions)
        self.befores[event.checkpoint_id] = epochs.Before(
            tuple(entry.copy() for entry in old[: event.covers]),
            self.summary,
            len(self.transcript) - behind,
            self.epoch,
        )
        self.set_view([*entries, *old[event.covers :]])
        self._shorten(event.elisions)
        self.summary = event.summary
        self.checkpoints.append(event)
        self.generation += 1
        self.epoch += 1
        self.handoff = epochs.Handoff()
        self._rechain()

    def set_view(self, entries: list[Entry]) -> None:
        """Make `entries` the view. What was anchored on another view anchors nothing any more."""
        self.view = entries
        self.places = {entry.facts.id: place for place, entry in enumerate(entries)}
        self.view_tokens = sum(entry.tokens for entry in entries)
        self.view_media = sum(entry.media for entry in entries)
        self.view_bytes = sum(entry.size for entry in entries)
        self.anchor = None
        self._rechain()

    def show(self, facts: MessageFacts) -> None:
        """Add a message of ctxd's own at the end of the view; the transcript does not have it."""
        entry = Entry(facts, self.turn)
        self.places[facts.id] = len(self.view)
        self.view.append(entry)
        self._add(entry)
        self._chain.update(entry.digest())

    def _rechain(self) -> None:
        self._chain = hashlib.sha256()
        for entry in self.view:
            self._chain.update(entry.digest())
