"""From the records of a log to events, many at a time. What cannot be read is named, never guessed at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ctxd.model import events
from ctxd.model.events import (
    AnyEvent,
    CheckpointCommitted,
    HandoffRecorded,
    MessagesAppended,
    OutputsScanned,
    Pinned,
    Placed,
)
from ctxd.model.messages import MessageFacts
from ctxd.model.records import Record
from ctxd.model.steering import SteeringDrained

_NOT_UNDERSTOOD = events.HandoffRecorded(
    version=0,
    observed_prompt_tokens=0,
    available_for_input=0,
    handoff_threshold=0,
    compaction_threshold=0,
    facts=MessageFacts(id="", role="user", bytes=0, digest="", tokens=0),
)
"""What a handoff that cannot be read is taken for: it is no valid one, but there was one (E §4.2)."""

CHUNK = 512
CHUNK_BYTES = 1024 * 1024
"""Most records, and most bytes of more than one, decoded at once; other threads get their turn in between."""


def read_events(
    records: Sequence[Record], unreadable: list[int]
) -> Iterator[tuple[list[Record], list[AnyEvent]]]:
    """Records and their events side by side, in order, in chunks.

    Records of types that this version does not know are left out. The seq of one whose event cannot be
    decoded is added to `unreadable`.
    """
    for chunk in _chunks(records):
        try:
            found = events.decode_all([record.facts for record in chunk])
        except msgspec.MsgspecError:
            found = []
        if [type(event) for event in found] == [events.TYPES[record.type] for record in chunk]:
            yield chunk, found
        else:
            yield _read_each(chunk, unreadable)


def _chunks(records: Sequence[Record]) -> Iterator[list[Record]]:
    """The records whose type is known, in runs."""
    known = [record for record in records if record.type in events.TYPES]
    start = 0
    while start < len(known):
        chunk = known[start : start + CHUNK]
        while len(chunk) > 1 and sum([len(record.facts) for record in chunk]) > CHUNK_BYTES:
            chunk = chunk[: len(chunk) // 2]
        yield chunk
        start += len(chunk)


def _read_each(records: Sequence[Record], unreadable: list[int]) -> tuple[list[Record], list[AnyEvent]]:
    readable: list[Record] = []
    found: list[AnyEvent] = []
    for record in records:
        try:
            event = events.decode(record.type, record.facts)
        except msgspec.MsgspecError:
            unreadable.append(record.seq)
            event = _NOT_UNDERSTOOD if record.type == "handoffRecorded" else None
        if event is not None:
            readable.append(record)
            found.append(event)
    return readable, found


def placed(event: AnyEvent) -> tuple[MessageFacts, ...]:
    """Facts of the messages an event carries, in the order of its body."""
    match event:
        case (
            MessagesAppended(messages=messages)
            | SteeringDrained(messages=messages)
            | OutputsScanned(messages=messages)
        ):
            return messages
        case CheckpointCommitted(replacement=replacement):
            return tuple(item.facts for item in replacement if isinstance(item, Placed))
        case Pinned(facts=facts):
            return (facts,) if facts is not None else ()
        case HandoffRecorded(facts=facts):
            return (facts,)
        case _:
            return ()
