"""From a block view to facts: what a message weighs and what its calls were about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from ctxd.model.blocks import Media, MessageView, Opaque, Reasoning, Text, ToolCall, ToolResult
from ctxd.model.messages import CallFacts, Effect, MessageFacts, Native, ResultFacts

MESSAGE_OVERHEAD = 4
"""Base tokens of framing per message (E §1)."""

CALL_OVERHEAD = 8
"""Base tokens of framing per tool call: wrapper, id and names of its members."""

RESULT_OVERHEAD = 5
"""Base tokens of framing per tool result: its id and wrapper."""

READ_TOOLS = frozenset(
    {
        "read",
        "read_file",
        "view",
        "view_file",
        "cat",
        "open_file",
        "notebookread",
        "grep",
        "glob",
        "search",
        "ls",
        "list",
        "list_dir",
        "list_files",
        "list_directory",
        "find",
        "websearch",
        "webfetch",
        "web_search",
        "web_fetch",
        "toolsearch",
        "codebase_search",
        "grep_search",
        "file_search",
        "search_files",
        "read_many_files",
        "memoryread",
        "recall",
        "recall_memory",
        "memory_read",
        "think",
    }
)
"""Tools that change nothing, by lower-cased name (E §5 and the hosts in the bundled transcripts)."""

WRITE_TOOLS = frozenset(
    {
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        "write_file",
        "edit_file",
        "diff_edit",
        "apply_patch",
        "applypatch",
        "create_file",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "replace",
        "insert_edit_into_file",
        "create",
        "edit_notebook_file",
        "search_replace",
        "write_to_file",
        "apply_diff",
        "memorywrite",
        "memory_write",
    }
)
"""Tools that write a file, by lower-cased name."""

FILE_READERS = frozenset(
    {"read", "read_file", "view", "view_file", "cat", "open_file", "notebookread", "open"}
)
"""Tools whose result is a file's content: the ones a later read can supersede."""

PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename", "file")
"""Argument names that carry the path, most specific first (O §10, E §6.4)."""


class Weigher(msgspec.Struct, frozen=True):
    """How to weigh text and media: `count` returns base tokens, `media` tokens by formula."""

    count: Callable[[str], int]
    media: Callable[[Media], int]


def weigh(view: MessageView, weigher: Weigher) -> tuple[int, int, tuple[int, ...]]:
    """Base tokens of the message, media tokens, and base tokens of each result's text in order."""
    tokens, media = MESSAGE_OVERHEAD, 0
    results: list[int] = []
    for block in view.blocks:
        match block:
            case Text(text=text):
                tokens += weigher.count(text)
            case Reasoning(text=text, opaque_bytes=opaque):
                # Encrypted reasoning is base64: 4 characters stand for 3 bytes of about one token each 4.
                tokens += weigher.count(text) + opaque // 4
            case ToolCall(name=name, arguments=arguments):
                tokens += weigher.count(name) + weigher.count(arguments) + CALL_OVERHEAD
            case ToolResult(text=text, media=inside):
                size = weigher.count(text)
                results.append(size)
                tokens += size + RESULT_OVERHEAD
                media += sum(weigher.media(item) for item in inside)
            case Media():
                media += weigher.media(block)
            case Opaque(json=json):
                tokens += weigher.count(json)
    return tokens, media, tuple(results)


def describe(
    message_id: str, native: Native, view: MessageView, weigher: Weigher | None, *, hidden: bool = False
) -> MessageFacts:
    """Facts of a message as it arrives. Without a weigher counting is deferred (`tokens` -1)."""
    tokens, media, sizes = weigh(view, weigher) if weigher else (-1, 0, (-1,) * len(view.results))
    return MessageFacts(
        id=message_id,
        role=view.role,
        bytes=len(native.raw),
        digest=hashlib.sha256(native.raw).hexdigest(),
        tokens=tokens,
        media_tokens=media,
        media_bytes=_media_bytes(view),
        user_turn=view.is_user_turn and not hidden,
        calls=tuple(about(call) for call in view.calls),
        results=tuple(
            _result(result, size, weigher) for result, size in zip(view.results, sizes, strict=True)
        ),
        signed=any(isinstance(b, Reasoning) and b.signed for b in view.blocks),
        hidden=hidden,
    )


def digest_of(text: str) -> str:
    """`sha256:<hex>` of a stored form. Lone surrogates are hashed as they are."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def about(call: ToolCall) -> CallFacts:
    """What a call was about, from its arguments. Arguments that are no object say nothing."""
    name = call.name.lower().rsplit("__", 1)[-1]
    arguments = _arguments(call.arguments)
    path = next((v for k in PATH_KEYS if isinstance(v := arguments.get(k), str) and v), "")
    span = _span(arguments)
    return CallFacts(
        call_id=call.call_id,
        name=call.name,
        effect=_effect(name),
        path=path if name in FILE_READERS or name in WRITE_TOOLS else "",
        span=span,
        target=_target(arguments, path, span),
    )


def is_file_read(call: CallFacts) -> bool:
    """True when the call's result is a file's content."""
    return bool(call.path) and call.effect == "read"


def _effect(name: str) -> Effect:
    if name in READ_TOOLS:
        return "read"
    return "write" if name in WRITE_TOOLS else "other"


def _result(result: ToolResult, tokens: int, weigher: Weigher | None) -> ResultFacts:
    return ResultFacts(
        call_id=result.call_id,
        bytes=len(result.text.encode("utf-8", "surrogatepass")),
        tokens=tokens,
        digest=digest_of(result.text),
        is_error=result.is_error,
        media=len(result.media),
        media_tokens=sum(weigher.media(item) for item in result.media) if weigher else 0,
        media_bytes=sum(item.wire_bytes for item in result.media),
    )


def _media_bytes(view: MessageView) -> int:
    total = 0
    for block in view.blocks:
        if isinstance(block, Media):
            total += block.wire_bytes
        elif isinstance(block, ToolResult):
            total += sum(item.wire_bytes for item in block.media)
    return total


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _span(arguments: dict[str, Any]) -> str:
    """Line range in canonical form (O §10): `start-end`, with either side open."""
    view_range = arguments.get("view_range")
    if isinstance(view_range, list) and len(view_range) == 2:
        return f"{view_range[0]}-{view_range[1]}"
    start = next(
        (v for k in ("start_line", "offset", "start") if isinstance(v := arguments.get(k), int)), None
    )
    end = arguments.get("end_line")
    limit = arguments.get("limit")
    if isinstance(end, int):
        return f"{start if start is not None else 1}-{end}"
    if isinstance(limit, int):
        first = start if start is not None else 1
        return f"{first}-{first + limit - 1}"
    return f"{start}-" if start is not None else ""


def _target(arguments: dict[str, Any], path: str, span: str) -> str:
    """One short line saying what the call was about (O §10's order: path, command, pattern, url)."""
    if path:
        return _clip(f"{path}:{span}" if span else path, 160)
    for keys, limit in (
        (("command", "cmd", "script"), 100),
        (("pattern", "query", "regex"), 60),
        (("url",), 100),
    ):
        for key in keys:
            value = arguments.get(key)
            if isinstance(value, list):
                value = " ".join(str(part) for part in value)
            if isinstance(value, str) and value:
                return _clip(value, limit)
    return ""


def _clip(text: str, limit: int) -> str:
    first = text.split("\n", 1)[0]
    return first if len(first) == len(text) <= limit else first[:limit] + "…"
