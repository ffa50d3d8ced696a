"""A conversation as readable text, for tests whose input should be seen at a glance.

A line says what its first word says; a blank line ends a message, lines of one message follow each other:

    user: Fix the parser.            a person; `system:` and `developer:` likewise
    image 800x600                    an image in the message above (or of its own)
    think: hm                        reasoning, `think!:` with a signature; opens an assistant message
    assistant: I look.               what the model says
    call c1 Read path=a.py           a call: id, tool, arguments (`key=value`, JSON where it is JSON)
    result c1: text                  its result; `result! c1: text` is an error
    result c1 3000                   a result of that many characters, made up
    result c1 image 100x100          a result that is an image
    user 5000: log                   5000 characters made of the word

Calls stand in the assistant message above them. Results that follow each other share a message where the
dialect allows it; a blank line between them makes two. `\\n` in a text is a line feed. What is read is the
block view, the language every dialect shares; `native` makes a dialect's messages of it, `write` the text.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence
from typing import Any

import msgspec

from ctxd.model.blocks import Block, Media, MessageView, Reasoning, Role, Text, ToolCall, ToolResult

_LINE = re.compile(r"(?P<word>[a-z]+)(?P<mark>!?)(?P<head>[^:\n]*?)(?::(?: (?P<text>.*))?)?$")
_SHOWN_CHARS = 100


def read(text: str) -> list[MessageView]:
    """The messages of a conversation. Raises ValueError for a line that says nothing known."""
    found: list[MessageView] = []
    open_role: Role | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            open_role = None
            continue
        role, block = _read_line(line.strip(), number, open_role)
        if role == open_role and found:
            found[-1] = MessageView(role, (*found[-1].blocks, block))
        else:
            found.append(MessageView(role, (block,)))
        open_role = role
    return found


def write(views: Sequence[MessageView]) -> str:
    """The text of messages, one blank line between them. `read` of it gives the same blocks."""
    return "\n\n".join("\n".join(write_block(view.role, block) for block in view.blocks) for view in views)


def write_block(role: Role, block: Block) -> str:
    """One line for a block."""
    match block:
        case Text(text=text):
            return f"{role}{_written(text)}"
        case Reasoning(text=text, signed=signed):
            return f"think{'!' if signed else ''}{_written(text)}"
        case ToolCall(call_id=call_id, name=name, arguments=arguments):
            given = msgspec.json.decode(arguments)
            return " ".join(["call", call_id, name, *(f"{k}={_value(v)}" for k, v in given.items())])
        case ToolResult(call_id=call_id, text=text, is_error=is_error, media=media):
            mark = "!" if is_error else ""
            images = "".join(f" image {m.width}x{m.height}" for m in media)
            return f"result{mark} {call_id}{images}" + ("" if media and not text else _written(text))
        case Media(width=width, height=height):
            return f"image {width}x{height}"
        case _:
            raise ValueError(f"no word for {block!r}")


def filler(word: str, size: int) -> str:
    """`size` characters made of a word: different words make different texts."""
    unit = f"{word} "
    return (unit * (size // len(unit) + 1))[:size]


def native(view: MessageView, dialect: str) -> list[dict[str, Any]]:
    """The dialect's messages for one message of a conversation; chat wants one per result."""
    if dialect == "anthropic":
        return [_anthropic(view)]
    results = [block for block in view.blocks if isinstance(block, ToolResult)]
    rows: list[dict[str, Any]] = [_chat_result(result) for result in results]
    rest = tuple(block for block in view.blocks if not isinstance(block, ToolResult))
    return [*rows, _chat(MessageView("user" if view.role == "tool" else view.role, rest))] if rest else rows


def natives(text: str, dialect: str) -> list[dict[str, Any]]:
    """The dialect's messages for a conversation."""
    return [message for view in read(text) for message in native(view, dialect)]


def _read_line(line: str, number: int, open_role: Role | None) -> tuple[Role, Block]:
    parsed = _LINE.match(line)
    if parsed is None:
        raise ValueError(f"line {number}: cannot read {line!r}")
    word, head = parsed["word"], parsed["head"].strip()
    marked = parsed["mark"] == "!"
    said = None if parsed["text"] is None and not line.endswith(":") else _unescaped(parsed["text"] or "")
    match word:
        case "user" | "assistant" | "system" | "developer":
            size = int(head) if head else 0
            return word, Text(filler(said or word, size) if size else said or "")
        case "think":
            return "assistant", Reasoning(filler(said or word, int(head)) if head else said or "", marked)
        case "call":
            # Arguments may hold colons: a call is read from the whole line.
            _, call_id, name, *arguments = line.split(" ", 3)
            return "assistant", ToolCall(call_id, name, _arguments(arguments[0] if arguments else ""))
        case "result":
            return "tool", _result(head, said, error=marked)
        case "image":
            role: Role = open_role if open_role in ("user", "assistant") else "user"
            return role, _image(head)
        case _:
            raise ValueError(f"line {number}: no such word: {word!r}")


