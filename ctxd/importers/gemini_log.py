"""Gemini CLI's JSON Lines log as the messages that stand at its end, in order.

Owns the rules of the log. Holds the place of each message, not its text, and reads the file twice. A
list that replaces another one is a compaction, unless it only takes messages back. Must not know what
a message says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ctxd.importers.json_lines import Meter, read_records, scan_lines
from ctxd.importers.steps import NoteTaker

_Spot: TypeAlias = tuple[int, int]
"""The line a message is on, and its place in that line's list; -1 where the line is the message."""


class Entry(NamedTuple):
    """A message with its line, or a list of messages that replaced all before it."""

    line: int
    message: Any
    replacement: list[Any] | None = None


class _Plan:
    """Which lines hold what stands: by spot its position, and the spots of each replacement."""

    def __init__(self, notes: NoteTaker) -> None:
        self._notes = notes
        self.model = ""
        self.positions: dict[_Spot, int] = {}
        self.replacements: dict[int, int] = {}
        """By line of a list that replaced others: its position."""
        self._order: dict[str, _Spot] = {}
        self._replaced: dict[str, _Spot] = {}
        self._next = 0

    def take(self, line: int, record: dict[str, Any]) -> None:
        """One record, in the order of the file."""
        given = record.get("$set")
        patch = given if isinstance(given, dict) else record
        target = record.get("$rewindTo")
        if isinstance(target, str):
            self._rewind(target)
        elif given is None and isinstance(record.get("id"), str):
            self._write(record["id"], (line, -1))
            if isinstance(record.get("model"), str):
                self.model = record["model"]
        elif isinstance(patch.get("messages"), list) and patch["messages"]:
            self._replace(line, patch["messages"])

    def settle(self) -> None:
        """Number what stands after the newest replacement."""
        for spot in self._order.values():
            self.positions[spot] = self._next
            self._next += 1
        self._replaced |= self._order
        self._order = {}

    def _write(self, name: str, spot: _Spot) -> None:
        """A message, or a newer version of one; of one that was replaced, in its old place."""
        if name in self._order or name not in self._replaced:
            self._order[name] = spot
        else:
            self.positions[spot] = self.positions.pop(self._replaced[name])
            self._replaced[name] = spot

    def _rewind(self, target: str) -> None:
        names = list(self._order)
        self._take_back(names[names.index(target) if target in self._order else 0 :])

    def _take_back(self, names: list[str]) -> None:
        for name in names:
            self._notes.note("rewound", self._order.pop(name)[0])

    def _replace(self, line: int, messages: list[Any]) -> None:
        names = [m["id"] for m in messages if isinstance(m, dict) and isinstance(m.get("id"), str)]
        before = list(self._order)
        if names == before[: len(names)]:
            self._take_back(before[len(names) :])
        elif not before and not self._next:
            self._order = {name: (line, place) for place, name in _placed(messages)}
        else:
            self.settle()
            self.replacements[line] = self._next
            self._next += 1


def read_log(path: Path, notes: NoteTaker, meter: Meter | None) -> tuple[Iterator[Entry], str]:
    """The entries that stand, and the model. Raises OSError. Noted: `rewound` (messages taken back)."""
    plan = _Plan(notes)
    ignored = NoteTaker()
    for line, record in read_records(scan_lines(path, ignored, meter, "index"), ignored):
        plan.take(line, record)
    plan.settle()
    return _read_entries(path, plan, notes, meter), plan.model


def _read_entries(path: Path, plan: _Plan, notes: NoteTaker, meter: Meter | None) -> Iterator[Entry]:
    waiting: dict[int, Entry] = {}
    due = 0
    for line, record in read_records(scan_lines(path, notes, meter, "read"), notes):
        waiting.update(_entries(line, record, plan))
        while due in waiting:
            yield waiting.pop(due)
            due += 1
    for position in sorted(waiting):
        yield waiting[position]


def _entries(line: int, record: dict[str, Any], plan: _Plan) -> Iterator[tuple[int, Entry]]:
    """What a record holds that stands, with its position."""
    if (position := plan.positions.get((line, -1))) is not None and isinstance(record.get("id"), str):
        yield position, Entry(line, record)
    given = record.get("$set")
    patch = given if isinstance(given, dict) else record
    messages = patch.get("messages")
    if not isinstance(messages, list):
        return
    if line in plan.replacements:
        yield plan.replacements[line], Entry(line, None, messages)
    for place, message in enumerate(messages):
        if (position := plan.positions.get((line, place))) is not None:
            yield position, Entry(line, message)


def _placed(messages: list[Any]) -> Iterator[tuple[int, str]]:
    for place, message in enumerate(messages):
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            yield place, message["id"]
