"""`session/fork`: a new session with the past of another, up to a message.

Events are copied, not messages alone: the fork's views, counts and typed state are those the parent
had. Handoffs are left out, they speak of the parent's epoch, and so is what waits to steer its turn. The
last copied event seals the fork; a log with a parent and without a seal was never finished and is not
opened.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from ctxd.core.fold import SessionState
from ctxd.model import events
from ctxd.model.errors import NotFound
from ctxd.model.events import (
    AnyEvent,
    CheckpointCommitted,
    ForkSealed,
    HandoffRecorded,
    Kept,
    MessagesAppended,
    OutputsScanned,
    SessionCreated,
)
from ctxd.model.messages import MessageFacts
from ctxd.model.records import Draft, Record
from ctxd.model.steering import SteeringDrained, SteerPushed
from ctxd.store.log.event_log import SessionLog

BATCH_BYTES = 4 * 1024 * 1024
"""Copied records are appended in batches of about this many bytes."""


class Copy(msgspec.Struct, frozen=True):
    """One event of a fork as it is written: the event and its bodies, raw JSON in order."""

    event: AnyEvent
    data: bytes


def copies(log: SessionLog, session_id: str, at: str | None, state: SessionState) -> list[Copy]:
    """The events of a fork of a log. Blocking. Raises NotFound when `at` is no message of it.

    `state` is a fresh one: it is folded along, so that what a checkpoint covers can be told without
    the handoffs that are left out.
    """
    made: list[Copy] = []
    dropped: set[str] = set()
    done = False
    for record in log.records:
        if done and record.type != "outputsScanned":
            continue
        if record.type not in events.TYPES:
            continue
        event = events.decode(record.type, record.facts)
        if event is None:
            continue
        data = log.read(record.location)
        if done and isinstance(event, OutputsScanned):
            # Secrets found behind the end of the fork are cut out of what it has, too.
            made.append(Copy(*_scanned(event, data, state.positions.keys())))
            continue
        covered = _covered(event, state, dropped)
        state.apply(event, record.at)
        match event:
            case SessionCreated():
                event = msgspec.structs.replace(event, session_id=session_id, parent=event.session_id)
            case HandoffRecorded(facts=facts):
                dropped.add(facts.id)
                continue
            case SteerPushed():
                continue
            case CheckpointCommitted():
                kept = tuple(
                    r for r in event.replacement if not (isinstance(r, Kept) and r.message_id in dropped)
                )
                event = msgspec.structs.replace(event, covers=covered, replacement=kept)
            case MessagesAppended(messages=messages) | SteeringDrained(messages=messages) if at is not None:
                ids = [facts.id for facts in messages]
                if at in ids:
                    event, data = _cut(event, data, ids.index(at) + 1)
                    done = True
            case _:
                pass
        made.append(Copy(event, data))
    if at is not None and not done:
        raise NotFound("no such message in this session", hint="session/history lists message ids")
    return made


def is_unfinished_fork(records: Sequence[Record]) -> bool:
    """Whether a log has a parent and no seal."""
    for record in records:
        if record.type == "sessionCreated":
            event = events.decode(record.type, record.facts)
            if not (isinstance(event, SessionCreated) and event.parent):
                return False
        if record.type == "forkSealed":
            return False
    return True


def drafts(made: Sequence[Copy], new_id: str, at: str | None) -> list[list[Draft]]:
    """The copies as batches of drafts, the seal last. `new_id` begins the ids of their records."""
    parent = made[0].event.parent if made and isinstance(made[0].event, SessionCreated) else ""
    everything = [*made, Copy(ForkSealed(parent=parent, at=at or ""), b"null")]
    batches: list[list[Draft]] = [[]]
    size = 0
    for number, copy in enumerate(everything):
        draft = Draft(
            id=f"{new_id}.{number}",
            type=str(copy.event.__struct_config__.tag),
            data=copy.data,
            facts=events.encode(copy.event),
        )
        size += len(draft.data) + len(draft.facts)
        if size > BATCH_BYTES and batches[-1]:
            batches.append([])
            size = 0
        batches[-1].append(draft)
    return batches


def _covered(event: AnyEvent, state: SessionState, dropped: set[str]) -> int:
    """How many entries of the fork's view a checkpoint covers."""
    if not isinstance(event, CheckpointCommitted):
        return 0
    return sum(1 for entry in state.view[: event.covers] if entry.facts.id not in dropped)


def _cut(
    event: MessagesAppended | SteeringDrained, data: bytes, count: int
) -> tuple[MessagesAppended | SteeringDrained, bytes]:
    """The first `count` messages of an append, or of what a request took in."""
    kept = event.messages[:count]
    ids = {facts.id for facts in kept}
    length = sum(1 if facts.blob else facts.bytes for facts in kept) + len(kept) - 1
    data = b"[" + data[1 : 1 + length] + b"]"
    if isinstance(event, SteeringDrained):
        return msgspec.structs.replace(event, messages=kept), data
    shorter = msgspec.structs.replace(
        event,
        messages=kept,
        client_id="",
        all_ids=(),
        elisions=tuple(e for e in event.elisions if e.message_id in ids),
        usage=event.usage if len(kept) == len(event.messages) else None,
    )
    return shorter, data


def _scanned(event: OutputsScanned, data: bytes, ids: Collection[str]) -> tuple[OutputsScanned, bytes]:
    """What a scan found in these messages."""
    start = 1
    kept: list[tuple[MessageFacts, bytes]] = []
    for facts in event.messages:
        length = 1 if facts.blob else facts.bytes
        if facts.id in ids:
            kept.append((facts, data[start : start + length]))
        start += length + 1
    clean = tuple(message_id for message_id in event.clean if message_id in ids)
    fewer = OutputsScanned(clean=clean, messages=tuple(facts for facts, _ in kept))
    return fewer, b"[%b]" % b",".join(raw for _, raw in kept) if kept else b"null"
