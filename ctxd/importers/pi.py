"""pi's session files as steps: linear ones (version 1) and trees (versions 2 and 3).

Owns what the entries mean and which of them stand: the path from the newest entry to the root. A
session is read in the dialect of the API it talked to first (`anthropic-messages`: Anthropic; anything
else: OpenAI chat, since pi's own blocks are all that is recorded of those APIs). A compaction's
replacement is its summary and the entries that it kept. Must not know sessions, events or the wire.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxd.importers.json_lines import Meter, read_records, scan_heads, scan_lines
from ctxd.importers.pi_messages import AnthropicWriter, ChatWriter, Writer, call_ids
from ctxd.importers.steps import Message, NoteTaker, Source, Step, read_count
from ctxd.importers.weaving import Weaver

_HEADER_MARKS = ("cwd", "version", "provider")
_ENTRIES = frozenset({"message", "compaction", "branch_summary", "custom_message"})
"""Entry types that reach the model."""

SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
BRANCH = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)
"""What pi puts around a summary when it sends it (its `messages.ts`)."""


class _Message(msgspec.Struct):
    role: str | None = None
    api: str | None = None
    model: str | None = None


class _Head(msgspec.Struct, rename="camel"):
    type: str | None = None
    id: str | None = None
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None
    message: _Message | None = None


def recognizes(record: dict[str, Any]) -> bool:
    """Whether a record is pi's header, or a message of a role that only pi has."""
    if record.get("type") == "session" and isinstance(record.get("id"), str):
        return any(mark in record for mark in _HEADER_MARKS)
    match record:
        case {"type": "message", "message": {"role": "toolResult" | "bashExecution"}}:
            return True
        case {"type": "message", "message": {"role": "assistant", "api": str()}}:
            return True
        case _:
            return False


def open_sources(path: Path, *, meter: Meter | None = None) -> Iterator[Source]:
    """The one session of a file. Raises OSError."""
    tree = _Tree.scan(path, meter)
    notes = NoteTaker()
    writer: Writer = AnthropicWriter(notes) if tree.api in ("", "anthropic-messages") else ChatWriter(notes)
    records = read_records(scan_lines(path, notes, meter, "read"), notes)
    yield Source(
        format="pi",
        dialect=writer.dialect,
        name=path.stem,
        steps=stream_steps(records, tree, writer, notes),
        notes=notes,
        model=tree.model,
    )


def stream_steps(
    records: Iterable[tuple[int, dict[str, Any]]], tree: _Tree, writer: Writer, notes: NoteTaker
) -> Iterator[Step]:
    """Steps along the path, holding what the next compaction keeps.

    Noted, beside what `read_records`, `Weaver` and the writer note: `rewound` (entries of other
    branches), `notSent` (commands a person ran without the model), `unknownRecord`.
    """
    weaver = Weaver(notes, opening=writer.opening, join=writer.join)
    kept: list[tuple[int, Message]] = []
    for line, record in records:
        kind = record.get("type")
        if not isinstance(kind, str):
            notes.note("unknownRecord", line)
            continue
        if kind not in _ENTRIES:
            continue
        if not tree.stands(line):
            notes.note("rewound", line)
            continue
        if kind == "compaction":
            yield from _compact(weaver, writer, tree, line, record, kept)
            kept = [item for item in kept if tree.is_kept(item[0], line)]
            continue
        message = _message_of(kind, record)
        if message is None:
            notes.note("unknownRecord", line)
            continue
        if message.get("excludeFromContext"):
            notes.note("notSent", line)
            continue
        if tree.is_kept_later(line):
            kept.append((line, message))
        yield from _take(weaver, writer, line, message)
    yield from weaver.close()


def _compact(
    weaver: Weaver,
    writer: Writer,
    tree: _Tree,
    line: int,
    record: dict[str, Any],
    kept: list[tuple[int, Message]],
) -> Iterator[Step]:
    tail = record.get("retainedTail")
    if isinstance(tail, list):
        messages = [message for message in tail if isinstance(message, dict)]
    else:
        messages = [message for at, message in kept if tree.is_kept(at, line)]
    summary = _summary(SUMMARY, record)
    replacement = type(writer)(NoteTaker()).write_all(line, [*([summary] if summary else []), *messages])
    yield from weaver.take_boundary(line, replacement, pre_tokens=read_count(record, "tokensBefore"))


