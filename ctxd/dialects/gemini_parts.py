"""Reading Gemini contents: every part of one, with its place.

Owns what each part means. Members are read under their JSON name and under the one Python SDKs print
(`functionCall`, `function_call`): the API takes both. Must not know laws, requests or edits.

A call needs no id. One without is read under `call:<name>`, `call:<name>#2` and so on, by its place among
the calls of that name in its content, and so is a response without an id: they find each other by name and
order, which is how the API matches them. Where a call has an id its response must give it. None of these
ids is ever written into a content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxd.dialects.base import BadShape
from ctxd.dialects.image_size import size_of
from ctxd.dialects.shape import as_object, compact, join, named_member, text_member, wire_size
from ctxd.model.blocks import Block, Media, MediaKind, Opaque, Reasoning, Role, Text, ToolCall, ToolResult

ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "user", "tool": "user"}
"""Native role to role of the view. Responses may come under roles of their own; they are the user's turn."""

_PLAIN_KEYS = ("output", "result", "error")
"""Members of a response that hold all of it when they stand alone (provider document "FunctionResponse")."""

_MEMBERS = (
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)

_SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "executableCode": "executable_code",
    "codeExecutionResult": "code_execution_result",
    "toolCall": "tool_call",
    "toolResponse": "tool_response",
    "thoughtSignature": "thought_signature",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "functionDeclarations": "function_declarations",
}


class Part(NamedTuple):
    """A block of the view and the position of the part it came from.

    A signed part of the model's that is no thought has two: its signature, then itself.
    """

    at: int
    block: Block


def role_of(content: Mapping[str, Any]) -> Role:
    """The role of a content, the user's where none is given. Raises BadShape."""
    given = content.get("role")
    role = "user" if given is None else ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise BadShape("role", "must be user or model")
    return role


def parts_of(content: Mapping[str, Any]) -> list[Any]:
    """The native parts; a content without any is what an answer of nothing looks like. Raises BadShape."""
    parts = content.get("parts")
    if parts is None:
        return []
    if not isinstance(parts, list):
        raise BadShape("parts", "must be a list of parts")
    return parts


def read_parts(content: Mapping[str, Any]) -> list[Part]:
    """All blocks in the order of the view. Raises BadShape."""
    found: list[Part] = []
    calls: Counter[str] = Counter()
    responses: Counter[str] = Counter()
    is_model = role_of(content) == "assistant"
    for at, value in enumerate(parts_of(content)):
        path = f"parts.{at}"
        part = as_object(value, path)
        signature = member(part, "thoughtSignature")
        if not isinstance(signature, str | None):
            raise BadShape(f"{path}.thoughtSignature", "must be a string")
        weight = len(signature or "") * 3 // 4
        name = next((known for known in _MEMBERS if member(part, known) is not None), "")
        match name:
            case "functionCall":
                block: Block = _call(member(part, name), join(path, name), calls)
            case "functionResponse":
                block = _response(member(part, name), join(path, name), responses)
            case "inlineData" | "fileData":
                block = _media(member(part, name), join(path, name))
            case "":
                block = _text(part, path, signature, weight)
            case _:
                block = Opaque(name, compact(part, path))
        if signature and is_model and not isinstance(block, Reasoning):
            found.append(Part(at, Reasoning("", True, weight)))
        found.append(Part(at, block))
    return found


def member(owner: Mapping[str, Any], name: str) -> Any:
    """The value under a JSON name or the name Python SDKs print; None for neither."""
    value = owner.get(name)
    return owner.get(_SNAKE.get(name, name)) if value is None else value


def key_of(part: Mapping[str, Any], name: str) -> str:
    """The name under which a part has a member."""
    return name if part.get(name) is not None else _SNAKE[name]


def has_id(owner: Mapping[str, Any]) -> bool:
    """Whether a native call or response names itself."""
    return bool(owner.get("id"))


def free_id(name: str, number: int) -> str:
    """The view's id of the `number`th call of that name, from 1, in a content."""
    return f"call:{name}" if number == 1 else f"call:{name}#{number}"


