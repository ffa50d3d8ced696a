"""From a block view to facts: what a message weighs and what its calls were about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import msgspec

from ctxd.core.tools import KNOWN, Tools, nature
from ctxd.model.blocks import Media, MessageView, Opaque, Reasoning, Text, ToolCall, ToolResult
from ctxd.model.messages import CallFacts, FileFacts, FileOp, MessageFacts, Native, ResultFacts

MESSAGE_OVERHEAD = 4
"""Base tokens of framing per message (E §1)."""

CALL_OVERHEAD = 8
"""Base tokens of framing per tool call: wrapper, id and names of its members."""

RESULT_OVERHEAD = 5
"""Base tokens of framing per tool result: its id and wrapper."""

_PATCH_HEADER = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\r\"\\]+)")
"""A file that a patch names (E §6.4), in a JSON string or standing by itself."""

_PATCH = "*** Begin Patch"


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
    message_id: str,
    native: Native,
    view: MessageView,
    weigher: Weigher | None,
    *,
    media: Callable[[Media], int] | None = None,
    hidden: bool = False,
    tools: Tools = KNOWN,
) -> MessageFacts:
    """Facts of a message as it arrives. `tools` are those the host has beside the known ones.

    Without a weigher counting is deferred (`tokens` -1), and `media` weighs attachments.
    """
    tokens, sizes = -1, (-1,) * len(view.results)
    if weigher is not None:
        tokens, _, sizes = weigh(view, weigher)
        media = weigher.media
    media_tokens = media_bytes = 0
    signed = spoken = lapses = False
    for block in view.blocks:
        if isinstance(block, ToolResult):
            continue
        spoken = True
        if isinstance(block, Media):
            media_bytes += block.wire_bytes
            media_tokens += media(block) if media else 0
        elif isinstance(block, Reasoning):
            signed, lapses = signed or block.signed, lapses or block.lapses
    results: tuple[ResultFacts, ...] = ()
    if view.results:
        results = tuple([_result(result, size, media) for result, size in zip(view.results, sizes)])
        for result in results:
            if result.media:
                media_bytes += result.media_bytes
                media_tokens += result.media_tokens
    calls: tuple[CallFacts, ...] = ()
    files: tuple[FileFacts, ...] = ()
    if view.calls:
        calls = tuple([about(call, tools) for call in view.calls])
        files = tuple([file for call, known in zip(view.calls, calls) for file in _others(call, known)])
    return MessageFacts(
        id=message_id,
        role=view.role,
        bytes=len(native.raw),
        digest=hashlib.sha256(native.raw).hexdigest(),
        tokens=tokens,
        media_tokens=media_tokens,
        media_bytes=media_bytes,
        user_turn=spoken and view.role == "user" and not hidden,
        calls=calls,
        results=results,
        signed=signed,
        hidden=hidden,
        dialect=native.dialect,
        redacted=native.redacted,
        unscanned=native.unscanned,
        files=files,
        lapses=lapses and len(view.blocks) == 1,
        item=view.item,
    )


def about(call: ToolCall, tools: Tools = KNOWN) -> CallFacts:
    """What a call was about, from its arguments. Arguments that are no object say nothing."""
    effect, takes_file = nature(call.name, tools)
    arguments = _arguments(call.arguments)
    path = _first_text(
        arguments.file_path,
        arguments.file_path_camel,
        arguments.path,
        arguments.absolute_path,
        arguments.notebook_path,
        arguments.filename,
        arguments.file,
        arguments.target_file,
        arguments.target_file_camel,
        arguments.filepath,
        *_named(call.arguments, tools.paths),
    )
    if effect == "write":
        if arguments.command == "view":
            # An editor tool with a command for everything: looking at a file changes nothing.
            effect = "read"
        elif not path and (header := _PATCH_HEADER.search(call.arguments)):
            path = header[1].strip()
    elif not path and effect == "read" and (several := _list_of(arguments.paths)):
        path = several[0]
    span = _span(arguments)
    return CallFacts(
        call_id=call.call_id,
        name=call.name,
        effect=effect,
        path=path if takes_file else "",
        span=span,
        target=_target(arguments, path, span),
    )


def is_file_read(call: CallFacts) -> bool:
    """True when the call's result is a file's content."""
    return bool(call.path) and call.effect == "read"


def _others(call: ToolCall, known: CallFacts) -> list[FileFacts]:
    """The files of a call beside its first: of a patch or a list, and of a patch given to a shell."""
    if known.effect == "read":
        paths = _list_of(_arguments(call.arguments).paths) if known.path else []
    elif known.effect == "write" or _PATCH in call.arguments:
        paths = [header.strip() for header in _PATCH_HEADER.findall(call.arguments)]
    else:
        return []
    others = dict.fromkeys(path for path in paths if path != known.path)
    op: FileOp = "read" if known.effect == "read" else "edit"
    return [FileFacts(path, op, known.call_id) for path in others]


def _list_of(value: Any) -> list[str]:
    """Plain paths of a list; patterns are none."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str) and item and not re.search(r"[*?\[]", item)]


def _named(text: str, names: tuple[str, ...]) -> list[Any]:
    """The values of arguments that a host has of its own."""
    if not names:
        return []
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return []
    return [given.get(name) for name in names] if isinstance(given, dict) else []


def _result(result: ToolResult, tokens: int, media: Callable[[Media], int] | None) -> ResultFacts:
    stored = result.text.encode("utf-8", "surrogatepass")
    inside = result.media
    return ResultFacts(
        call_id=result.call_id,
        bytes=len(stored),
        tokens=tokens,
        digest="sha256:" + hashlib.sha256(stored).hexdigest(),
        is_error=result.is_error,
        media=len(inside),
        media_tokens=sum(map(media, inside)) if media and inside else 0,
        media_bytes=sum([item.wire_bytes for item in inside]) if inside else 0,
    )


class _Arguments(
    msgspec.Struct, gc=False, rename={"file_path_camel": "filePath", "target_file_camel": "TargetFile"}
):
    """The arguments that say what a call was about, by what tools call them (O §10, E §6.4).

    Paths stand most specific first. Nothing else is decoded.
    """

    file_path: Any = None
    file_path_camel: Any = None
    path: Any = None
    absolute_path: Any = None
    notebook_path: Any = None
    filename: Any = None
    file: Any = None
    target_file: Any = None
    target_file_camel: Any = None
    filepath: Any = None
    paths: Any = None
    view_range: Any = None
    start_line: Any = None
    offset: Any = None
    start: Any = None
    end_line: Any = None
    limit: Any = None
    command: Any = None
    cmd: Any = None
    script: Any = None
    pattern: Any = None
    query: Any = None
    regex: Any = None
    url: Any = None


_decode_arguments = msgspec.json.Decoder(_Arguments).decode
_NO_ARGUMENTS = _Arguments()


def _arguments(text: str) -> _Arguments:
    try:
        return _decode_arguments(text)
    except (msgspec.DecodeError, RecursionError):
        return _NO_ARGUMENTS
    except UnicodeEncodeError:
        return _arguments(text.encode("utf-8", "replace").decode())


def _first_text(*values: Any) -> str:
    for value in values:
        if isinstance(value, str) and value:
            return value
    return ""


def _span(arguments: _Arguments) -> str:
    """Line range in canonical form (O §10): `start-end`, with either side open."""
    view_range = arguments.view_range
    if isinstance(view_range, list) and len(view_range) == 2:
        return f"{view_range[0]}-{view_range[1]}"
    start: int | None = None
    for value in (arguments.start_line, arguments.offset, arguments.start):
        if isinstance(value, int):
            start = value
            break
    end, limit = arguments.end_line, arguments.limit
    if isinstance(end, int):
        return f"{start if start is not None else 1}-{end}"
    if isinstance(limit, int):
        first = start if start is not None else 1
        return f"{first}-{first + limit - 1}"
    return f"{start}-" if start is not None else ""


def _target(arguments: _Arguments, path: str, span: str) -> str:
    """One short line saying what the call was about (O §10's order: path, command, pattern, url)."""
    if path:
        return _clip(f"{path}:{span}" if span else path, 160)
    a = arguments
    for value, limit in (
        (a.command, 100),
        (a.cmd, 100),
        (a.script, 100),
        (a.pattern, 60),
        (a.query, 60),
        (a.regex, 60),
        (a.url, 100),
    ):
        if isinstance(value, list):
            value = " ".join([str(part) for part in value])
        if isinstance(value, str) and value:
            return _clip(value, limit)
    return ""


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit and "\n" not in text:
        return text
    return text.split("\n", 1)[0][:limit] + "…"
