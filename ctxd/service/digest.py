"""The events of a log in the fewest words, for the bookmark an orderly close leaves: the same fold, sooner.

Runs of appends that do nothing but add messages are one event each here; everything else stands as it was
written. Must not know files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from ctxd.model.events import AnyEvent, MessagesAppended, is_plain
from ctxd.model.messages import MessageFacts
from ctxd.model.records import Record
from ctxd.service.reading import placed, read_events


class Step(msgspec.Struct, frozen=True):
    """One event, or a run of plain appends as one: `count` of them, the latest at `at`.

    `seqs` and `sizes` say which records hold its messages, and how many each.
    """

    event: AnyEvent
    count: int
    at: int
    seqs: Sequence[int]
    sizes: Sequence[int]


class _Steps(msgspec.Struct, frozen=True, array_like=True):
    """Steps of some records, column by column; `spans` are how many of `seqs` and `sizes` are each one's."""

    events: list[AnyEvent]
    counts: list[int]
    ats: list[int]
    spans: list[int]
    seqs: list[int]
    sizes: list[int]


_decode = msgspec.json.Decoder(_Steps).decode


def digest(records: Sequence[Record]) -> bytes | None:
    """Records as the body of a bookmark, which may be joined to others; None when any cannot be read."""
    unreadable: list[int] = []
    lines: list[bytes] = []
    for readable, found in read_events(records, unreadable):
        if unreadable:
            return None
        lines.append(msgspec.json.encode(_condense(readable, found)) + b"\n")
    return b"".join(lines)


def read_digest(body: bytes) -> Iterator[list[Step]]:
    """The steps in a body, in order, some at a time."""
    view, begin = memoryview(body), 0
    while begin < len(body):
        end = body.index(b"\n", begin)
        read = _decode(view[begin:end])
        begin = end + 1
        steps: list[Step] = []
        start = 0
        for event, count, at, span in zip(read.events, read.counts, read.ats, read.spans):
            stop = start + span
            steps.append(Step(event, count, at, read.seqs[start:stop], read.sizes[start:stop]))
            start = stop
        yield steps


def _condense(records: Sequence[Record], found: Sequence[AnyEvent]) -> _Steps:
    made = _Steps([], [], [], [], [], [])
    for plain, group in groupby(zip(records, found), lambda pair: is_plain(pair[1])):
        pairs = list(group)
        for run in [pairs] if plain else [[pair] for pair in pairs]:
            holders = [(record.seq, len(messages)) for record, e in run if (messages := placed(e))]
            made.events.append(_joined([event for _, event in run]) if plain else run[0][1])
            made.counts.append(len(run))
            made.ats.append(max([record.at for record, _ in run]))
            made.spans.append(len(holders))
            made.seqs.extend([seq for seq, _ in holders])
            made.sizes.extend([size for _, size in holders])
    return made


def _joined(run: Sequence[AnyEvent]) -> AnyEvent:
    messages: list[MessageFacts] = []
    for event in run:
        messages += placed(event)
    return MessagesAppended(messages=tuple(messages))