def _result(head: str, said: str | None, *, error: bool) -> ToolResult:
    call_id, *rest = head.split()
    media: list[Media] = []
    size = 0
    while rest:
        item = rest.pop(0)
        if item == "image":
            media.append(_image(rest.pop(0)))
        else:
            size = int(item)
    text = filler(said or call_id, size) if size else said or ""
    return ToolResult(call_id, text, error, tuple(media))


def _arguments(text: str) -> str:
    """`a=b c="d e"` as compact JSON; a value that is JSON is taken as such."""
    found: dict[str, Any] = {}
    for key, value in re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\{.*\}|\S+)', text):
        try:
            found[key] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            found[key] = value
    return msgspec.json.encode(found).decode()


def _value(value: object) -> str:
    plain = isinstance(value, str) and re.fullmatch(r"[^\s\"\[\{]+", value) and _arguments(f"a={value}")
    if plain and msgspec.json.decode(plain) == {"a": value}:
        return str(value)
    return msgspec.json.encode(value).decode()


def _written(text: str) -> str:
    word = text.split(" ", 1)[0]
    if len(text) > _SHOWN_CHARS and word and text == filler(word, len(text)):
        return f" {len(text)}: {word}"
    return f": {_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(n|\\)", lambda found: "\n" if found[1] == "n" else "\\", text)


def _image(size: str) -> Media:
    width, height = (int(side) for side in size.split("x"))
    return Media("image", wire_bytes=len(_png(width, height)), width=width, height=height)


def _png(width: int, height: int) -> str:
    """Base64 of a PNG's header and a body as long as a photograph's would be, about."""
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", width, height, 8, 2, 0, 0, 0, 0)
    return base64.b64encode(header + bytes(width * height // 100)).decode()


def _anthropic(view: MessageView) -> dict[str, Any]:
    role = "user" if view.role == "tool" else view.role
    if len(view.blocks) == 1 and isinstance(view.blocks[0], Text):
        return {"role": role, "content": view.blocks[0].text}
    return {"role": role, "content": [_anthropic_block(block) for block in view.blocks]}


def _anthropic_block(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Reasoning(text=text, signed=signed):
            return {"type": "thinking", "thinking": text, **({"signature": "sig"} if signed else {})}
        case ToolCall(call_id=call_id, name=name, arguments=arguments):
            given = msgspec.json.decode(arguments)
            return {"type": "tool_use", "id": call_id, "name": name, "input": given}
        case ToolResult(call_id=call_id, text=text, is_error=is_error, media=media):
            content: Any = text
            if media:
                said = [{"type": "text", "text": text}] if text else []
                content = [*said, *(_anthropic_block(item) for item in media)]
            error = {"is_error": True} if is_error else {}
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, **error}
        case Media(width=width, height=height):
            source = {"type": "base64", "media_type": "image/png", "data": _png(width, height)}
            return {"type": "image", "source": source}
        case _:
            raise ValueError(f"no such block: {block!r}")


def _chat(view: MessageView) -> dict[str, Any]:
    calls = [_chat_call(block) for block in view.blocks if isinstance(block, ToolCall)]
    parts = [_chat_part(block) for block in view.blocks if isinstance(block, Text | Media)]
    thought = "\n".join(block.text for block in view.blocks if isinstance(block, Reasoning))
    content: Any = parts
    if len(parts) == 1 and parts[0]["type"] == "text":
        content = parts[0]["text"]
    return {
        "role": view.role,
        "content": content or None,
        **({"reasoning_content": thought} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
    }


def _chat_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def _chat_part(block: Text | Media) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    url = f"data:image/png;base64,{_png(block.width, block.height)}"
    return {"type": "image_url", "image_url": {"url": url}}


def _chat_result(result: ToolResult) -> dict[str, Any]:
    content: Any = result.text
    if result.media:
        said: list[Text | Media] = [Text(result.text)] if result.text else []
        content = [_chat_part(block) for block in [*said, *result.media]]
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}