def _take(weaver: Weaver, writer: Writer, line: int, message: Message) -> Iterator[Step]:
    match message.get("role"):
        case "assistant":
            native = writer.answer(line, message)
            if native is not None:
                model = message.get("model")
                usage, prompt, completion = writer.usage(message.get("usage"))
                yield from weaver.take_response(
                    line,
                    (native,),
                    call_ids(message),
                    model=model if isinstance(model, str) else "",
                    usage=usage,
                    prompt=prompt,
                    completion=completion,
                )
        case "toolResult":
            yield from weaver.take_result(line, message.get("toolCallId"), writer.result(message))
        case _:
            native = writer.words(line, message)
            if native is not None:
                yield from weaver.take_user(line, native)


def _message_of(kind: str, record: dict[str, Any]) -> Message | None:
    """The message an entry puts into the context."""
    match kind:
        case "message":
            message = record.get("message")
            return message if isinstance(message, dict) and isinstance(message.get("role"), str) else None
        case "branch_summary":
            return _summary(BRANCH, record)
        case _:
            return {"role": "user", "content": record.get("content")}


def _summary(frame: tuple[str, str], record: dict[str, Any]) -> Message | None:
    text = record.get("summary")
    return {"role": "user", "content": frame[0] + text + frame[1]} if isinstance(text, str) else None


class _Tree:
    """Which lines stand, and which of them each compaction keeps. About 120 bytes per entry."""

    def __init__(self) -> None:
        self.api = ""
        self.model = ""
        self._lines = array("i")
        self._parents = array("i")
        self._places: dict[str, int] = {}
        self._standing = bytearray()
        self._keeps: dict[int, int] = {}
        """By line of a compaction: the first line that it keeps."""

    @classmethod
    def scan(cls, path: Path, meter: Meter | None = None) -> _Tree:
        """Read a file for its tree alone. Raises OSError; damage never raises."""
        tree = cls()
        kept: list[tuple[int, str | int | None]] = []
        for line, _, head in scan_heads(path, _Head, meter):
            tree._add(line, head, kept)
        tree._settle(kept)
        return tree

    def stands(self, line: int) -> bool:
        """Whether a line is on the path to the newest entry."""
        return line < len(self._standing) and bool(self._standing[line])

    def is_kept(self, line: int, compaction: int) -> bool:
        """Whether the compaction on a line keeps another line."""
        return self._keeps.get(compaction, compaction) <= line < compaction

    def is_kept_later(self, line: int) -> bool:
        """Whether any compaction keeps a line."""
        return any(self.is_kept(line, compaction) for compaction in self._keeps)

    def _add(self, line: int, head: _Head, kept: list[tuple[int, str | int | None]]) -> None:
        place = len(self._lines)
        if head.message is not None and head.message.role == "assistant":
            self.api = self.api or head.message.api or ""
            self.model = head.message.model or self.model
        parent = place - 1
        if head.type != "session" and isinstance(head.id, str):
            if isinstance(head.parent_id, str):
                parent = self._places.get(head.parent_id, place - 1)
            elif head.parent_id is None:
                parent = -1
            self._places[head.id] = place
        self._lines.append(line)
        self._parents.append(parent)
        if head.type == "compaction":
            kept.append((line, head.first_kept_entry_id or head.first_kept_entry_index))

    def _settle(self, kept: list[tuple[int, str | int | None]]) -> None:
        self._standing = bytearray((self._lines[-1] if self._lines else 0) + 1)
        at = len(self._lines) - 1
        while at >= 0:
            self._standing[self._lines[at]] = 1
            at = self._parents[at]
        for line, first in kept:
            # Version 1 counts entries from the file's start, the header included.
            place = self._places.get(first) if isinstance(first, str) else first
            if place is not None and 0 <= place < len(self._lines):
                self._keeps[line] = self._lines[place]
        self._places = {}
