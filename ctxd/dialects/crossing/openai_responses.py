"""Responses items, to and from turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxd.dialects.crossing.pieces import (
    SIDES,
    Answered,
    Attached,
    Called,
    Note,
    Piece,
    Said,
    Side,
    Turn,
    as_json,
    data_url,
    failed,
    parse_data_url,
    stand_in,
)
from ctxd.dialects.openai_responses_items import item_type, read_item, read_part
from ctxd.model.blocks import Media, Opaque, Reasoning, Text, ToolCall, ToolResult


def read(item: Mapping[str, Any], index: int, note: Note) -> Turn:
    """The turn of one item; a provider's own calls with what they found are left behind."""
    view = read_item(item)
    pieces: list[Piece] = []
    if item_type(item) == "message":
        content = item["content"]
        for native in [{"type": "input_text", "text": content}] if isinstance(content, str) else content:
            pieces += _read(native, note)
        return Turn(SIDES[view.role], tuple(pieces), index)
    for block in view.blocks:
        match block:
            case ToolCall(call_id=call_id, name=name, arguments=arguments):
                is_free = item_type(item) == "custom_tool_call"
                pieces.append(Called(call_id, name, arguments, is_free))
            case ToolResult(call_id=call_id, text=text, is_error=is_error):
                output = item.get("output")
                parts = output if isinstance(output, list) else [output]
                inner = [found for part in parts if (found := _attached(part)) is not None]
                pieces.append(Answered(call_id, text, tuple(inner), is_error))
            case Reasoning() if item_type(item) == "reasoning":
                note("reasoning", "sealed" if item.get("encrypted_content") else "plain")
            case Opaque(name=name):
                note("item", name)
            case _:
                pass
    return Turn(SIDES[view.role], tuple(pieces), index)


def write(turn: Turn, signature: str, note: Note) -> list[dict[str, Any]]:
    """An item for each call and each result; what is said between them is a message."""
    items: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for piece in turn.pieces:
        match piece:
            case Said(text=text):
                said.append({"type": "input_text", "text": text})
            case Attached():
                said.append(_attach(piece, note, may=turn.side == "user"))
            case Called():
                items += _message(turn.side, said)
                said = []
                items.append(_call(piece))
            case Answered():
                items.append(_output(piece, note))
    return [*items, *_message(turn.side, said)]


def _message(side: Side, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A message in its short form where it is words alone, which takes them from any side."""
    if not parts:
        return []
    if any(part["type"] != "input_text" for part in parts):
        return [{"role": side, "content": parts}]
    return [{"role": side, "content": "\n\n".join(part["text"] for part in parts)}]


def _call(call: Called) -> dict[str, Any]:
    if call.is_free:
        return {
            "type": "custom_tool_call",
            "call_id": call.call_id,
            "name": call.name,
            "input": call.arguments,
        }
    return {
        "type": "function_call",
        "call_id": call.call_id,
        "name": call.name,
        "arguments": as_json(call),
    }


def _output(answer: Answered, note: Note) -> dict[str, Any]:
    kind = "custom_tool_call_output" if answer.is_free else "function_call_output"
    output: Any = failed(answer)
    if answer.attached:
        said = [{"type": "input_text", "text": output}] if output.strip() else []
        output = [*said, *(_attach(attached, note, may=True) for attached in answer.attached)]
    return {"type": kind, "call_id": answer.call_id, "output": output}


def _read(native: Mapping[str, Any], note: Note) -> list[Piece]:
    if native.get("prompt_cache_breakpoint"):
        note("cacheMark", native["type"])
    match read_part(native, ""):
        case Text(text=text):
            if native.get("annotations"):
                note("citations", "text")
            return [Said(text)]
        case Media(kind=kind):
            found = _attached(native)
            if found is not None:
                return [found]
            note("media", f"{kind} known to its provider alone")
        case Opaque(name=name):
            note("item", name)
        case _:
            pass
    return []


def _attached(native: Any) -> Attached | None:
    """What others can be given; None for what only this provider knows, and for no attachment."""
    match native:
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)}:
            mime, data = parse_data_url(url)
            if data:
                return Attached("image", mime, data)
            return None if url[:5].lower() == "data:" else Attached("image", url=url)
        case {"type": "input_file", "file_data": str(link), **file}:
            mime, data = parse_data_url(link)
            name = file.get("filename")
            if not data:
                return None
            return Attached("document", mime, data, name=name if isinstance(name, str) else "")
        case {"type": "input_file", "file_url": str(url)}:
            return Attached("document", url=url)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return Attached("audio", {"mp3": "audio/mpeg"}.get(form, f"audio/{form}"), data)
        case _:
            return None


def _attach(attached: Attached, note: Note, *, may: bool) -> dict[str, Any]:
    match attached.kind:
        case "image" if may and attached.url:
            return {"type": "input_image", "image_url": attached.url, "detail": "auto"}
        case "image" if may and attached.data and attached.mime.startswith("image/"):
            return {"type": "input_image", "image_url": data_url(attached), "detail": "auto"}
        case "document" if may and attached.url:
            return {"type": "input_file", "file_url": attached.url}
        case "document" if may and attached.data and attached.mime == "application/pdf":
            name = attached.name or "document.pdf"
            return {"type": "input_file", "filename": name, "file_data": data_url(attached)}
        case _:
            return {"type": "input_text", "text": stand_in(attached, note)}
