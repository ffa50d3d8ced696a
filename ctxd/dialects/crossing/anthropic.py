"""Anthropic messages, to and from turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxd.dialects.anthropic_blocks import read_block
from ctxd.dialects.crossing.pieces import (
    Answered,
    Attached,
    Called,
    Note,
    Piece,
    Said,
    Side,
    Turn,
    as_object,
    stand_in,
)
from ctxd.model.blocks import Media, Opaque, Reasoning, Text, ToolCall, ToolResult

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})

_SIDES: dict[str, Side] = {"user": "user", "assistant": "assistant", "system": "system"}


def read(message: Mapping[str, Any], index: int, note: Note) -> Turn:
    """The turn of one message."""
    side = _SIDES[message["role"]]
    content = message["content"]
    if isinstance(content, str):
        return Turn(side, (Said(content),), index)
    pieces: list[Piece] = []
    for native in content:
        if native.get("cache_control"):
            note("cacheMark", native["type"])
        pieces += _read(native, note)
    return Turn(side, tuple(pieces), index)


def write(turn: Turn, signature: str, note: Note) -> list[dict[str, Any]]:
    """One message. Images of the assistant's are words: it can send none."""
    blocks: list[dict[str, Any]] = []
    for piece in turn.pieces:
        match piece:
            case Said(text=text):
                blocks.append({"type": "text", "text": text})
            case Attached():
                blocks.append(_attach(piece, note, may=turn.side == "user"))
            case Called(call_id=call_id, name=name):
                blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": as_object(piece)})
            case Answered():
                blocks.append(_answer(piece, note))
    return [{"role": turn.side, "content": blocks}]


def _read(native: Mapping[str, Any], note: Note) -> list[Piece]:
    match read_block(native, ""):
        case Text(text=text):
            if native.get("citations"):
                note("citations", "text")
            return [Said(text)]
        case Media(kind=kind):
            return _attached(native, note, kind == "image")
        case ToolCall(call_id=call_id, name=name, arguments=arguments):
            return [Called(call_id, name, arguments)]
        case ToolResult(call_id=call_id, text=text, is_error=is_error):
            content = native.get("content")
            parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
            inner = [
                attached
                for part in parts
                if isinstance(block := read_block(part, ""), Media)
                for attached in _attached(part, note, block.kind == "image")
                if isinstance(attached, Attached)
            ]
            return [Answered(call_id, text, tuple(inner), is_error)]
        case Reasoning(signed=signed):
            note("reasoning", "signed" if signed else "plain")
        case Opaque(name=name):
            note("item", name)
    return []


def _attached(native: Mapping[str, Any], note: Note, image: bool) -> list[Piece]:
    source = native["source"]
    kind = "image" if image else "document"
    match source["type"]:
        case "base64":
            mime = source.get("media_type")
            title = native.get("title")
            return [
                Attached(
                    "image" if image else "document",
                    mime if isinstance(mime, str) else "",
                    source["data"],
                    name=title if isinstance(title, str) else "",
                )
            ]
        case "url":
            return [Attached("image" if image else "document", url=source["url"])]
        case _:
            note("media", f"{kind} known to its provider alone")
            return []


def _attach(attached: Attached, note: Note, *, may: bool) -> dict[str, Any]:
    if may and attached.url and attached.kind in ("image", "document"):
        return {"type": attached.kind, "source": {"type": "url", "url": attached.url}}
    fits = attached.mime in IMAGES if attached.kind == "image" else attached.mime == "application/pdf"
    if not may or not attached.data or not fits or attached.kind not in ("image", "document"):
        return {"type": "text", "text": stand_in(attached, note)}
    source = {"type": "base64", "media_type": attached.mime, "data": attached.data}
    title = {"title": attached.name} if attached.name and attached.kind == "document" else {}
    return {"type": attached.kind, "source": source, **title}


def _answer(answer: Answered, note: Note) -> dict[str, Any]:
    content: Any = answer.text
    if answer.attached:
        said = [{"type": "text", "text": answer.text}] if answer.text.strip() else []
        content = [*said, *(_attach(attached, note, may=True) for attached in answer.attached)]
    error = {"is_error": True} if answer.is_error else {}
    return {"type": "tool_result", "tool_use_id": answer.call_id, "content": content, **error}
