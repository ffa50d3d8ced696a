"""Claude Code's JSONL transcripts as steps in the Anthropic dialect.

Owns what the records mean. Several lines with one `message.id` are one API message whose last line's
usage counts; what the user side said between two API messages is one user message, results first.
Kept as the model saw it: `isMeta` lines are sent to the model by Claude Code, so they stay, and words
typed while it worked are recorded as an attachment alone. Left out and noted: sidechains (other
conversations; sources of their own when asked for), branches that were rewound, other attachments,
`<synthetic>` responses (no model wrote them). Must not know sessions, events or the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ctxd.importers.claude_lineage import Lineage
from ctxd.importers.json_lines import Meter, read_records, scan_lines
from ctxd.importers.steps import (
    Boundary,
    Message,
    NoteTaker,
    Response,
    Results,
    Source,
    Step,
    UserInput,
    read_count,
)
from ctxd.importers.weaving import OPENING

RECORD_TYPES = frozenset(
    {
        "user",
        "assistant",
        "system",
        "summary",
        "progress",
        "attachment",
        "file-history-snapshot",
        "file-history-delta",
        "queue-operation",
    }
)
"""The record types Claude Code is known to write; four of them carry a conversation."""

_MARKS = ("uuid", "sessionId", "parentUuid", "leafUuid", "messageId")
_USAGE_PARTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def recognizes(record: dict[str, Any]) -> bool:
    """Whether a record bears a type and an id that Claude Code gives its records."""
    return bool(_record_type(record)) and any(mark in record for mark in _MARKS)


def open_sources(path: Path, *, meter: Meter | None = None, sidechains: bool = False) -> Iterator[Source]:
    """The main conversation, then with `sidechains` each other one. Raises OSError."""
    lineage = Lineage.scan(path, meter)
    yield _source(path, lineage, 0, path.stem, meter)
    if sidechains:
        for group, name in enumerate(lineage.sidechains, 1):
            yield _source(path, lineage, group, f"{path.stem}, sidechain {name}", meter)


def _source(path: Path, lineage: Lineage, group: int, name: str, meter: Meter | None) -> Source:
    notes = NoteTaker()
    records = read_records(scan_lines(path, notes, meter, "read"), notes)
    return Source(
        format="claude-code",
        dialect="anthropic",
        name=name,
        model=lineage.model,
        steps=stream_steps(_select(records, lineage, group, notes), notes),
        notes=notes,
    )


def _select(
    records: Iterable[tuple[int, dict[str, Any]]], lineage: Lineage, group: int, notes: NoteTaker
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of one conversation. Noted of the main one: `repeatedRecord`, `sidechain`, `rewound`."""
    previous, nth = 0, 0
    for line, record in records:
        nth = nth + 1 if line == previous else 0
        previous = line
        if group:
            if lineage.group(line, nth) == group:
                yield line, record
            continue
        match lineage.standing(line, nth):
            case "main":
                yield line, record
            case "repeated":
                notes.note("repeatedRecord", line)
            case "sidechain" | "rewound" as standing:
                if record.get("type") in ("user", "assistant"):
                    notes.note(standing, line)


def stream_steps(records: Iterable[tuple[int, dict[str, Any]]], notes: NoteTaker) -> Iterator[Step]:
    """Steps of one conversation in order, holding one exchange besides the ids that were seen.

    Noted, beside what `read_records` notes: `syntheticResponse`, `lateBlock` (a line of an API message
    that ended before), `repeatedCall`, `orphanResult`, `duplicateResult`, `emptyText`, `attachment`
    (reminders and file contents that the file does not hold as they were sent), `microcompaction`
    (old results were cleared from what was sent), `unreadableMessage`, `unknownRecord`,
    `openedWithoutUser`.
    """
    exchange = _Exchange(notes)
    for line, record in records:
        match _record_type(record):
            case "":
                notes.note("unknownRecord", line)
            case "system":
                if record.get("subtype") == "compact_boundary":
                    yield from exchange.close()
                    exchange.open_boundary(line, record.get("compactMetadata"))
                elif record.get("subtype") == "microcompact_boundary":
                    notes.note("microcompaction", line)
            case "attachment":
                queued = _queued_words(record.get("attachment"))
                if queued is None:
                    notes.note("attachment", line)
                else:
                    exchange.take_user(line, queued, _blocks(queued) or [])
            case "user" | "assistant" as kind:
                message = record.get("message")
                blocks = _blocks(message)
                if not isinstance(message, dict) or blocks is None:
                    notes.note("unreadableMessage", line)
                elif kind == "assistant":
                    fallback = record.get("requestId")
                    yield from exchange.take_response(line, message, blocks, fallback_id=fallback)
                elif record.get("isCompactSummary"):
                    yield from exchange.take_summary(line, message)
                else:
                    exchange.take_user(line, message, blocks)
    yield from exchange.close()


def _record_type(record: dict[str, Any]) -> str:
    """The record's type where Claude Code is known to write it, else ""."""
    kind = record.get("type")
    return kind if isinstance(kind, str) and kind in RECORD_TYPES else ""


