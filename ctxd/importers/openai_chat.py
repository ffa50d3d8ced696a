"""OpenAI chat messages in a JSON file as steps: a list, `{"messages": [...]}`, or tau-bench runs.

Owns the shapes such files come in and the pairing of calls and results in them. Must not know sessions,
events or the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ctxd.importers.json_document import Document
from ctxd.importers.steps import Message, NoteTaker, Source, Step
from ctxd.importers.weaving import Weaver


def recognizes(document: Document) -> bool:
    """Whether a document holds chat messages or runs of them where this format has them."""
    return _are_runs(document) or messages_member(document) is not None


def open_sources(document: Document, name: str) -> Iterator[Source]:
    """Every session in the document."""
    if _are_runs(document):
        notes = NoteTaker()
        for place, run in document.elements(None, notes):
            if isinstance(run, dict) and isinstance(run.get("traj"), list):
                title = f"task {run.get('task_id', place - 1)}, trial {run.get('trial', 0)}"
                yield make_source(title, enumerate(run["traj"], 1), notes)
            else:
                notes.note("notARun", place)
            notes = NoteTaker()
        return
    member = messages_member(document)
    if member is None:
        return
    notes = NoteTaker()
    tools, model = document.value("tools"), document.value("model")
    yield make_source(
        name,
        document.elements(member or None, notes),
        notes,
        tools=tuple(tools) if _are_objects(tools) else (),
        model=model if isinstance(model, str) else "",
    )


def messages_member(document: Document) -> str | None:
    """Which member holds messages with roles; "" is the document itself, None is nowhere."""
    member = "messages" if document.kind == "object" else ""
    first = document.first(member or None)
    return member if first and isinstance(first[0], dict) and isinstance(first[0].get("role"), str) else None


def make_source(
    name: str,
    messages: Iterable[tuple[int, Any]],
    notes: NoteTaker,
    *,
    tools: tuple[Message, ...] = (),
    model: str = "",
) -> Source:
    """A session of chat messages; those of the system at the head are its system prompt."""
    rest = iter(messages)
    system: list[Message] = []
    for place, message in rest:
        if not isinstance(message, dict) or message.get("role") not in ("system", "developer"):
            rest = chain([(place, message)], rest)
            break
        system.append(message)
    return Source(
        format="openai-chat",
        dialect="openai-chat",
        name=name,
        steps=stream_steps(rest, notes),
        notes=notes,
        model=model,
        system=system or None,
        tools=tools,
    )


def stream_steps(messages: Iterable[tuple[int, Any]], notes: NoteTaker) -> Iterator[Step]:
    """Steps of one message list; `line` is the message's 1-based place.

    Noted: `orphanResult`, `duplicateResult`, `emptyMessage`, `unknownRole`, `notAMessage`. System and
    developer messages that come later stay where they are, as user input.
    """
    weaver = Weaver(notes)
    for place, message in messages:
        if not isinstance(message, dict):
            notes.note("notAMessage", place)
            continue
        match message.get("role"):
            case "tool":
                yield from weaver.take_result(place, message.get("tool_call_id"), message)
            case "assistant" | "user" | "system" | "developer" as role:
                if _is_empty(message):
                    notes.note("emptyMessage", place)
                elif role == "assistant":
                    yield from weaver.take_response(place, (message,), call_ids(message))
                else:
                    yield from weaver.take_user(place, message)
            case _:
                notes.note("unknownRole", place)
    yield from weaver.close()


def call_ids(message: Message) -> list[str]:
    """The ids of an assistant message's calls."""
    calls = message.get("tool_calls")
    ids = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [call for call in ids if isinstance(call, str)]


def _are_runs(document: Document) -> bool:
    match document.first(None) if document.kind == "list" else []:
        case [{"traj": [{"role": str()}, *_]}]:
            return True
        case _:
            return False


def _are_objects(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def _is_empty(message: Message) -> bool:
    """Nothing that a provider takes: no content, no calls, no refusal."""
    return not any(message.get(name) for name in ("content", "tool_calls", "refusal", "audio"))
