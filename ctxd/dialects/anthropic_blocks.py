"""Reading Anthropic content blocks: one block of the view for each native one, in the same order.

Owns what each block type means. Must not know messages, laws or requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxd.dialects.base import BadShape
from ctxd.dialects.image_size import size_of
from ctxd.dialects.shape import as_object, compact, is_blank, named_member, text_member, wire_size
from ctxd.model.blocks import Block, Media, MediaKind, Opaque, Reasoning, Text, ToolCall, ToolResult


def read_block(value: Any, path: str) -> Block:
    """One content block. Types that are not known become `Opaque`. Raises BadShape with `path`."""
    block = as_object(value, path)
    kind = block.get("type")
    reader = _READERS.get(kind, _opaque) if isinstance(kind, str) else _opaque
    return reader(block, path)


def is_blank_text(block: dict[str, Any]) -> bool:
    """True for a native text block that holds nothing to read."""
    return block["type"] == "text" and is_blank(block["text"])


def _opaque(block: dict[str, Any], path: str) -> Block:
    return Opaque(named_member(block, "type", path), compact(block, path))


def _text(block: dict[str, Any], path: str) -> Block:
    return Text(text_member(block, "text", path))


def _tool_use(block: dict[str, Any], path: str) -> Block:
    arguments = as_object(block.get("input"), f"{path}.input")
    return ToolCall(
        call_id=named_member(block, "id", path),
        name=named_member(block, "name", path),
        arguments=compact(arguments, f"{path}.input"),
    )


def _tool_result(block: dict[str, Any], path: str) -> Block:
    is_error = block.get("is_error")
    if not isinstance(is_error, bool | None):
        raise BadShape(f"{path}.is_error", "must be a boolean")
    text, media, blanks = read_result_content(block.get("content"), f"{path}.content")
    return ToolResult(named_member(block, "tool_use_id", path), text, bool(is_error), media, blanks)


def read_result_content(content: Any, path: str) -> tuple[str, tuple[Media, ...], int]:
    """Stored form of a result's content, the media in it, and how many of its text blocks are blank.

    A string is stored as it is, nothing (absent or null) as an empty string, text blocks joined by a
    newline. Media are never part of the stored form (reports D.50). When a block of another type is
    among them, the form is compact JSON of all blocks that are not media.
    """
    if content is None:
        return "", (), 0
    if isinstance(content, str):
        return content, (), 0
    if not isinstance(content, list):
        raise BadShape(path, "must be a string or a list of blocks")
    blocks = [read_block(block, f"{path}.{index}") for index, block in enumerate(content)]
    media = tuple(block for block in blocks if isinstance(block, Media))
    texts = [block.text for block in blocks if isinstance(block, Text)]
    blanks = sum(map(is_blank_text, content))
    if len(texts) + len(media) == len(blocks):
        return "\n".join(texts), media, blanks
    others = [native for native, block in zip(content, blocks) if not isinstance(block, Media)]
    return compact(others, path), media, blanks


def _thinking(block: dict[str, Any], path: str) -> Block:
    """A signature seals text that is there; where the text was left out, it carries it encrypted."""
    text = text_member(block, "thinking", path)
    signature = block.get("signature")
    if not isinstance(signature, str | None):
        raise BadShape(f"{path}.signature", "must be a string")
    return Reasoning(text, bool(signature), 0 if text else len(signature or ""))


def _redacted_thinking(block: dict[str, Any], path: str) -> Block:
    return Reasoning("", True, len(text_member(block, "data", path)))


def _image(block: dict[str, Any], path: str) -> Block:
    return _media("image", block, path)


def _document(block: dict[str, Any], path: str) -> Block:
    """A document of plain text is text to the model, and to its bill."""
    source = as_object(block.get("source"), f"{path}.source")
    if source.get("type") == "text":
        return Text(text_member(source, "data", f"{path}.source"))
    if source.get("type") == "content":
        text, media, _ = read_result_content(source.get("content"), f"{path}.source.content")
        if not media:
            return Text(text)
        wire_bytes = wire_size(text) + sum(item.wire_bytes for item in media)
        return Media("document", wire_bytes)
    return _media("document", block, path)


def _media(kind: MediaKind, block: dict[str, Any], path: str) -> Media:
    path = f"{path}.source"
    source = as_object(block.get("source"), path)
    match named_member(source, "type", path):
        case "base64":
            data = text_member(source, "data", path)
            width, height = size_of(data) if kind == "image" else (0, 0)
            return Media(kind, wire_size(data), width, height)
        case "url":
            return Media(kind, wire_size(text_member(source, "url", path)))
        case "file":
            return Media(kind, wire_size(text_member(source, "file_id", path)))
        case _:
            return Media(kind, wire_size(compact(source, path)))


_READERS: dict[str, Callable[[dict[str, Any], str], Block]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "thinking": _thinking,
    "redacted_thinking": _redacted_thinking,
}
