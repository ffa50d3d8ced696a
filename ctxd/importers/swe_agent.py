"""SWE-agent trajectories (`.traj`) as steps in the OpenAI chat dialect.

Owns reading the `history` member, which is what the model was sent; `trajectory` repeats it and is not
read. Outputs stay as they are, CRLF and backspaces included. What SWE-agent adds to a message for
itself (thought, action, agent, tags) is left out. Must not know sessions, events or the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxd.importers import openai_chat
from ctxd.importers.json_document import Document
from ctxd.importers.steps import Message, NoteTaker, Source

_SENT = ("role", "content", "tool_calls", "name")
"""Members of a history entry that a request carries."""


def recognizes(document: Document) -> bool:
    """Whether a document is a trajectory with its history."""
    first = document.first("history") if {"history", "trajectory"} <= {*document.names} else []
    return bool(first) and isinstance(first[0], dict) and "role" in first[0]


def open_sources(document: Document, name: str) -> Iterator[Source]:
    """The one session of a trajectory."""
    notes = NoteTaker()
    source = openai_chat.make_source(
        name, _read_history(document, notes), notes, model=_model(document.value("replay_config"))
    )
    yield msgspec.structs.replace(source, format="swe-agent")


def _read_history(document: Document, notes: NoteTaker) -> Iterator[tuple[int, Any]]:
    """Chat messages with their 1-based place. Noted: `demonstration` (a recorded example, left out)."""
    for place, entry in document.elements("history", notes):
        if not isinstance(entry, dict):
            yield place, entry
        elif entry.get("is_demo"):
            notes.note("demonstration", place)
        else:
            yield place, _message(entry)


def _message(entry: Message) -> Message:
    message = {name: entry[name] for name in _SENT if entry.get(name) is not None}
    ids = entry.get("tool_call_ids")
    if entry.get("role") == "tool" and isinstance(ids, list) and len(ids) == 1:
        message["tool_call_id"] = ids[0]
    return message


def _model(config: Any) -> str:
    """The model's name in the configuration, without the provider in front of it."""
    if isinstance(config, str):
        try:
            config = msgspec.json.decode(config)
        except (msgspec.MsgspecError, RecursionError):
            return ""
    match config:
        case {"agent": {"model": {"name": str(name)}}} if name != "replay":
            return name.rpartition("/")[2]
        case _:
            return ""
