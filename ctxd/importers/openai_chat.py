"""OpenAI chat messages in a JSON file as steps: a list, `{"messages": [...]}`, or tau-bench runs.

Owns the shapes such files come in and the pairing of calls and results in them. A JSON document
cannot be read line by line, so the file is read whole. Must not know sessions, events or the wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ctxd.importers.json_lines import parse
from ctxd.importers.steps import Message, NoteTaker, Response, Results, Step, Transcript, UserInput


class NoMessages(ValueError):
    """The document is JSON, but holds no chat messages where this format has them."""


def read_transcripts(path: Path) -> list[Transcript]:
    """Every session in the file. Raises OSError, NoMessages, and ValueError when it is no JSON."""
    text = path.read_bytes().decode("utf-8", errors="replace")
    try:
        document = parse(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return [
        _transcribe(name if name else path.stem, messages, tools, model)
        for name, messages, tools, model in _sessions(document)
    ]


def has_messages(document: Any) -> bool:
    """Whether a parsed document is of this format."""
    try:
        return bool(_sessions(document))
    except NoMessages:
        return False


def split_steps(messages: Sequence[Message], notes: NoteTaker, *, first: int = 1) -> Iterator[Step]:
    """Steps of one message list; `line` is the message's 1-based place, counted from `first`.

    Noted: `orphanResult`, `duplicateResult`, `emptyMessage`, `unknownRole`. System and developer
    messages that come later stay where they are, as user input.
    """
    open_calls: set[str] = set()
    answered: set[str] = set()
    run: list[Message] = []
    run_kind = ""
    run_line = first
    for place, message in enumerate(messages, first):
        role = message.get("role")
        if role == "tool":
            call = message.get("tool_call_id")
            if not isinstance(call, str) or call not in open_calls:
                notes.note(
                    "duplicateResult" if isinstance(call, str) and call in answered else "orphanResult", place
                )
                continue
            open_calls.remove(call)
            answered.add(call)
            kind = "results"
        elif role == "assistant":
            kind = "response"
        elif role in ("user", "system", "developer"):
            kind = "user"
        else:
            notes.note("unknownRole", place)
            continue
        if _is_empty(message):
            notes.note("emptyMessage", place)
            continue
        if kind != run_kind or kind == "response":
            yield from _close(run_kind, run, run_line)
            run, run_kind, run_line = [], kind, place
        run.append(message)
        if kind == "response":
            open_calls = _call_ids(message)
        elif kind == "user":
            open_calls = set()
    yield from _close(run_kind, run, run_line)


def _transcribe(name: str, messages: list[Message], tools: tuple[Message, ...], model: str) -> Transcript:
    notes = NoteTaker()
    leading = 0
    while leading < len(messages) and messages[leading].get("role") in ("system", "developer"):
        leading += 1
    steps = tuple(split_steps(messages[leading:], notes, first=leading + 1))
    return Transcript(
        format="openai-chat",
        dialect="openai-chat",
        name=name,
        model=model,
        steps=steps,
        notes=notes.notes(),
        system=messages[:leading] or None,
        tools=tools,
    )


def _sessions(document: Any) -> list[tuple[str, list[Message], tuple[Message, ...], str]]:
    """(name, messages, tools, model) of every session in the document."""
    match document:
        case {"messages": list(messages)} if _are_messages(messages):
            tools, model = document.get("tools"), document.get("model")
            declared = tuple(tools) if isinstance(tools, list) and _are_objects(tools) else ()
            return [("", messages, declared, model if isinstance(model, str) else "")]
        case [{"traj": list()}, *_] if _are_runs(document):
            return [
                (f"task {run.get('task_id', place)}, trial {run.get('trial', 0)}", run["traj"], (), "")
                for place, run in enumerate(document)
            ]
        case list() if _are_messages(document):
            return [("", document, (), "")]
        case _:
            raise NoMessages("no list of chat messages found")


def _are_objects(values: list[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _are_messages(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(v, dict) and isinstance(v.get("role"), str) for v in values)


def _are_runs(values: list[Any]) -> bool:
    return all(
        isinstance(v, dict) and isinstance(v.get("traj"), list) and _are_messages(v["traj"]) for v in values
    )


def _call_ids(message: Message) -> set[str]:
    calls = message.get("tool_calls")
    ids = (call.get("id") for call in calls if isinstance(call, dict)) if isinstance(calls, list) else ()
    return {call for call in ids if isinstance(call, str)}


def _is_empty(message: Message) -> bool:
    """Nothing that a provider takes: no content, no calls, no refusal. A tool may answer nothing."""
    if message.get("role") == "tool":
        return False
    return not any(message.get(name) for name in ("content", "tool_calls", "refusal", "audio"))


def _close(kind: str, run: list[Message], line: int) -> Iterator[Step]:
    match kind:
        case "results":
            yield Results(messages=tuple(run), line=line)
        case "response":
            yield Response(messages=tuple(run), line=line)
        case "user":
            yield UserInput(messages=tuple(run), line=line)
        case _:
            return
