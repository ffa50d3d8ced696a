"""`session/export`: a session for people and for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.blocks import Media, MessageView, Opaque, Reasoning, Text, ToolCall, ToolResult
from ctxd.service.history import Line, read
from ctxd.service.session import Session

Format: TypeAlias = Literal["jsonl", "markdown", "native"]

PAGE = 1_000

FENCE_MIN = 3


async def export(session: Session, form: Format) -> str:
    """The whole transcript: hidden and rewound messages are not in it.

    `jsonl`: one line per message, `{"messageId", "message"}`. `native`: a JSON array of the messages
    as they came, ready to be sent. `markdown`: for reading.
    """
    lines = await _everything(session)
    match form:
        case "jsonl":
            return "".join(_json_line(line) for line in lines)
        case "native":
            return "[" + ",\n".join(line.raw.decode("utf-8") for line in lines) + "]\n"
        case "markdown":
            natives = await session.natives([line.message_id for line in lines])
            views = [session.view(native) for native in natives]
            return markdown(session.session_id, views)


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
