"""Gemini CLI's recorded chats as steps in the Gemini dialect: the JSON document and the JSON Lines log.

Owns what the members mean, and the log's rules: a message written again under its id replaces itself,
`$rewindTo` takes back that message and all after it, `$set.messages` replaces the whole list. Calls keep
the ids that Gemini CLI gives them. What the model thought is recorded as a summary for the screen and
was never sent back, so it is left out. Must not know sessions, events or the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ctxd.importers.gemini_log import Entry, read_log
from ctxd.importers.json_document import Document
from ctxd.importers.json_lines import Meter
from ctxd.importers.steps import Message, NoteTaker, Source, Step, read_count
from ctxd.importers.weaving import OPENING, Weaver

_SAID = ("user", "gemini")
_USAGE = (
    ("promptTokenCount", "input"),
    ("candidatesTokenCount", "output"),
    ("cachedContentTokenCount", "cached"),
    ("thoughtsTokenCount", "thoughts"),
    ("toolUsePromptTokenCount", "tool"),
    ("totalTokenCount", "total"),
)


def recognizes(record: dict[str, Any]) -> bool:
    """Whether a record is a line of a chat's log."""
    if isinstance(record.get("sessionId"), str) and "projectHash" in record:
        return True
    if record.get("type") in _SAID and isinstance(record.get("id"), str) and "content" in record:
        return "timestamp" in record and "message" not in record
    return isinstance(record.get("$set"), dict) or isinstance(record.get("$rewindTo"), str)


def recognizes_document(document: Document) -> bool:
    """Whether a document is a whole chat."""
    if not {"sessionId", "messages"} <= {*document.names}:
        return False
    first = document.first("messages")
    return bool(first) and isinstance(first[0], dict) and "type" in first[0]


def open_sources(path: Path, *, meter: Meter | None = None) -> Iterator[Source]:
    """The one session of a log. Raises OSError."""
    notes = NoteTaker()
    entries, model = read_log(path, notes, meter)
    yield _source(path.stem, entries, model, notes)


def open_document(document: Document, name: str) -> Iterator[Source]:
    """The one session of a document."""
    notes = NoteTaker()
    models = (m.get("model") for _, m in document.elements("messages", NoteTaker()) if isinstance(m, dict))
    model = next((m for m in models if isinstance(m, str)), "")
    entries = (Entry(place, message) for place, message in document.elements("messages", notes))
    yield _source(name, entries, model, notes)


def _source(name: str, entries: Iterable[Entry], model: str, notes: NoteTaker) -> Source:
    return Source(
        format="gemini-cli",
        dialect="gemini",
        name=name,
        steps=_stream_steps(entries, notes),
        notes=notes,
        model=model,
    )


def _stream_steps(entries: Iterable[Entry], notes: NoteTaker) -> Iterator[Step]:
    """Noted: `notice` (what the program said to the person), `emptyMessage`, `unreadableMessage`,
    `thoughts` (summaries that were never sent), and what `Weaver` notes."""
    weaver = Weaver(notes, opening=_content("user", [{"text": OPENING}]))
    for line, message, replacement in entries:
        if replacement is not None:
            kept = [native for entry in replacement for native in _natives(entry)]
            yield from weaver.take_boundary(line, kept)
            continue
        if not isinstance(message, dict):
            notes.note("unreadableMessage", line)
            continue
        match message.get("type"):
            case "user":
                parts = _parts(message.get("content"))
                if parts:
                    yield from weaver.take_user(line, _content("user", parts))
                else:
                    notes.note("emptyMessage", line)
            case "gemini":
                yield from _take_response(weaver, line, message, notes)
            case "info" | "error" | "warning" | "about" | "help" | "quit":
                notes.note("notice", line)
            case _:
                notes.note("unreadableMessage", line)
    yield from weaver.close()


def _take_response(weaver: Weaver, line: int, message: Message, notes: NoteTaker) -> Iterator[Step]:
    if message.get("thoughts"):
        notes.note("thoughts", line)
    parts, answers, calls = _answer(message)
    if not parts:
        notes.note("emptyMessage", line)
        return
    usage = _native_usage(message.get("tokens"))
    model = message.get("model")
    yield from weaver.take_response(
        line,
        (_content("model", parts),),
        calls,
        model=model if isinstance(model, str) else "",
        usage=usage,
        prompt=read_count(usage, "promptTokenCount"),
        completion=read_count(usage, "candidatesTokenCount"),
    )
    admitted = [part for call, given in answers if weaver.admit(line, call) for part in given]
    if admitted:
        yield from weaver.take_results(line, _content("user", admitted))


def _natives(message: Any) -> Iterator[Message]:
    """A recorded message as contents: what was said, then what the tools answered."""
    if not isinstance(message, dict):
        return
    if message.get("type") == "user" and (parts := _parts(message.get("content"))):
        yield _content("user", parts)
    elif message.get("type") == "gemini":
        parts, answers, _ = _answer(message)
        if parts:
            yield _content("model", parts)
        if given := [part for _, response in answers for part in response]:
            yield _content("user", given)


def _answer(message: Message) -> tuple[list[Message], list[tuple[str, list[Message]]], list[str]]:
    """Parts of the model's content, (call id, parts) of what was answered, and the ids of the calls."""
    parts = _parts(message.get("content"))
    answers: list[tuple[str, list[Message]]] = []
    calls: list[str] = []
    recorded = message.get("toolCalls")
    for call in recorded if isinstance(recorded, list) else ():
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            continue
        identity = call.get("id")
        if not isinstance(identity, str) or not identity or identity in calls:
            continue
        arguments = call.get("args")
        made = {
            "id": identity,
            "name": call["name"],
            "args": arguments if isinstance(arguments, dict) else {},
        }
        parts.append({"functionCall": made})
        calls.append(identity)
        if given := _responses(call.get("result"), identity, call["name"]):
            answers.append((identity, given))
    return parts, answers, calls


def _responses(result: Any, call: str, name: str) -> list[Message]:
    """The parts of a result; its response gets the call's id. Text alone becomes a response."""
    parts = _parts(result)
    responses: list[Message] = []
    for part in parts:
        given = part.get("functionResponse")
        if isinstance(given, dict):
            responses.append({**part, "functionResponse": {"id": call, "name": name, **given}})
    if parts and not responses:
        text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        responses = [{"functionResponse": {"id": call, "name": name, "response": {"output": text}}}]
    return responses + [part for part in parts if "inlineData" in part or "fileData" in part]


def _parts(content: Any) -> list[Message]:
    """A recorded content as parts, blank text left out."""
    values = content if isinstance(content, list) else [content]
    parts = [{"text": value} if isinstance(value, str) else value for value in values]
    return [part for part in parts if isinstance(part, dict) and part and not _is_blank(part)]


def _is_blank(part: Message) -> bool:
    text = part.get("text")
    return set(part) == {"text"} and (not isinstance(text, str) or not text.strip())


def _content(role: str, parts: list[Message]) -> Message:
    return {"role": role, "parts": parts}


def _native_usage(tokens: Any) -> dict[str, Any] | None:
    """The recorded counts under the API's names."""
    counts = {name: read_count(tokens, source) for name, source in _USAGE}
    return {name: count for name, count in counts.items() if count is not None} or None
