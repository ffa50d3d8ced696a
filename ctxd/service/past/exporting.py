"""`session/export`: a session for people and for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, TypeAlias

import anyio
import msgspec

from ctxd.dialects import registry as dialects
from ctxd.dialects.base import Dialect
from ctxd.model.blocks import Media, MessageView, Opaque, Reasoning, Text, ToolCall, ToolResult
from ctxd.model.messages import Native
from ctxd.service.past.history import Line, read
from ctxd.service.requests.rendering import Lost, carry_into, encode
from ctxd.service.session import Session

Format: TypeAlias = Literal["jsonl", "markdown", "native"]

PAGE = 1_000

FENCE_MIN = 3


class Export(msgspec.Struct, frozen=True):
    """The text, and what of the messages is not in it: it does not cross into the dialect asked for."""

    content: str
    lost: tuple[Lost, ...] = ()


async def export(session: Session, form: Format, dialect: str | None = None) -> Export:
    """The whole transcript: hidden and rewound messages are not in it.

    `jsonl`: one line per message as it came, `{"messageId", "message"}`. `native`: a JSON array of messages
    of one dialect, by default the session's: as they came where they are in it, else translated, and then
    ready to be sent. `markdown`: for reading. Raises UnknownDialect.
    """
    target = dialects.get(dialect or session.state.dialect)
    lines = await _everything(session)
    match form:
        case "jsonl":
            return Export("".join(_json_line(line) for line in lines))
        case "native":
            if not session.state.is_mixed and target.name == session.state.dialect:
                return Export(_array([line.raw for line in lines]))
            natives = await session.natives([line.message_id for line in lines])
            return await anyio.to_thread.run_sync(_translated, session, target, lines, natives)
        case "markdown":
            natives = await session.natives([line.message_id for line in lines])
            views = [session.view(native) for native in natives]
            return Export(markdown(session.session_id, views))


def _translated(
    session: Session, target: Dialect, lines: Sequence[Line], natives: Sequence[Native]
) -> Export:
    """The messages as ones of a dialect, mended as for a request; what is theirs already keeps its bytes."""
    first = session.state.created.dialect if session.state.created else ""
    told = [(line.message_id, native) for line, native in zip(lines, natives, strict=True)]
    carried, lost = carry_into(target, told, first)
    known = {id(native.value): native.raw for _, native in carried}
    mended, edits = target.mend([native.value for _, native in carried], pending=True)
    removed = [Lost(carried[e.index][0], "rule", e.rule) for e in edits if e.action == "remove"]
    return Export(_array([known.get(id(value)) or encode(value) for value in mended]), (*lost, *removed))


def _array(messages: Sequence[bytes]) -> str:
    return "[" + ",\n".join(raw.decode("utf-8") for raw in messages) + "]\n"


def markdown(title: str, views: Sequence[MessageView]) -> str:
    """A conversation as Markdown. What a tool printed is fenced and cannot close its fence."""
    parts = [f"# Session {title}\n"]
    for view in views:
        parts.append(f"## {view.role.capitalize()}\n")
        parts += [_block(block) for block in view.blocks]
    return "\n".join(parts)


async def _everything(session: Session) -> list[Line]:
    lines: list[Line] = []
    after: str | None = None
    while True:
        page, after = await read(session, "transcript", after, PAGE)
        lines += page
        if after is None:
            return lines


def _json_line(line: Line) -> str:
    head = msgspec.json.encode(line.message_id).decode("utf-8")
    return f'{{"messageId":{head},"message":{line.raw.decode("utf-8")}}}\n'


def _block(block: Text | Media | ToolCall | ToolResult | Reasoning | Opaque) -> str:
    match block:
        case Text(text=text):
            return text + "\n"
        case ToolCall(name=name, arguments=arguments, call_id=call_id):
            return f"**Call `{name}`** `{call_id}`\n\n{_fenced(_pretty(arguments), 'json')}"
        case ToolResult(text=text, is_error=failed, call_id=call_id):
            return f"**{'Error' if failed else 'Result'}** `{call_id}`\n\n{_fenced(text)}"
        case Media(kind=kind, wire_bytes=size):
            return f"*[{kind}, {size} bytes]*\n"
        case Reasoning(text=text):
            return f"<details><summary>Reasoning</summary>\n\n{_fenced(text)}\n</details>\n" if text else ""
        case Opaque(name=name, json=body):
            return f"*[{name}]*\n\n{_fenced(body, 'json')}"


def _fenced(text: str, language: str = "") -> str:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(FENCE_MIN, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except ValueError:
        return arguments
