"""Message lists in short: `U A(think,1,2) U(1,2) A`, so that a law's cases fit on a line each.

A message is a role letter (S system, U user, A assistant, R tool) with its content in brackets; without
brackets it holds the text `t`. Content: a number is a call of that id (A) or its result (U, R), `1!` another
result for it, `1?` the stub, `think` signed thinking, `musing` unsigned, `sig` a signature of what follows
(Gemini), `b` blank text, `img` an image, `odd` an unknown block, any other word text. A bar stands where the
list may be cut. In Responses, what cannot be one item is written as several: `A(think,1)` is `A(think) A(1)`.
"""

from __future__ import annotations

import re
from typing import Any

from ctxd.dialects.base import Dialect
from ctxd.dialects.mending import STUB
from ctxd.model.blocks import Block, Media, MessageView, Reasoning, Text, ToolCall, ToolResult

Messages = list[dict[str, Any]]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_LETTERS = {"system": "S", "developer": "S", "user": "U", "assistant": "A", "tool": "R"}


def read(text: str, dialect: str) -> Messages:
    """The native messages of a notation, bars left out."""
    messages = _split(text.replace("|", " "))
    match dialect:
        case "anthropic":
            return [_anthropic(letter, items) for letter, items in messages]
        case "openai-chat":
            return [_chat(letter, items) for letter, items in messages]
        case "openai-responses":
            found = [item for letter, items in messages for item in _responses(letter, items)]
            # An item's id is its own.
            return [{**m, "id": f"{m['id']}_{n}"} if "id" in m else m for n, m in enumerate(found)]
        case _:
            return [_gemini(letter, items) for letter, items in messages]


def bars(text: str) -> set[int]:
    """The places of a notation's bars: 0 stands before the first message."""
    places: set[int] = set()
    index = 0
    for token in re.findall(r"\||[A-Z](?:\([^)]*\))?", text):
        if token == "|":
            places.add(index)
        else:
            index += 1
    return places


def write(messages: list[Any], dialect: Dialect) -> str:
    """The notation of native messages."""
    return " ".join(_message(dialect.view(message)) for message in messages)


def _split(text: str) -> list[tuple[str, list[str]]]:
    found = re.findall(r"([A-Z])(\([^)]*\))?", text)
    return [
        (letter, ["t"] if not items else [i for i in items[1:-1].split(",") if i]) for letter, items in found
    ]


def _result_text(item: str) -> str:
    return {"!": "another", "?": STUB}.get(item[-1], "done")


def _anthropic(letter: str, items: list[str]) -> dict[str, Any]:
    role = {"S": "system", "U": "user", "A": "assistant"}[letter]
    return {"role": role, "content": [_anthropic_block(letter, item) for item in items]}


