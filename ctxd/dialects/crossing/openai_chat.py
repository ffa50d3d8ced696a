"""Chat messages, to and from turns."""

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
    Turn,
    as_json,
    data_url,
    failed,
    parse_data_url,
    stand_in,
)
from ctxd.dialects.openai_chat_parts import ROLES, read_parts
from ctxd.model.blocks import Media, Opaque, Reasoning, Text, ToolCall, ToolResult

_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read(message: Mapping[str, Any], index: int, note: Note) -> Turn:
    """The turn of one message. Of a tool message the result alone is taken."""
    pieces: list[Piece] = []
    for part in read_parts(message):
        native = message[part.member][part.at] if part.at >= 0 else message[part.member]
        match part.block:
            case Text(text=text):
                pieces.append(Said(text))
            case Media(kind=kind):
                found = _attached(native) if part.member == "content" else None
                if found is None:
                    note("media", f"{kind} known to its provider alone")
                else:
                    pieces.append(found)
            case ToolCall(call_id=call_id, name=name, arguments=arguments):
                pieces.append(Called(call_id, name, arguments, native.get("type") == "custom"))
            case ToolResult(call_id=call_id, text=text):
                parts = native if isinstance(native, list) else []
                inner = [found for value in parts if (found := _attached(value)) is not None]
                pieces.append(Answered(call_id, text, tuple(inner)))
            case Reasoning(signed=signed):
                note("reasoning", "signed" if signed else "plain")
            case Opaque(name=name, json=json):
                if json != "[]":
                    note("item", name)
    return Turn(SIDES[ROLES[message["role"]]], tuple(pieces), index)


def write(turn: Turn, signature: str, note: Note) -> list[dict[str, Any]]:
    """A message for each result, and one for the rest."""
    results: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    for piece in turn.pieces:
        match piece:
            case Said(text=text):
                content.append({"type": "text", "text": text})
            case Attached():
                content.append(_attach(piece, note, may=turn.side == "user"))
            case Called():
                calls.append(_call(piece))
            case Answered():
                lines = [failed(piece), *(stand_in(attached, note) for attached in piece.attached)]
                text = "\n".join(line for line in lines if line)
                results.append({"role": "tool", "tool_call_id": piece.call_id, "content": text})
    if not content and not calls:
        return results
    message: dict[str, Any] = {"role": turn.side, "content": _plain(content)}
    if calls:
        message["tool_calls"] = calls
    return [*results, message]


def _plain(content: list[dict[str, Any]]) -> Any:
    """Content of words alone as one string, the form every server takes."""
    if not content:
        return None
    if any(part["type"] != "text" for part in content):
        return content
    return "\n\n".join(part["text"] for part in content)


def _call(call: Called) -> dict[str, Any]:
    if call.is_free:
        return {"id": call.call_id, "type": "custom", "custom": {"name": call.name, "input": call.arguments}}
    function = {"name": call.name, "arguments": as_json(call)}
    return {"id": call.call_id, "type": "function", "function": function}


def _attached(native: Any) -> Attached | None:
    """What others can be given; None for what only this provider knows, and for no attachment."""
    match native:
        case {"type": "image_url", "image_url": {"url": str(url)}} | {
            "type": "image_url",
            "image_url": str(url),
        }:
            mime, data = parse_data_url(url)
            if data:
                return Attached("image", mime, data)
            return None if url[:5].lower() == "data:" else Attached("image", url=url)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            return Attached("audio", _AUDIO.get(form, f"audio/{form}"), data)
        case {"type": "file", "file": {"file_data": str(link), **file}}:
            mime, data = parse_data_url(link)
            name = file.get("filename")
            if not data:
                return None
            return Attached("document", mime, data, name=name if isinstance(name, str) else "")
        case _:
            return None


def _attach(attached: Attached, note: Note, *, may: bool) -> dict[str, Any]:
    forms = {mime: form for form, mime in _AUDIO.items()}
    match attached.kind:
        case "image" if may and attached.url:
            return {"type": "image_url", "image_url": {"url": attached.url}}
        case "image" if may and attached.data and attached.mime.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": data_url(attached)}}
        case "audio" if may and attached.data and attached.mime in forms:
            sound = {"data": attached.data, "format": forms[attached.mime]}
            return {"type": "input_audio", "input_audio": sound}
        case "document" if may and attached.data and attached.mime == "application/pdf":
            file = {"filename": attached.name or "document.pdf", "file_data": data_url(attached)}
            return {"type": "file", "file": file}
        case _:
            return {"type": "text", "text": stand_in(attached, note)}
