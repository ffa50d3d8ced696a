"""Gemini contents, to and from turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxd.dialects.crossing.pieces import (
    Answered,
    Attached,
    Called,
    Note,
    Piece,
    Said,
    Turn,
    as_object,
    stand_in,
)
from ctxd.dialects.gemini_parts import member, parts_of, read_parts, role_of
from ctxd.model.blocks import Media, MediaKind, Opaque, Reasoning, Text, ToolCall, ToolResult


def read(content: Mapping[str, Any], index: int, note: Note) -> Turn:
    """The turn of one content."""
    parts = parts_of(content)
    pieces: list[Piece] = []
    for part in read_parts(content):
        native = parts[part.at]
        match part.block:
            case Text(text=text):
                pieces.append(Said(text))
            case Media(kind=kind):
                found = _attached(native, kind)
                if found is None:
                    note("media", f"{kind} known to its provider alone")
                else:
                    pieces.append(found)
            case ToolCall(call_id=call_id, name=name, arguments=arguments):
                pieces.append(Called(call_id, name, arguments))
            case ToolResult(call_id=call_id, text=text, is_error=is_error, media=media):
                inner = member(native, "functionResponse").get("parts") or []
                attached = [
                    found
                    for value, seen in zip(inner, media)
                    if (found := _attached(value, seen.kind)) is not None
                ]
                pieces.append(Answered(call_id, text, tuple(attached), is_error))
            case Reasoning(text=text):
                if native.get("thought"):
                    note("reasoning", "signed" if member(native, "thoughtSignature") else "plain")
                else:
                    note("signature", "part")
            case Opaque(name=name):
                note("item", name)
    return Turn("assistant" if role_of(content) == "assistant" else "user", tuple(pieces), index)


def write(turn: Turn, signature: str, note: Note) -> list[dict[str, Any]]:
    """One content. The first call carries the signature that stands for one that was never given.

    Responses come first, what is attached to them behind: older models take no media inside.
    """
    responses: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for piece in turn.pieces:
        match piece:
            case Said(text=text):
                parts.append({"text": text})
            case Attached():
                parts.append(_attach(piece, note))
            case Called(call_id=call_id, name=name):
                part: dict[str, Any] = {
                    "functionCall": {"id": call_id, "name": name, "args": as_object(piece)}
                }
                if signature:
                    part["thoughtSignature"] = signature
                    signature = ""
                parts.append(part)
            case Answered(call_id=call_id, name=name):
                body = {"error" if piece.is_error else "output": piece.text}
                response = {"id": call_id, "name": name, "response": body}
                responses.append({"functionResponse": response})
                parts += [_attach(attached, note) for attached in piece.attached]
    return [{"role": "model" if turn.side == "assistant" else "user", "parts": [*responses, *parts]}]


def _attached(native: Mapping[str, Any], kind: MediaKind) -> Attached | None:
    """Inline data; a file is known to its provider alone."""
    blob = member(native, "inlineData")
    if blob is None:
        return None
    mime = member(blob, "mimeType")
    return Attached(kind, mime if isinstance(mime, str) else "", blob["data"])


def _attach(attached: Attached, note: Note) -> dict[str, Any]:
    if attached.data and attached.mime:
        return {"inlineData": {"mimeType": attached.mime, "data": attached.data}}
    return {"text": stand_in(attached, note)}
