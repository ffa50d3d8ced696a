"""Events to state to model view. The one place where an event means something.

`SessionState` is owned by one writer; `apply` is the only thing that changes it, and it reads
nothing but the event. The same events give the same state, always.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import assert_never

import msgspec

from ctxd.core import deferred, epochs, fixed, lapsing, recent, reported, scanned, steering
from ctxd.core.anchor import Anchor
from ctxd.core.calibration import Calibration
from ctxd.core.transcript import Transcript
from ctxd.model.contract import ContractDeclared, ValidatorRecorded
from ctxd.model.events import (
    BOOKKEEPING,
    AnyEvent,
    CheckpointCommitted,
    Elision,
    FileTouched,
    ForkSealed,
    HandoffRecorded,
    Kept,
    Load,
    MessagesAppended,
    Model,
    OutputsScanned,
    Pinned,
    Placed,
    RequestReported,
    Rewound,
    SessionCreated,
    SessionUpdated,
    SnapshotTaken,
    StageFailed,
    TokensCounted,
    Unpinned,
    ViewElided,
    ViewUndone,
    WorkspaceMoved,
    is_plain,
)
from ctxd.model.messages import MessageFacts
from ctxd.model.steering import SteeringDrained, SteerPushed
from ctxd.model.summary import SessionSummary


class Entry(msgspec.Struct, eq=False, gc=False):
    """One message of the model view, with what was elided from it; `lapsed` is as in `lapsing`."""

    facts: MessageFacts
    turn: int
    elided: tuple[Elision, ...] = ()
    lapsed: bool = False

    @property
    def tokens(self) -> int:
        """Base tokens as the provider reads it, 0 while they are not counted."""
        shown = 0 if self.lapsed else max(0, self.facts.tokens)
        return shown - sum([e.saved for e in self.elided]) if self.elided else shown

    @property
    def media(self) -> int:
        """Tokens of media as shown."""
        shown = self.facts.media_tokens
        return shown - sum([e.saved_media for e in self.elided]) if self.elided else shown

    @property
    def size(self) -> int:
        """Bytes of JSON as shown, about: placeholders are counted by their text."""
        shown = self.facts.bytes
        return shown - sum([e.saved_bytes for e in self.elided]) if self.elided else shown

    def copy(self) -> Entry:
        """The message as shown now; what is elided later leaves the copy as it is."""
        return Entry(self.facts, self.turn, self.elided, self.lapsed)

    def digest(self) -> bytes:
        """Identity of what is shown: the message's bytes and every placeholder in it; 32 bytes."""
        if not self.elided:
            return bytes.fromhex(self.facts.digest)
        seal = hashlib.sha256(bytes.fromhex(self.facts.digest))
        for elision in self.elided:
            seal.update(
                elision.call_id.encode() + b"\0" + elision.placeholder.encode("utf-8", "surrogatepass")
            )
        return seal.digest()


