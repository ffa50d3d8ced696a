"""Copilot CLI's `events.jsonl` as steps in the OpenAI chat dialect.

Owns what the events mean, read from what is public: the field reference of GitHub's Copilot SDK
(`docs/features/streaming-events.md`), its generated event types, and recorded lines of versions 0.0.369 to
1.0.65 in public repositories. Not verified on a recorded session: what a compaction keeps beside its
summary (taken as nothing), and the order of results within a parallel batch (taken as written). The log
holds no prompt sizes, and no reasoning in a form this dialect can send. Must not know sessions, events of
ctxd or the wire.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxd.importers.json_lines import Meter, read_records, scan_heads, scan_lines
from ctxd.importers.steps import Message, NoteTaker, Source, Step, read_count
from ctxd.importers.weaving import Weaver

_FAMILIES = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "model.", "skill.")


class _Data(msgspec.Struct, rename="camel"):
    content: str | None = None
    model: str | None = None
    new_model: str | None = None
    selected_model: str | None = None


class _Head(msgspec.Struct, rename="camel"):
    type: str | None = None
    agent_id: str | None = None
    data: _Data | None = None


def recognizes(record: dict[str, Any]) -> bool:
    """Whether a record is an event: a dotted type of a known family, its data, and an id or a time."""
    kind = record.get("type")
    if not isinstance(kind, str) or not (kind.startswith(_FAMILIES) or kind == "abort"):
        return False
    return isinstance(record.get("data"), dict) and ("timestamp" in record or "id" in record)


def open_sources(path: Path, *, meter: Meter | None = None) -> Iterator[Source]:
    """The one session of a log. Raises OSError."""
    model, system = _scan(path, meter)
    notes = NoteTaker()
    records = read_records(scan_lines(path, notes, meter, "read"), notes)
    yield Source(
        format="copilot-cli",
        dialect="openai-chat",
        name=path.parent.name if path.stem == "events" else path.stem,
        steps=stream_steps(records, notes),
        notes=notes,
        model=model,
        system=[{"role": "system", "content": system}] if system else None,
    )


def stream_steps(records: Iterable[tuple[int, dict[str, Any]]], notes: NoteTaker) -> Iterator[Step]:
    """Steps in order.

    Noted, beside what `read_records` and `Weaver` note: `sidechain` (what subagents said), `reasoning`
    (left out), `repeatedRecord`, `emptyMessage`, `truncation` (Copilot sent less than is recorded),
    `failedCompaction`, `abortedTurn`, `attachment` (named, its content is not recorded),
    `unreadableMessage`, `unknownRecord`.
    """
    weaver = Weaver(notes)
    seen: set[str] = set()
    for line, record in records:
        kind, data = record.get("type"), record.get("data")
        if not isinstance(kind, str) or not isinstance(data, dict):
            notes.note("unknownRecord", line)
            continue
        if record.get("agentId") or data.get("parentToolCallId"):
            if kind in ("user.message", "assistant.message"):
                notes.note("sidechain", line)
            continue
        identity = record.get("id")
        if isinstance(identity, str) and kind in ("user.message", "assistant.message"):
            if identity in seen:
                notes.note("repeatedRecord", line)
                continue
            seen.add(identity)
        match kind:
            case "user.message":
                yield from _take_words(weaver, line, data, notes)
            case "assistant.message":
                yield from _take_answer(weaver, line, data, notes)
            case "tool.execution_complete":
                yield from weaver.take_result(line, data.get("toolCallId"), _result(data))
            case "session.compaction_complete":
                summary = data.get("summaryContent")
                if data.get("success") is False or not isinstance(summary, str) or not summary.strip():
                    notes.note("failedCompaction", line)
                else:
                    tokens = read_count(data, "preCompactionTokens")
                    replacement = {"role": "user", "content": summary}
                    yield from weaver.take_boundary(line, (replacement,), pre_tokens=tokens)
            case "session.truncation":
                notes.note("truncation", line)
            case "abort":
                notes.note("abortedTurn", line)
    yield from weaver.close()


def _take_words(weaver: Weaver, line: int, data: dict[str, Any], notes: NoteTaker) -> Iterator[Step]:
    """What was sent where that is recorded (it adds the time and reminders), else what was typed."""
    if data.get("attachments"):
        notes.note("attachment", line)
    sent, typed = data.get("transformedContent"), data.get("content")
    text = next((t for t in (sent, typed) if isinstance(t, str) and t.strip()), None)
    if text is None:
        notes.note("emptyMessage", line)
    else:
        yield from weaver.take_user(line, {"role": "user", "content": text})


def _take_answer(weaver: Weaver, line: int, data: dict[str, Any], notes: NoteTaker) -> Iterator[Step]:
    if any(data.get(name) for name in ("reasoningText", "reasoningOpaque", "encryptedContent")):
        notes.note("reasoning", line)
    requests = data.get("toolRequests")
    calls: list[Message] = []
    for request in requests if isinstance(requests, list) else ():
        call = _call(request)
        if call is None or any(call["id"] == other["id"] for other in calls):
            notes.note("unreadableMessage", line)
        else:
            calls.append(call)
    content = data.get("content")
    text = content if isinstance(content, str) and content.strip() else None
    if text is None and not calls:
        notes.note("emptyMessage", line)
        return
    message: Message = {"role": "assistant", "content": text}
    model = data.get("model")
    yield from weaver.take_response(
        line,
        ({**message, "tool_calls": calls} if calls else message,),
        [call["id"] for call in calls],
        model=model if isinstance(model, str) else "",
        completion=read_count(data, "outputTokens"),
    )


def _call(request: Any) -> Message | None:
    """A tool request as a call; arguments of a custom tool are free text."""
    match request:
        case {"toolCallId": str(identity), "name": str(name)}:
            arguments = request.get("arguments")
            if request.get("type") == "custom":
                text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
                return {"id": identity, "type": "custom", "custom": {"name": name, "input": text}}
            text = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
            text = arguments if isinstance(arguments, str) else text
            return {"id": identity, "type": "function", "function": {"name": name, "arguments": text}}
        case _:
            return None


def _result(data: dict[str, Any]) -> Message:
    """What the model was given: the result's content, or the error's message."""
    match data:
        case {"result": {"content": str(text)}}:
            pass
        case {"error": {"message": str(text)}} | {"error": str(text)}:
            pass
        case _:
            text = ""
    return {"role": "tool", "tool_call_id": data.get("toolCallId"), "content": text}


def _scan(path: Path, meter: Meter | None) -> tuple[str, str]:
    """The newest model and the first system prompt."""
    model = system = ""
    for _, _, head in scan_heads(path, _Head, meter):
        if head.data is None or head.agent_id:
            continue
        if head.type == "system.message":
            system = system or head.data.content or ""
        elif head.type is not None and head.type.startswith(("session.", "assistant.")):
            model = head.data.new_model or head.data.selected_model or head.data.model or model
    return model, system
