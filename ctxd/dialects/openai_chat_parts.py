"""Reading chat messages: every readable part of one, with the place it was read from.

Owns what each member and content part means. Must not know laws, requests or edits.

A message's parts come in this order: reasoning, content, refusal, audio, tool calls, function call.
Reasoning is what compatible servers add and want back (`reasoning_content`, `reasoning_text`,
`reasoning`, `reasoning_details`; reports A.16). The legacy `function_call` and `function` role have no ids:
they are read as a call and a result whose id is `function_call:<name>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ctxd.dialects.base import BadShape
from ctxd.dialects.image_size import size_of
from ctxd.dialects.shape import as_object, compact, is_blank, join, named_member, text_member, wire_size
from ctxd.model.blocks import Block, Media, Opaque, Reasoning, Role, Text, ToolCall, ToolResult

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""Native role to role of the view."""

ALONE = -1
"""`Part.at` of a member that is read whole."""

_PLAIN = frozenset({"role", "content", "name"})
"""Members of an assistant message that only says something."""

_REASONING_TEXTS = ("reasoning_content", "reasoning_text")


class Part(NamedTuple):
    """A block of the view, the member it came from and its position in that member's list."""

    member: str
    at: int
    block: Block


def read_parts(message: Mapping[str, Any]) -> list[Part]:
    """All parts in the order of the view. Raises BadShape."""
    role = text_member(message, "role", "")
    if role not in ROLES:
        raise BadShape("role", "must be system, developer, user, assistant, tool or function")
    if role in ("tool", "function"):
        return [Part("content", ALONE, _result(message, role))]
    if role != "assistant" or message.keys() <= _PLAIN:
        return list(_content(message, required=True))
    calls = [*_tool_calls(message), *_function_call(message)]
    extra = [*_refusal(message), *_audio(message)]
    reasoning = list(_reasoning(message))
    content = list(_content(message, required=not calls and not extra and not reasoning))
    if isinstance(message.get("content"), str) and (calls or extra or reasoning):
        # A blank string beside calls is how many servers write "no content"; it is lawful there.
        content = [p for p in content if not isinstance(p.block, Text) or not is_blank(p.block.text)]
    return [*reasoning, *content, *extra, *calls]


