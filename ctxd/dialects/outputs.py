"""Which strings of a native message are what a tool said, in every dialect, and how to write others there.

Owns where outputs stand: results that a host gives, and those of tools a provider ran by itself and says in
plain text. Everything else of a message (words, calls, reasoning, signatures, ids, media) is out of
reach. Reads whatever shape is there; what is no output in it is none. Must not know why strings are changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ctxd.dialects.gemini_parts import free_id, member
from ctxd.dialects.openai_responses_items import OUTPUTS

Path: TypeAlias = tuple[str | int, ...]

_SEALED = frozenset(
    {
        "type",
        "signature",
        "thoughtSignature",
        "thought_signature",
        "cache_control",
        "media_type",
        "mime_type",
        "mimeType",
    }
)
_PLAIN = frozenset({"text", "content", "output", "result", "stdout", "stderr", "logs"})
"""Members that hold text of any kind: their names say nothing about it."""

_ANTHROPIC = frozenset(
    {"tool_result", "mcp_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result"}
)
_RESPONSES = {"mcp_call": ("output", "error"), "code_interpreter_call": ("outputs",)}
_LONG_KEY = 16


class Spot(NamedTuple):
    """One string of an output. `path` leads to it; with `is_key` it is the last name of the path itself.

    `name` is the member it stands under where that says something about it, else "".
    """

    call_id: str
    path: Path
    text: str
    name: str = ""
    is_key: bool = False


def has_outputs(dialect: str, message: Mapping[str, Any]) -> bool:
    """Whether a message holds any output. Cheap: content is not looked into."""
    return next(_roots(dialect, message), None) is not None


def spots(dialect: str, message: Mapping[str, Any]) -> list[Spot]:
    """All strings of all outputs of a message, in its own order."""
    found: list[Spot] = []
    for call_id, path, root in _roots(dialect, message):
        waiting: list[tuple[Path, Any]] = [(path, root)]
        while waiting:
            here, value = waiting.pop()
            if isinstance(value, str):
                name = here[-1] if len(here) > len(path) and isinstance(here[-1], str) else ""
                found.append(Spot(call_id, here, value, "" if name in _PLAIN else name))
            elif isinstance(value, list):
                waiting += [((*here, index), item) for index, item in reversed([*enumerate(value)])]
            elif isinstance(value, dict):
                open_members = [(name, item) for name, item in value.items() if not _is_sealed(value, name)]
                found += [
                    Spot(call_id, (*here, name), name, "", True)
                    for name, _ in open_members
                    if len(name) >= _LONG_KEY
                ]
                waiting += [((*here, name), item) for name, item in reversed(open_members)]
    return found


def with_strings(message: Mapping[str, Any], changed: Sequence[tuple[Spot, str]]) -> dict[str, Any]:
    """The message with other strings at these spots; what is not on the way there is the same object."""
    made: Any = message
    values = [change for change in changed if not change[0].is_key]
    keys = [change for change in changed if change[0].is_key]
    # Names last, the innermost first: a path is good as long as no name on it has changed.
    for spot, text in [*values, *sorted(keys, key=lambda change: -len(change[0].path))]:
        made = _put(made, spot.path, text, spot.is_key)
    return dict(made)


def _put(owner: Any, path: Path, text: str, is_key: bool) -> Any:
    step, rest = path[0], path[1:]
    if isinstance(owner, list):
        made = list(owner)
        made[int(step)] = _put(owner[int(step)], rest, text, is_key) if rest else text
        return made
    if not rest and is_key:
        return {text if name == step else name: item for name, item in owner.items()}
    return {**owner, step: _put(owner[step], rest, text, is_key) if rest else text}


def _is_sealed(owner: Mapping[str, Any], name: str) -> bool:
    """Whether a member is none of the tool's words: how a block is made, a seal, the data of media."""
    if name in _SEALED or name.startswith("encrypted"):
        return True
    value = owner[name]
    if name == "data":
        return any(kind in owner for kind in ("media_type", "mime_type", "mimeType"))
    is_link = name in ("image_url", "url", "file_data", "file_url")
    return is_link and isinstance(value, str) and value[:5].lower() == "data:"


def _roots(dialect: str, message: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    """Every output: the call it answers, where it stands, and what stands there."""
    match dialect:
        case "anthropic":
            content = message.get("content")
            for index, block in enumerate(content if isinstance(content, list) else ()):
                if isinstance(block, dict) and _text(block, "type") in _ANTHROPIC:
                    yield _text(block, "tool_use_id"), ("content", index, "content"), block.get("content")
        case "openai-chat":
            if message.get("role") in ("tool", "function"):
                call_id = _text(message, "tool_call_id") or f"function_call:{_text(message, 'name')}"
                yield call_id, ("content",), message.get("content")
        case "openai-responses":
            kind = _text(message, "type")
            if kind in OUTPUTS:
                call_id = _text(message, OUTPUTS[kind]) or _text(message, "id")
                yield call_id, ("output",), message.get("output")
            for name in _RESPONSES.get(kind, ()):
                yield _text(message, "id"), (name,), message.get(name)
        case "gemini":
            yield from _gemini(message)


def _gemini(message: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    parts = message.get("parts")
    seen: Counter[str] = Counter()
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        if not isinstance(part, dict):
            continue
        for key in ("functionResponse", "function_response"):
            response = part.get(key)
            if isinstance(response, dict):
                call_id = _text(response, "id")
                if not call_id:
                    name = _text(response, "name")
                    seen[name] += 1
                    call_id = free_id(name, seen[name])
                yield call_id, ("parts", index, key, "response"), response.get("response")
        for key in ("codeExecutionResult", "code_execution_result"):
            result = part.get(key)
            if isinstance(result, dict) and not member(part, "thoughtSignature"):
                yield "", ("parts", index, key, "output"), result.get("output")


def _text(owner: Mapping[str, Any], name: str) -> str:
    value = owner.get(name)
    return value if isinstance(value, str) else ""