def _queued_words(attachment: Any) -> Message | None:
    """What was typed while the model worked, as a message."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    message = _native("user", attachment.get("prompt"))
    return message if _blocks(message) is not None else None


class _Exchange:
    """One response being put together, and what the user side said after it."""

    def __init__(self, notes: NoteTaker) -> None:
        self._notes = notes
        self._boundary: Boundary | None = None
        self._ended: set[str] = set()
        self._answered: set[str] = set()
        self._started = False
        self._clear()

    def _clear(self) -> None:
        self._id: str | None = None
        self._blocks: list[dict[str, Any]] = []
        self._envelope: dict[str, Any] = {}
        self._line = 0
        self._results: list[tuple[int, dict[str, Any]]] = []
        self._said: list[Message] = []
        self._user_line = 0

    def take_response(
        self, line: int, message: Message, blocks: list[dict[str, Any]], *, fallback_id: Any
    ) -> Iterator[Step]:
        """Add a line of the current API message, or end the exchange and begin the next."""
        if message.get("model") == "<synthetic>":
            self._notes.note("syntheticResponse", line)
            return
        identity = next((i for i in (message.get("id"), fallback_id) if isinstance(i, str)), f"line {line}")
        if identity in self._ended:
            self._notes.note("lateBlock", line)
            return
        if identity != self._id:
            yield from self.close()
            self._id, self._line = identity, line
        self._envelope = message
        for block in blocks:
            if _call_ids([block]) & _call_ids(self._blocks):
                self._notes.note("repeatedCall", line)
            elif not self._is_empty_text(block, line):
                self._blocks.append(block)

    def take_user(self, line: int, message: Message, blocks: list[dict[str, Any]]) -> None:
        """Keep results and words apart until the response they follow is whole."""
        self._user_line = self._user_line or line
        self._results += [(line, block) for block in blocks if block.get("type") == "tool_result"]
        said = [
            block
            for block in blocks
            if block.get("type") != "tool_result" and not self._is_empty_text(block, line)
        ]
        if said:
            whole = len(said) == len(blocks)
            self._said.append(_native("user", message["content"] if whole else said))

    def open_boundary(self, line: int, metadata: Any) -> None:
        """Remember a `compact_boundary` record until its summary comes."""
        self._boundary = Boundary(line=line, pre_tokens=read_count(metadata, "preTokens"))

    def take_summary(self, line: int, message: Message) -> Iterator[Step]:
        """End the epoch with the message that stands for it."""
        yield from self.close(keep_boundary=True)
        opened = self._boundary or Boundary(line=line)
        self._boundary = None
        summary = _native("user", message["content"])
        yield Boundary(line=opened.line, pre_tokens=opened.pre_tokens, replacement=(summary,))
        self._started = True

    def close(self, *, keep_boundary: bool = False) -> Iterator[Step]:
        """Give out the exchange that is held, a response before what answered it."""
        if self._boundary is not None and not keep_boundary:
            yield self._boundary
            self._boundary = None
        if self._id is not None:
            self._ended.add(self._id)
        if self._blocks:
            if not self._started:
                self._notes.note("openedWithoutUser", self._line)
                yield UserInput(messages=({"role": "user", "content": OPENING},), line=self._line)
            self._started = True
            yield self._response()
        results = self._take_results()
        user = _merge_user(results, self._said)
        if results and user is not None:
            yield Results(messages=(user,), line=self._user_line, spoken=bool(self._said))
        elif user is not None:
            yield UserInput(messages=(user,), line=self._user_line)
        self._started = self._started or user is not None
        self._clear()

    def _response(self) -> Response:
        usage = self._envelope.get("usage")
        model = self._envelope.get("model")
        counts = usage if isinstance(usage, dict) else {}
        parts = [read_count(counts, name) for name in _USAGE_PARTS]
        return Response(
            messages=(_native("assistant", self._blocks),),
            line=self._line,
            model=model if isinstance(model, str) else "",
            usage=usage if counts else None,
            prompt_reported=sum(part or 0 for part in parts) or None,
            completion_reported=read_count(counts, "output_tokens"),
        )

    def _take_results(self) -> list[dict[str, Any]]:
        """Results of this response's calls as given; each call is answered once."""
        calls = _call_ids(self._blocks)
        taken: list[dict[str, Any]] = []
        here: set[str] = set()
        for line, block in self._results:
            call = block.get("tool_use_id")
            if not isinstance(call, str) or (call not in calls and call not in self._answered):
                self._notes.note("orphanResult", line)
            elif call in here or call not in calls:
                self._notes.note("duplicateResult", line)
            else:
                here.add(call)
                taken.append(block)
        self._answered |= here
        return taken

    def _is_empty_text(self, block: dict[str, Any], line: int) -> bool:
        if block.get("type") != "text" or str(block.get("text") or "").strip():
            return False
        self._notes.note("emptyText", line)
        return True


def _blocks(message: Any) -> list[dict[str, Any]] | None:
    """The content as blocks; None when it is no content."""
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return content
    return None


def _call_ids(blocks: list[dict[str, Any]]) -> set[str]:
    ids = (block.get("id") for block in blocks if block.get("type") == "tool_use")
    return {call for call in ids if isinstance(call, str)}


def _native(role: str, content: Any) -> Message:
    """The message as it was sent: ids, model and usage belong to the answer, not to a request."""
    return {"role": role, "content": content}


def _merge_user(results: list[dict[str, Any]], said: list[Message]) -> Message | None:
    """One user message: results first, then the words in order. One plain message stays as it is."""
    if not results and len(said) == 1:
        return said[0]
    blocks = [*results, *(block for message in said for block in _blocks(message) or [])]
    return _native("user", blocks) if blocks else None