def _anthropic_block(letter: str, item: str) -> dict[str, Any]:
    if item[0].isdigit():
        key = item.rstrip("!?")
        if letter == "A":
            return {"type": "tool_use", "id": f"c{key}", "name": "run", "input": {"n": key}}
        return {"type": "tool_result", "tool_use_id": f"c{key}", "content": _result_text(item)}
    match item:
        case "think":
            return {"type": "thinking", "thinking": "hm", "signature": "sig"}
        case "musing":
            return {"type": "thinking", "thinking": "hm"}
        case "b":
            return {"type": "text", "text": " \n"}
        case "img":
            return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
        case "odd":
            return {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
        case _:
            return {"type": "text", "text": item}


def _chat(letter: str, items: list[str]) -> dict[str, Any]:
    if letter == "R":
        return {
            "role": "tool",
            "tool_call_id": f"c{items[0].rstrip('!?')}",
            "content": _result_text(items[0]),
        }
    role = {"S": "system", "U": "user", "A": "assistant"}[letter]
    message: dict[str, Any] = {"role": role, "content": [_chat_part(i) for i in items if _is_part(i)]}
    calls = [_chat_call(item) for item in items if item[0].isdigit()]
    if calls:
        message["tool_calls"] = calls
    if "think" in items:
        message["reasoning_details"] = [{"type": "reasoning.text", "text": "hm", "signature": "sig"}]
    if "musing" in items:
        message["reasoning_content"] = "hm"
    if letter == "A" and not message["content"]:
        message["content"] = None
    return message


def _is_part(item: str) -> bool:
    return not item[0].isdigit() and item not in ("think", "musing")


def _chat_call(item: str) -> dict[str, Any]:
    return {
        "id": f"c{item}",
        "type": "function",
        "function": {"name": "run", "arguments": f'{{"n": "{item}"}}'},
    }


def _chat_part(item: str) -> dict[str, Any]:
    match item:
        case "b":
            return {"type": "text", "text": " \n"}
        case "img":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        case "odd":
            return {"type": "hologram", "rays": 3}
        case _:
            return {"type": "text", "text": item}


def _responses(letter: str, items: list[str]) -> Messages:
    role = {"S": "system", "U": "user", "A": "assistant", "R": "tool"}[letter]
    found: Messages = []
    parts: list[dict[str, Any]] = []
    for item in items:
        key = item.rstrip("!?")
        if letter == "R":
            found.append({"type": "function_call_output", "call_id": f"c{key}", "output": _result_text(item)})
        elif item[0].isdigit():
            arguments = f'{{"n": "{key}"}}'
            call = {"type": "function_call", "call_id": f"c{key}", "name": "run", "arguments": arguments}
            found.append(call)
        elif item == "think":
            found.append({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"})
        elif item == "odd" and letter == "A":
            found.append({"type": "web_search_call", "id": "ws", "status": "completed"})
        else:
            if not parts:
                found.append({"type": "message", "role": role, "content": parts})
            parts.append(_responses_part(letter, item))
    return found or [{"type": "message", "role": role, "content": []}]


def _responses_part(letter: str, item: str) -> dict[str, Any]:
    kind = "output_text" if letter == "A" else "input_text"
    match item:
        case "b":
            return {"type": kind, "text": " \n"}
        case "img":
            return {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
        case "odd":
            return {"type": "hologram", "rays": 3}
        case _:
            return {"type": kind, "text": item}


def _gemini(letter: str, items: list[str]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for item in items:
        part = {} if item == "sig" else _gemini_part(letter, item)
        if parts and parts[-1] == {"thoughtSignature": "c2ln"}:
            parts[-1] = {**part, **parts[-1]}
        else:
            parts.append(part or {"thoughtSignature": "c2ln"})
    return {"role": "model" if letter == "A" else "user", "parts": parts}


def _gemini_part(letter: str, item: str) -> dict[str, Any]:
    if item[0].isdigit():
        key = item.rstrip("!?")
        call: dict[str, Any] = {"id": f"c{key}", "name": "run"}
        if letter == "A":
            return {"functionCall": {**call, "args": {"n": key}}}
        return {"functionResponse": {**call, "response": {"output": _result_text(item)}}}
    match item:
        case "think":
            return {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}
        case "musing":
            return {"text": "hm", "thought": True}
        case "b":
            return {"text": " \n"}
        case "img":
            return {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
        case "odd":
            return {"executableCode": {"code": "1", "language": "PYTHON"}}
        case _:
            return {"text": item}


def _message(view: MessageView) -> str:
    items = [_item(block) for block in view.blocks]
    letter = _LETTERS[view.role]
    return letter if items == ["t"] else f"{letter}({','.join(items)})"


def _item(block: Block) -> str:
    match block:
        case Text(text=text):
            return text if text.strip() else "b"
        case ToolCall(call_id=call_id):
            return call_id[1:]
        case ToolResult(call_id=call_id, text=text):
            return call_id[1:] + {"another": "!", STUB: "?"}.get(text, "")
        case Reasoning(text="", signed=True, opaque_bytes=size) if size:
            return "sig"
        case Reasoning(signed=signed):
            return "think" if signed else "musing"
        case Media():
            return "img"
        case _:
            return "odd"