class SessionState(Transcript):
    """Everything a session knows, folded from its events. Token totals are base tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.created: SessionCreated | None = None
        self.dialect = ""
        self.is_mixed = False
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
        self.entries: list[Entry] = []
        self.uncounted: set[str] = set()
        self.client_ids: dict[str, tuple[int, tuple[str, ...]]] = {}
        self.reported_at = 0
        self.reported: dict[str, tuple[int, RequestReported]] = {}
        self.view: list[Entry] = []
        self.view_tokens = 0
        self.view_media = 0
        self.view_bytes = 0
        self.lapsing: list[Entry] = []
        self.anchor: Anchor | None = None
        self.calibration = Calibration()
        self.unseen = 0.0
        self.last_call_at = 0
        self.provider_calls = 0
        self.overflowed_at: int | None = None
        self.model_changed = False
        self.summary = SessionSummary()
        self.checkpoints: list[CheckpointCommitted] = []
        self.befores: dict[str, epochs.Before] = {}
        self.pins: dict[str, Pinned] = {}
        self.handoff = epochs.Handoff()
        self.contract: ContractDeclared | None = None
        self.verdicts: dict[str, ValidatorRecorded] = {}
        self.steering = steering.Steering()
        self.sealed = False
        self._chain = hashlib.sha256()
        self._places: dict[str, int] = {}
        self._placed = 0
        self._newest_assistant, self._searched = -1, 0

    def apply_all(self, events: Iterable[tuple[AnyEvent, int]]) -> None:
        """As `apply`, one after the other; runs of plain appends are taken at once."""
        run: list[MessagesAppended] = []
        newest = 0
        for event, at in events:
            if is_plain(event):
                run.append(event)
                newest = max(newest, at)
                continue
            self._append_all(run, len(run), newest)
            run, newest = [], 0
            self.apply(event, at)
        self._append_all(run, len(run), newest)

    def apply_run(self, event: AnyEvent, count: int, at: int) -> None:
        """As `apply`; of more than one event, they were plain appends and `event` has all their messages."""
        if is_plain(event):
            self._append_all([event], count, at)
        else:
            self.apply(event, at)

    def apply(self, event: AnyEvent, at: int) -> None:
        """Take in one event that is durable. `at` is its time in milliseconds, as recorded."""
        match event:
            case SessionCreated():
                fixed.create(self, event, at)
            case SessionUpdated():
                fixed.update(self, event)
            case MessagesAppended():
                self._append(event, at)
            case TokensCounted():
                deferred.count(self, event)
            case RequestReported():
                reported.report(self, event, at)
            case ViewElided():
                self._shorten(event.elisions)
                self._rechain()
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
            case ContractDeclared():
                self.contract = event
            case ValidatorRecorded():
                self.verdicts[event.validator_id] = event
            case SteerPushed():
                steering.push(self, event)
            case SteeringDrained():
                steering.drain(self, event)
            case Rewound():
                epochs.rewind(self, event)
            case SnapshotTaken():
                self.keep_snapshot(event)
            case OutputsScanned():
                scanned.take(self, event)
            case FileTouched() | WorkspaceMoved():
                recent.take(self, event, at)
            case ForkSealed() | StageFailed():
                self.sealed = self.sealed or isinstance(event, ForkSealed)
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

    @property
    def places(self) -> dict[str, int]:
        """Message id to its place in the view."""
        start, stop = self._placed, len(self.view)
        if start < stop:
            ids = [entry.facts.id for entry in self.view[start:stop]]
            self._places.update(zip(ids, range(start, stop)))
            self._placed = stop
        return self._places

    @property
    def newest_assistant(self) -> int:
        """Place of the newest assistant message in the view, -1 where there is none."""
        unseen = range(len(self.view) - 1, self._searched - 1, -1)
        newest = (place for place in unseen if self.view[place].facts.role == "assistant")
        self._newest_assistant = next(newest, self._newest_assistant)
        self._searched = len(self.view)
        return self._newest_assistant

    def turn_of(self, message_id: str) -> int:
        """The turn a message came in, by number from 1; the current one for a message unknown here."""
        position = self.positions.get(message_id)
        return self.turn if position is None else self.entries[position].turn

    def _append(self, event: MessagesAppended, at: int) -> None:
        before = self.load
        first = len(self.transcript)
        entries = self._extend(event.messages)
        self._shorten(event.elisions)
        self._chain.update(_digests(entries))
        if event.client_id:
            # The revision this event gets; `apply` counts it after us.
            self.client_ids[event.client_id] = (self.revision + 1, event.all_ids)
        if event.usage is not None:
            after = self.load
            response = Load(view=after.view - before.view, media=after.media - before.media)
            anchor = reported.set_anchor(self, event.usage, before, response, predicted=0)
            anchor.said = range(first, len(self.transcript)) if self.uncounted else range(0)
            self.last_call_at = at
            self.provider_calls += 1
            self.overflowed_at = None
        elif entries and self.anchor is not None and self.anchor.awaiting:
            reported.take_answer(self, self.anchor, entries[0])

    def _append_all(self, run: Sequence[MessagesAppended], count: int, newest: int) -> None:
        """As `_append` of plain ones in turn. They were `count`; `newest` is the latest of their times."""
        if not run:
            return
        self.grow([facts for event in run for facts in event.messages])
        self.revision += count
        self.updated_at = max(self.updated_at, newest)

    def grow(self, messages: Sequence[MessageFacts]) -> None:
        """Take in messages as they are, behind everything else."""
        entries = self._extend(messages)
        self._chain.update(_digests(entries))
        if entries and self.anchor is not None and self.anchor.awaiting:
            reported.take_answer(self, self.anchor, entries[0])

    def _extend(self, messages: Sequence[MessageFacts]) -> list[Entry]:
        """Add messages to the transcript and to the end of the view."""
        begin = [facts.user_turn and not facts.steered for facts in messages]
        turns = list(accumulate(begin, initial=self.turn))
        self.turn = turns[-1]
        entries = list(map(Entry, messages, turns[1:]))
        self.transcript.extend(messages)
        self.entries.extend(entries)
        self.view.extend(entries)
        tokens = [facts.tokens for facts in messages]
        if min(tokens, default=0) < 0:
            self.uncounted.update([facts.id for facts in messages if facts.tokens < 0])
            tokens = [max(0, size) for size in tokens]
        self.view_tokens += sum(tokens)
        self.view_media += sum([facts.media_tokens for facts in messages])
        self.view_bytes += sum([facts.bytes for facts in messages])
        lapsing.extend(self, entries)
        return entries

    def _add(self, entry: Entry) -> None:
        self.view_tokens += entry.tokens
        self.view_media += entry.media
        self.view_bytes += entry.size

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
                    entries.append(Entry(facts, self.turn_of(facts.source)))
                case _:
                    assert_never(item)
        self.befores[event.checkpoint_id] = epochs.remember(self, event.covers)
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
        self._places, self._placed = {}, 0
        self._newest_assistant, self._searched = -1, 0
        lapsing.settle(self)
        self.view_tokens = sum([entry.tokens for entry in entries])
        self.view_media = sum([entry.media for entry in entries])
        self.view_bytes = sum([entry.size for entry in entries])
        self.anchor = None
        self._rechain()

    def show(self, facts: MessageFacts) -> None:
        """Add a message of ctxd's own at the end of the view; the transcript does not have it."""
        entry = Entry(facts, self.turn)
        self.view.append(entry)
        self._add(entry)
        lapsing.extend(self, [entry])
        self._chain.update(entry.digest())

    def _rechain(self) -> None:
        self._chain = hashlib.sha256(_digests(self.view))


def _digests(entries: Sequence[Entry]) -> bytes:
    """The entries' digests, joined."""
    if any(entry.elided for entry in entries):
        return b"".join([entry.digest() for entry in entries])
    return bytes.fromhex("".join([entry.facts.digest for entry in entries]))