def read_text_content(content: Any, path: str) -> str:
    """Text of a string or of text parts, joined by a newline. Raises BadShape for anything else."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadShape(path, "must be a string or a list of parts")
    texts: list[str] = []
    for index, value in enumerate(content):
        block = _read_part(value, f"{path}.{index}")
        if not isinstance(block, Text):
            raise BadShape(f"{path}.{index}.type", "must be text")
        texts.append(block.text)
    return "\n".join(texts)


def is_blank_text(part: Mapping[str, Any]) -> bool:
    """True for a native text part that holds nothing to read."""
    return part["type"] == "text" and is_blank(part["text"])


def _content(message: Mapping[str, Any], *, required: bool) -> Iterator[Part]:
    content = message.get("content")
    if isinstance(content, str):
        yield Part("content", ALONE, Text(content))
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield Part("content", index, _read_part(value, f"content.{index}"))
        if not content and message["role"] == "assistant":
            yield Part("content", ALONE, Opaque("content", "[]"))
    elif content is not None:
        raise BadShape("content", "must be a string or a list of parts")
    elif "content" not in message:
        if required:
            raise BadShape("content", "is missing")
    elif message["role"] != "assistant":
        raise BadShape("content", "must be a string or a list of parts")


def _result(message: Mapping[str, Any], role: str) -> ToolResult:
    """Stored form as for Anthropic: text parts joined, media apart, other parts as compact JSON."""
    if role == "tool":
        call_id = named_member(message, "tool_call_id", "")
    else:
        call_id = _function_id(named_member(message, "name", ""))
    content = message.get("content")
    if isinstance(content, str):
        return ToolResult(call_id, content)
    if content is None and role == "function" and "content" in message:
        return ToolResult(call_id, "")
    if not isinstance(content, list):
        wrong = "must be a string or a list of parts"
        raise BadShape("content", wrong if "content" in message else "is missing")
    blocks = [_read_part(part, f"content.{index}") for index, part in enumerate(content)]
    media = tuple(block for block in blocks if isinstance(block, Media))
    texts = [block.text for block in blocks if isinstance(block, Text)]
    if len(texts) + len(media) == len(blocks):
        text = "\n".join(texts)
    else:
        others = [part for part, block in zip(content, blocks) if not isinstance(block, Media)]
        text = compact(others, "content")
    return ToolResult(call_id, text, False, media, sum(map(is_blank_text, content)))


def _reasoning(message: Mapping[str, Any]) -> Iterator[Part]:
    for member in _REASONING_TEXTS:
        if message.get(member):
            yield Part(member, ALONE, Reasoning(text_member(message, member, "")))
    details = message.get("reasoning_details")
    if isinstance(details, list) and details:
        # They repeat what `reasoning` says, so that is not read a second time.
        for index, value in enumerate(details):
            path = f"reasoning_details.{index}"
            yield Part("reasoning_details", index, _detail(as_object(value, path)))
    elif isinstance(message.get("reasoning"), str) and message["reasoning"]:
        yield Part("reasoning", ALONE, Reasoning(message["reasoning"]))


def _detail(detail: dict[str, Any]) -> Reasoning:
    """One entry as OpenRouter writes it: text with a signature, a summary, or encrypted data."""
    texts = (detail.get("text"), detail.get("summary"))
    text = next((t for t in texts if isinstance(t, str)), "")
    data = detail.get("data")
    sealed = bool(detail.get("signature")) or isinstance(data, str)
    return Reasoning(text, sealed, len(data) if isinstance(data, str) else 0)


def _refusal(message: Mapping[str, Any]) -> Iterator[Part]:
    if message.get("refusal"):
        yield Part("refusal", ALONE, Text(text_member(message, "refusal", "")))


def _audio(message: Mapping[str, Any]) -> Iterator[Part]:
    """An earlier spoken answer, referred to by id; a host may have kept its data too."""
    if message.get("audio") is None:
        return
    audio = as_object(message["audio"], "audio")
    data = audio.get("data")
    size = wire_size(data if isinstance(data, str) else named_member(audio, "id", "audio"))
    yield Part("audio", ALONE, Media("audio", size))


def _tool_calls(message: Mapping[str, Any]) -> Iterator[Part]:
    calls = message.get("tool_calls")
    if calls is None:
        return
    if not isinstance(calls, list):
        raise BadShape("tool_calls", "must be a list")
    if not calls:
        yield Part("tool_calls", ALONE, Opaque("tool_calls", "[]"))
    for index, value in enumerate(calls):
        yield Part("tool_calls", index, _tool_call(value, f"tool_calls.{index}"))


def _tool_call(value: Any, path: str) -> ToolCall:
    call = as_object(value, path)
    call_id = named_member(call, "id", path)
    member, arguments = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    inner = join(path, member)
    what = as_object(call.get(member), inner)
    return ToolCall(call_id, named_member(what, "name", inner), text_member(what, arguments, inner))


def _function_call(message: Mapping[str, Any]) -> Iterator[Part]:
    if message.get("function_call") is None:
        return
    call = as_object(message["function_call"], "function_call")
    name = named_member(call, "name", "function_call")
    arguments = text_member(call, "arguments", "function_call")
    yield Part("function_call", ALONE, ToolCall(_function_id(name), name, arguments))


def _function_id(name: str) -> str:
    return f"function_call:{name}"


def _read_part(value: Any, path: str) -> Block:
    part = as_object(value, path)
    kind = named_member(part, "type", path)
    match kind:
        case "text":
            return Text(text_member(part, "text", path))
        case "refusal":
            return Text(text_member(part, "refusal", path))
        case "image_url" | "video_url":
            return _linked(part, kind, path)
        case "input_audio":
            audio = as_object(part.get(kind), join(path, kind))
            return Media("audio", wire_size(text_member(audio, "data", join(path, kind))))
        case "file":
            file = as_object(part.get(kind), join(path, kind))
            member = "file_data" if "file_data" in file else "file_id"
            return Media("document", wire_size(text_member(file, member, join(path, kind))))
        case _:
            return Opaque(kind, compact(part, path))


def _linked(part: dict[str, Any], kind: str, path: str) -> Media:
    """An image, or a video as some servers take it, by URL or `data:` URL; the URL may stand bare."""
    path = join(path, kind)
    link = part.get(kind)
    link = {"url": link} if isinstance(link, str) else as_object(link, path)
    url = text_member(link, "url", path)
    if kind == "video_url":
        return Media("other", wire_size(url))
    detail = link.get("detail")
    width, height = size_of(url) if url[:5].lower() == "data:" else (0, 0)
    return Media("image", wire_size(url), width, height, detail if isinstance(detail, str) else "")
