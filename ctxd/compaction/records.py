"""`EXACT CONTINUATION RECORD` lines: what a person or the host wants carried on word for word (E §6.7).

They are found in words of people and the host only; what a tool printed or the model said is no
record. Found once, they are typed state: no summary is read to find them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import get_args

from ctxd.compaction.extract import Item
from ctxd.model.summary import ExactRecord, SessionSummary, Topic

MAX_RECORDS = 32
MAX_CHARS = 16_384
"""Records and characters of payload kept; the newest win."""

MAX_PAYLOAD = 2_048
"""Characters of one payload; a longer one is no record."""

_LINE = re.compile(r"^EXACT CONTINUATION RECORD \[([^\]\n]{1,64})\] :: (.+?)\s*$")
_TOPICS: dict[str, Topic] = {topic.lower(): topic for topic in get_args(Topic)}


def find_records(text: str) -> list[ExactRecord]:
    """The records of one message, in order. Lines with an unknown heading or no payload are none."""
    return [record for line in text.split("\n") if (record := _read(line)) is not None]


def collect_records(known: Sequence[ExactRecord], items: Sequence[Item]) -> tuple[ExactRecord, ...]:
    """Known records and those in the words of people and the host, kept messages included."""
    said = (
        item.view.text
        for item in items
        if item.entry.facts.role in ("user", "system", "developer") and not item.entry.facts.inserted
    )
    return keep_newest((*known, *(record for text in said for record in find_records(text))))


def is_record(line: str) -> bool:
    """True when a line is a record."""
    return line.startswith("EXACT") and _read(line) is not None


def keep_newest(records: Iterable[ExactRecord]) -> tuple[ExactRecord, ...]:
    """Each record once, where it was said last; as many of the newest as the bounds take."""
    distinct: dict[ExactRecord, None] = {}
    for record in records:
        distinct.pop(record, None)
        distinct[record] = None
    kept: list[ExactRecord] = []
    chars = 0
    for record in reversed(distinct):
        chars += len(record.payload)
        if len(kept) == MAX_RECORDS or chars > MAX_CHARS:
            break
        kept.append(record)
    return tuple(reversed(kept))


def leave_out(summary: SessionSummary, records: Sequence[ExactRecord]) -> SessionSummary:
    """A model's account without the items that repeat a record as a whole: the host places each once."""
    said = {record.payload for record in records}

    def rest(lines: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line for line in lines if not _repeats(line, said))

    return SessionSummary(
        goal=summary.goal,
        constraints=summary.constraints,
        decisions=tuple(d for d in summary.decisions if not _repeats(d.summary, said)),
        mutations=summary.mutations,
        evidence=rest(summary.evidence),
        progress_done=rest(summary.progress_done),
        progress_in_progress=rest(summary.progress_in_progress),
        risks=rest(summary.risks),
        next_steps=rest(summary.next_steps),
        exact_records=summary.exact_records,
        plan=summary.plan,
    )


def _read(line: str) -> ExactRecord | None:
    match = _LINE.match(line)
    if match is None:
        return None
    topic = _TOPICS.get(" ".join(match[1].lower().split()))
    payload = match[2].strip()
    if topic is None or not 1 <= len(payload) <= MAX_PAYLOAD:
        return None
    return ExactRecord(topic, payload)


def _repeats(line: str, said: set[str]) -> bool:
    stripped = line.strip()
    if stripped in said:
        return True
    record = _read(stripped)
    return record is not None and record.payload in said