def free_number(call_id: str, name: str) -> int:
    """The number that `free_id` was given, 0 for an id it did not make."""
    if call_id == f"call:{name}":
        return 1
    number = call_id.removeprefix(f"call:{name}#")
    return int(number) if number != call_id and number.isdecimal() and len(number) < 9 else 0


def payload(response: Mapping[str, Any], text: str) -> dict[str, Any]:
    """What replaces the content of a response: the same word of success or failure, with `text`."""
    given = member(response, "response")
    given = given if isinstance(given, dict) else {}
    sole = next(iter(given)) if len(given) == 1 else ""
    key = "error" if given.get("error") else sole if sole in _PLAIN_KEYS[:2] else "output"
    return {key: text}


def _text(part: dict[str, Any], path: str, signature: str | None, weight: int) -> Block:
    if "text" not in part or part["text"] is None:
        if signature:
            return Reasoning("", True, weight)
        if not part.keys() - {"thought", "thoughtSignature", "thought_signature", "text"}:
            return Text("")  # a part that holds nothing
        name = next(k for k in part if k not in ("text", "thought", "thoughtSignature", "thought_signature"))
        return Opaque(name, compact(part, path))
    text = text_member(part, "text", path)
    if part.get("thought"):
        return Reasoning(text, bool(signature), weight)
    if signature and not text.strip():
        # The signature of an answer may come behind it, in a part without words.
        return Reasoning("", True, weight)
    return Text(text)


def _call(value: Any, path: str, seen: Counter[str]) -> ToolCall:
    call = as_object(value, path)
    name = named_member(call, "name", path)
    arguments = call.get("args")
    arguments = {} if arguments is None else as_object(arguments, f"{path}.args")
    return ToolCall(_call_id(call, name, path, seen), name, compact(arguments, f"{path}.args"))


def _response(value: Any, path: str, seen: Counter[str]) -> ToolResult:
    """Stored form: the string that is all of the response, else compact JSON of the response."""
    response = as_object(value, path)
    name = named_member(response, "name", path)
    given = response.get("response")
    body = {} if given is None else as_object(given, f"{path}.response")
    whole = next(iter(body.values())) if len(body) == 1 and next(iter(body)) in _PLAIN_KEYS else None
    text = whole if isinstance(whole, str) else compact(body, f"{path}.response")
    inner = response.get("parts")
    if not isinstance(inner, list | None):
        raise BadShape(f"{path}.parts", "must be a list of parts")
    media = tuple(_inner_media(inner or [], f"{path}.parts"))
    return ToolResult(_call_id(response, name, path, seen), text, bool(body.get("error")), media)


def _inner_media(parts: list[Any], path: str) -> list[Media]:
    found: list[Media] = []
    for index, value in enumerate(parts):
        part = as_object(value, f"{path}.{index}")
        given = [name for name in ("inlineData", "fileData") if member(part, name) is not None]
        found += [_media(member(part, name), f"{path}.{index}.{name}") for name in given]
    return found


def _call_id(owner: dict[str, Any], name: str, path: str, seen: Counter[str]) -> str:
    if has_id(owner):
        return text_member(owner, "id", path)
    seen[name] += 1
    return free_id(name, seen[name])


def _media(value: Any, path: str) -> Media:
    blob = as_object(value, path)
    mime = member(blob, "mimeType")
    kind = _kind(mime if isinstance(mime, str) else "")
    uri = member(blob, "fileUri")
    if uri is not None:
        if not isinstance(uri, str):
            raise BadShape(join(path, "fileUri"), "must be a string")
        return Media(kind, wire_size(uri))
    data = text_member(blob, "data", path)
    width, height = size_of(data) if kind == "image" else (0, 0)
    return Media(kind, wire_size(data), width, height)


def _kind(mime: str) -> MediaKind:
    match mime.partition("/")[0].lower():
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "application" | "text":
            return "document"
        case _:
            return "other"
