"""Codex rollouts as steps in the Responses dialect, in both layouts.

Owns what the lines mean. Today's are `{timestamp, type, payload}`; before September 2025 the items stood
there bare behind a head without a type. `response_item` is what the model was sent and said; `event_msg`
repeats it for the screen, save for usage (`token_count`), aborted turns and turns taken back. One
response is what stands between two usages: early versions write an output behind each call, so that a
parallel batch is interleaved, and write the usage in front of the items, later ones behind them.
Must not know sessions, events or the wire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ctxd.dialects.openai_responses_items import CALLS, OUTPUTS
from ctxd.importers.codex_index import ITEMS, RolloutIndex
from ctxd.importers.json_lines import Meter, read_records, scan_lines
from ctxd.importers.steps import Message, NoteTaker, Source, Step, read_count
from ctxd.importers.weaving import Weaver

_NOT_SENT = frozenset({"ghost_snapshot", "other"})
"""Item types that Codex keeps for itself."""

KEPT_USER_CHARS = 80_000
"""Characters of user messages that Codex carries over a compaction (20,000 tokens at 4)."""


def recognizes(record: dict[str, Any]) -> bool:
    """Whether a record is a line of a rollout, in either layout."""
    match record:
        case {"type": "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted"}:
            return isinstance(record.get("payload"), dict)
        case {"record_type": "state"}:
            return True
        case {"id": str(), "timestamp": str(), "instructions": _} if "type" not in record:
            return True
        case {"type": "message", "role": str(), "content": [{"type": "input_text" | "output_text"}, *_]}:
            return True
        case {"type": "function_call", "call_id": str(), "arguments": str()}:
            return True
        case _:
            return False


def open_sources(path: Path, *, meter: Meter | None = None) -> Iterator[Source]:
    """The one session of a rollout. Raises OSError."""
    index = RolloutIndex.scan(path, meter)
    notes = NoteTaker()
    records = read_records(scan_lines(path, notes, meter, "read"), notes)
    yield Source(
        format="codex",
        dialect="openai-responses",
        name=path.stem,
        steps=stream_steps(records, index, notes),
        notes=notes,
        model=index.model,
        window=index.window,
        system=index.instructions or None,
    )


def stream_steps(
    records: Iterable[tuple[int, dict[str, Any]]], index: RolloutIndex, notes: NoteTaker
) -> Iterator[Step]:
    """Steps in order, holding one exchange and the newest user messages.

    Noted, beside what `read_records` and `Weaver` note: `abortedTurn`, `rolledBack` (items of turns the
    user took back), `repeatedUsage` (reported again without a request), `unmatchedUsage` (no response
    to it is there), `ghostItem` (kept by Codex for itself), `unreadableItem`, `unknownRecord`.
    """
    rollout = _Rollout(notes, usage_first=index.usage_first, has_usage=index.has_usage)
    for line, record in records:
        kind, payload = unwrap(record)
        if index.is_rolled_back(line):
            if kind in ("item", "compacted"):
                notes.note("rolledBack", line)
            continue
        match kind:
            case "item":
                yield from rollout.take_item(line, payload)
            case "event":
                yield from rollout.take_event(line, payload)
            case "context":
                yield from rollout.end_request()
                model = payload.get("model")
                rollout.model = model if isinstance(model, str) else rollout.model
            case "compacted":
                yield from rollout.compact(line, payload)
            case "unknown":
                notes.note("unknownRecord", line)
    yield from rollout.close()


def unwrap(record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a line is, and its payload, in either layout."""
    payload = record.get("payload")
    match record.get("type"):
        case "response_item" if isinstance(payload, dict):
            return "item", payload
        case "event_msg" if isinstance(payload, dict):
            return "event", payload
        case "turn_context" if isinstance(payload, dict):
            return "context", payload
        case "compacted" if isinstance(payload, dict):
            return "compacted", payload
        case "session_meta" if isinstance(payload, dict):
            return "meta", payload
        case str(kind) if kind in ITEMS and payload is None:
            return "item", record
        case None if record.get("record_type") == "state" or "instructions" in record:
            return "meta", record
        case _:
            return "unknown", record


