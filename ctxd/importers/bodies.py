"""Request bodies of the Anthropic, Responses and Gemini APIs in a JSON file as steps.

Owns telling these bodies apart and where they keep their parts; also a bare list of messages or contents,
and Gemini CLI's checkpoints (`history`). What a message is, its dialect says. OpenAI chat bodies are in
`openai_chat`. Must not know sessions, events or the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from ctxd.dialects.anthropic import Anthropic
from ctxd.dialects.base import BadShape
from ctxd.dialects.gemini import Gemini
from ctxd.dialects.openai_responses import OpenAIResponses
from ctxd.importers import openai_chat
from ctxd.importers.json_document import Document
from ctxd.importers.steps import Message, NoteTaker, Source, Step
from ctxd.importers.weaving import OPENING, Weaver
from ctxd.model.blocks import MessageView, ToolResult

BodyFormat: TypeAlias = Literal["anthropic", "openai-responses", "gemini"]
_Codec: TypeAlias = Anthropic | OpenAIResponses | Gemini

_CODECS: dict[BodyFormat, _Codec] = {
    "anthropic": Anthropic(),
    "openai-responses": OpenAIResponses(),
    "gemini": Gemini(),
}
_SYSTEM: dict[BodyFormat, tuple[str, ...]] = {
    "anthropic": ("system",),
    "openai-responses": ("instructions",),
    "gemini": ("systemInstruction", "system_instruction"),
}
_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document"})
_MOST_MESSAGES = 200
"""Messages looked at to tell Anthropic's from OpenAI's."""


def recognize(document: Document) -> BodyFormat | None:
    """Whose request body a document is; None where it is none of these three."""
    if _contents_member(document) is not None:
        return "gemini"
    member = openai_chat.messages_member(document)
    if member is not None:
        return "anthropic" if _is_anthropic(document, member) else None
    if "input" in document.names and _has_input(document):
        return "openai-responses"
    return None


def open_sources(document: Document, name: str, format: BodyFormat) -> Iterator[Source]:
    """The one session of a body."""
    notes = NoteTaker()
    codec = _CODECS[format]
    system = next((v for v in map(document.value, _SYSTEM[format]) if v is not None), None)
    tools, model = document.value("tools"), document.value("model")
    yield Source(
        format=format,
        dialect=format,
        name=name,
        steps=_stream_steps(codec, _messages(document, format, notes), notes),
        notes=notes,
        model=model.removeprefix("models/") if isinstance(model, str) else "",
        system=_checked(codec.check_system, system, "system", notes),
        tools=tuple(_checked(codec.check_tools, tools, "tools", notes) or ()),
    )


def _messages(document: Document, format: BodyFormat, notes: NoteTaker) -> Iterator[tuple[int, Any]]:
    """The messages with their 1-based place."""
    match format:
        case "gemini":
            yield from document.elements(_contents_member(document) or None, notes)
        case "anthropic":
            yield from document.elements(openai_chat.messages_member(document) or None, notes)
        case "openai-responses":
            said = document.value("input")
            if isinstance(said, str):
                yield 1, {"role": "user", "content": said}
            yield from document.elements("input", notes)


def _stream_steps(codec: _Codec, messages: Iterable[tuple[int, Any]], notes: NoteTaker) -> Iterator[Step]:
    """Noted: `unreadableMessage`, `emptyMessage`, and what `Weaver` notes."""
    opening = None if isinstance(codec, OpenAIResponses) else codec.make("user", OPENING)
    weaver = Weaver(notes, opening=opening)
    answer: list[tuple[int, Message, MessageView]] = []
    for place, message in messages:
        try:
            view = codec.view(message)
        except BadShape:
            notes.note("unreadableMessage", place)
            continue
        if not view.blocks:
            notes.note("emptyMessage", place)
            continue
        if answer and (view.role != "assistant" or not isinstance(codec, OpenAIResponses)):
            yield from _end_answer(weaver, answer)
        if view.role == "assistant":
            answer.append((place, message, view))
        elif view.results:
            yield from _take_results(codec, weaver, place, message, view)
        else:
            yield from weaver.take_user(place, message)
    yield from _end_answer(weaver, answer)
    yield from weaver.close()


def _end_answer(weaver: Weaver, answer: list[tuple[int, Message, MessageView]]) -> Iterator[Step]:
    """One response: an assistant's message, or all its items in a row."""
    if answer:
        calls = [call.call_id for _, _, view in answer for call in view.calls]
        yield from weaver.take_response(answer[0][0], [message for _, message, _ in answer], calls)
        answer.clear()


def _take_results(
    codec: _Codec, weaver: Weaver, place: int, message: Message, view: MessageView
) -> Iterator[Step]:
    """A message with results, without those that nothing asked for."""
    refused = frozenset(
        index
        for index, block in enumerate(view.blocks)
        if isinstance(block, ToolResult) and not weaver.admit(place, block.call_id)
    )
    left: Message | None = codec.without(message, refused) if refused else message
    if len(refused) == len(view.blocks) or left is None:
        return
    if len(refused) == len(view.results):
        yield from weaver.take_user(place, left)
    else:
        spoken = len(view.blocks) > len(view.results)
        yield from weaver.take_results(place, left, spoken=spoken)


def _contents_member(document: Document) -> str | None:
    """Which member holds Gemini contents; "" is the document itself, None is nowhere."""
    for member in ("contents", "history") if document.kind == "object" else ("",):
        first = document.first(member or None)
        if first and isinstance(first[0], dict) and isinstance(first[0].get("parts"), list):
            return member
    return None


def _has_input(document: Document) -> bool:
    first = document.first("input")
    if first:
        return isinstance(first[0], dict) and ("role" in first[0] or "type" in first[0])
    return isinstance(document.value("input"), str) and bool({"instructions", "tools"} & {*document.names})


def _is_anthropic(document: Document, member: str) -> bool:
    """Told from what only one of the two APIs has; text alone goes by the model's name."""
    if {"system", "anthropic_version"} & {*document.names}:
        return True
    tools = document.first("tools")
    if tools and isinstance(tools[0], dict):
        return "input_schema" in tools[0]
    for message in document.first(member or None, _MOST_MESSAGES):
        if not isinstance(message, dict):
            continue
        if message.get("role") not in ("user", "assistant") or "tool_calls" in message:
            return False
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and (block.get("type") in _ANTHROPIC_BLOCKS or "source" in block):
                return True
    model = document.value("model")
    return isinstance(model, str) and model.startswith("claude")


def _checked(check: Any, value: Any, name: str, notes: NoteTaker) -> Any:
    """A native system or tools value where the dialect can read it. Noted: `unreadable<Name>`."""
    if value is None:
        return None
    try:
        check(value)
    except (BadShape, TypeError):
        notes.note(f"unreadable{name.capitalize()}", 1)
        return None
    return value
