"""The tools `memory_read`, `memory_write` and `recall_memory`: what sessions of a workspace know.

What they answer is background: it says so, and carries no authority. Must not know how memory is kept.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ctxd.model.errors import NotFound
from ctxd.model.tools import Parameter, ToolAnswer, ToolDeclaration
from ctxd.service.memory import access, recollection
from ctxd.service.session import Session
from ctxd.service.tools.arguments import Arguments, BadArguments
from ctxd.service.tools.toolbox import ModelTool, answer_bytes
from ctxd.store.memory.journal import Source

HITS = 5
NOTE_BYTES = 256
"""Room for what is said around a part."""

TOPIC = Parameter("topic", "string", "Name of the topic.", aliases=("name", "file"))

READ = ToolDeclaration(
    "memory_read",
    "Read what is remembered of this project between sessions: one topic, or without topic the index that "
    "lists them. A long topic is answered in parts; the answer says how to go on.",
    (
        TOPIC,
        Parameter("offset", "integer", "First byte to read of a long topic.", minimum=0),
    ),
)

WRITE = ToolDeclaration(
    "memory_write",
    "Remember something about this project for later sessions: facts, decisions and preferences that will "
    "still hold, one per line. Never secrets, and nothing only this task needs.",
    (
        msgspec.structs.replace(
            TOPIC, description="Name of the topic, such as build or style.", required=True
        ),
        Parameter(
            "content", "string", "What to remember, an entry per line.", True, aliases=("text", "entry")
        ),
        Parameter(
            "mode",
            "string",
            "append adds entries that are not there yet; overwrite replaces the topic.",
            choices=("append", "overwrite"),
        ),
    ),
)

SEARCH = ToolDeclaration(
    "recall_memory",
    "Search what is remembered of this project, from topics and from earlier sessions' compactions.",
    (Parameter("query", "string", "Words to search for.", True, aliases=("search", "q")),),
)


def memory_tools() -> list[ModelTool]:
    """The three tools."""
    return [ModelTool(READ, _read), ModelTool(WRITE, _write), ModelTool(SEARCH, _search)]


async def _read(session: Session, arguments: Arguments) -> ToolAnswer:
    topic = arguments.get("topic", "")
    if not topic:
        index = await access.index(session.environment, _workspace(session))
        return ToolAnswer(index.quoted or "Nothing is remembered of this project yet.")
    try:
        found = await access.read(session.environment, _workspace(session), topic)
    except NotFound as error:
        names = error.facts.get("topics")
        known = ", ".join(map(str, names)) if isinstance(names, list) and names else "none"
        return ToolAnswer(f"There is no such topic. Topics: {known}.", is_error=True)
    most = answer_bytes(session) - NOTE_BYTES
    return ToolAnswer(_part(found.text.encode(), arguments.get("offset", 0), most))


async def _write(session: Session, arguments: Arguments) -> ToolAnswer:
    mode: Literal["append", "overwrite"] = "overwrite" if arguments.get("mode") == "overwrite" else "append"
    done = await access.write(
        session.environment,
        _workspace(session),
        arguments["topic"],
        arguments["content"],
        mode=mode,
        source=Source("model", session.session_id),
    )
    room = done.headroom
    known = f" Entries that were there already: {done.duplicates}." if done.duplicates else ""
    return ToolAnswer(f"Remembered.{known} Room left: {room.lines} lines, {room.bytes} bytes.")


async def _search(session: Session, arguments: Arguments) -> ToolAnswer:
    workspace = _workspace(session)
    hits = await recollection.search(session.environment, workspace, arguments["query"], HITS)
    return ToolAnswer(recollection.shown(hits) or "Nothing is remembered about that.")


def _workspace(session: Session) -> str:
    return session.state.created.workspace if session.state.created else ""


def _part(data: bytes, offset: int, most: int) -> str:
    """Some of a text from a byte on, and how to go on; no character is cut. Raises BadArguments."""
    if offset and offset >= len(data):
        raise BadArguments(f"offset must be below {len(data)}, the bytes of the topic.")
    shown = data[offset : offset + most].decode("utf-8", "ignore")
    stop = offset + len(shown.encode())
    if not offset and stop == len(data):
        return shown
    rest = "the end" if stop == len(data) else f"go on with offset={stop}"
    return f"{shown}\n[memory_read: bytes {offset}-{stop} of {len(data)}; {rest}]"