class _Rollout:
    """The exchange being put together: items of one response, their outputs, its usage."""

    def __init__(self, notes: NoteTaker, *, usage_first: bool, has_usage: bool) -> None:
        self._notes = notes
        self._usage_first = usage_first
        self._has_usage = has_usage
        self._weaver = Weaver(notes)
        self._items: list[Message] = []
        self._outputs: list[tuple[int, Message]] = []
        self._line = 0
        self._usage: dict[str, Any] | None = None
        self._usage_line = 0
        self._total: Any = None
        self._said: deque[Message] = deque()
        self._said_chars = 0
        self.model = ""

    def take_item(self, line: int, item: dict[str, Any]) -> Iterator[Step]:
        """An item of the conversation, as it was sent."""
        kind = item.get("type")
        if not isinstance(kind, str):
            self._notes.note("unreadableItem", line)
        elif kind in _NOT_SENT:
            self._notes.note("ghostItem", line)
        elif kind in OUTPUTS:
            self._outputs.append((line, _native(item)))
        elif kind == "message" and item.get("role") != "assistant":
            yield from self.end_request()
            native = _native(item)
            self._remember(native)
            yield from self._weaver.take_user(line, native)
        else:
            if self._outputs and not (self._items and self._has_usage):
                yield from self.end_request()
            self._line = self._line if self._items else line
            self._items.append(_native(item))

    def take_event(self, line: int, event: dict[str, Any]) -> Iterator[Step]:
        """Usage, and the end of a turn that was broken off; other events repeat the items."""
        match event.get("type"):
            case "token_count":
                yield from self._take_usage(line, event.get("info"))
            case "turn_aborted":
                self._notes.note("abortedTurn", line)

    def compact(self, line: int, payload: dict[str, Any]) -> Iterator[Step]:
        """Codex compacted: its replacement where it is recorded, else as early versions made it."""
        yield from self.end_request()
        recorded = payload.get("replacement_history")
        if isinstance(recorded, list):
            kept = [_native(item) for item in recorded if isinstance(item, dict) and item.get("type")]
            replacement = [item for item in kept if item["type"] not in _NOT_SENT]
        else:
            text = payload.get("message")
            parts = [{"type": "input_text", "text": text if isinstance(text, str) else ""}]
            summary: Message = {"type": "message", "role": "user", "content": parts}
            replacement = [*self._said, *([summary] if text else [])]
        yield from self._weaver.take_boundary(line, replacement)

    def end_request(self) -> Iterator[Step]:
        """Give out the response that is held, then its outputs."""
        if self._items:
            usage = _native_usage(self._usage)
            yield from self._weaver.take_response(
                self._line,
                self._items,
                _call_ids(self._items),
                model=self.model,
                usage=usage,
                prompt=read_count(usage, "input_tokens"),
                completion=read_count(usage, "output_tokens"),
            )
            self._usage = None
        for line, output in self._outputs:
            yield from self._weaver.take_result(line, output.get(OUTPUTS[output["type"]]), output)
        self._items, self._outputs = [], []

    def close(self) -> Iterator[Step]:
        """What is still held, at the end of the rollout."""
        yield from self.end_request()
        if self._usage is not None:
            self._notes.note("unmatchedUsage", self._usage_line)
        yield from self._weaver.close()

    def _take_usage(self, line: int, info: Any) -> Iterator[Step]:
        """The usage of the request that ends, or has just begun to be written down."""
        if not isinstance(info, dict) or not isinstance(info.get("last_token_usage"), dict):
            return
        total = info.get("total_token_usage")
        if total is not None and total == self._total:
            self._notes.note("repeatedUsage", line)
            return
        self._total = total
        if self._usage_first:
            yield from self.end_request()
            if self._usage is not None:
                self._notes.note("unmatchedUsage", self._usage_line)
            self._usage, self._usage_line = info["last_token_usage"], line
        elif self._items:
            self._usage = info["last_token_usage"]
            yield from self.end_request()
        else:
            self._notes.note("unmatchedUsage", line)

    def _remember(self, message: Message) -> None:
        """Hold the newest user messages, as many as Codex carries over a compaction."""
        self._said.append(message)
        self._said_chars += _chars(message)
        while self._said_chars > KEPT_USER_CHARS and len(self._said) > 1:
            self._said_chars -= _chars(self._said.popleft())


def _native(item: dict[str, Any]) -> Message:
    """The item as it was sent. A member that is null says nothing, and the API's own types refuse it."""
    return {name: value for name, value in item.items() if value is not None}


def _native_usage(counts: dict[str, Any] | None) -> dict[str, Any] | None:
    """Codex's counts as the API's usage object."""
    if counts is None:
        return None
    known = {name: read_count(counts, name) for name in ("input_tokens", "output_tokens", "total_tokens")}
    usage: dict[str, Any] = {name: count for name, count in known.items() if count is not None}
    details = (
        ("input_tokens_details", "cached_tokens", "cached_input_tokens"),
        ("output_tokens_details", "reasoning_tokens", "reasoning_output_tokens"),
    )
    for member, name, source in details:
        if (count := read_count(counts, source)) is not None:
            usage[member] = {name: count}
    return usage or None


def _call_ids(items: list[Message]) -> list[str]:
    ids = [item.get(CALLS[item["type"]].call_id) for item in items if item["type"] in CALLS]
    return [call for call in ids if isinstance(call, str)]


def _chars(message: Message) -> int:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return sum(len(str(part.get("text") or "")) for part in parts if isinstance(part, dict))
