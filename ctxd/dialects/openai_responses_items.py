"""Reading Responses items: what each type is, and the block view of one.

Owns the item types. An item is a message, a call, the output of one, reasoning, or something the
provider did by itself (web search, code interpreter, MCP, a compaction): such items, references and
types that are not known are `Opaque` and the assistant's. Must not know laws, requests or edits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxd.dialects.base import BadShape
from ctxd.dialects.image_size import size_of
from ctxd.dialects.shape import as_object, compact, is_blank, join, named_member, text_member, wire_size
from ctxd.model.blocks import Block, Media, MessageView, Opaque, Reasoning, Role, Text, ToolCall, ToolResult

ENVELOPE_BYTES = 650
"""Bytes of encrypted reasoning that stand for nothing.

Measured on 108 items of a Codex session: (bytes - 650) / 4 is within 15 % of the reported tokens.
"""

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}

_COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})


class CallKind(NamedTuple):
    """A call type: its tool's name ("" where the item says it), where id and arguments are, its output."""

    name: str
    call_id: str
    arguments: tuple[str, ...]
    output: str


CALLS: dict[str, CallKind] = {
    "function_call": CallKind("", "call_id", ("arguments",), "function_call_output"),
    "custom_tool_call": CallKind("", "call_id", ("input",), "custom_tool_call_output"),
    "computer_call": CallKind("computer", "call_id", ("actions", "action"), "computer_call_output"),
    "local_shell_call": CallKind("local_shell", "call_id", ("action",), "local_shell_call_output"),
    "shell_call": CallKind("shell", "call_id", ("action",), "shell_call_output"),
    "apply_patch_call": CallKind("apply_patch", "call_id", ("operation",), "apply_patch_call_output"),
    "mcp_approval_request": CallKind("", "id", ("arguments",), "mcp_approval_response"),
}
"""Items that the host must answer, by type."""

OUTPUTS: dict[str, str] = {
    **{kind.output: "call_id" for kind in CALLS.values()},
    "mcp_approval_response": "approval_request_id",
}
"""Items that answer, by type, and the member that names the call."""


def item_type(item: Mapping[str, Any]) -> str:
    """The type; a message and an item reference may leave theirs out."""
    if item.get("type") is None:
        if "role" in item:
            return "message"
        if "id" in item:
            return "item_reference"
    return named_member(item, "type", "")


def read_item(item: Mapping[str, Any]) -> MessageView:
    """The view of an item. Raises BadShape."""
    kind = item_type(item)
    role, blocks = _read(item, kind)
    return MessageView(role, blocks, _item_id(item, kind))


def _read(item: Mapping[str, Any], kind: str) -> tuple[Role, tuple[Block, ...]]:
    if kind == "message":
        role = _ROLES.get(text_member(item, "role", ""))
        if role is None:
            raise BadShape("role", "must be user, assistant, system or developer")
        return role, _message(item)
    if kind in CALLS:
        return "assistant", (_call(item, CALLS[kind]),)
    if kind in OUTPUTS:
        return "tool", (_output(item, kind),)
    if kind == "reasoning":
        return "assistant", (_reasoning(item),)
    if kind in _COMPACTIONS:
        # Opaque beside what it weighs: it is no reasoning, and nothing is bound to it.
        sealed = Reasoning("", False, _sealed_bytes(item))
        return "assistant", (sealed, Opaque(kind, "{}"))
    return "assistant", (Opaque(kind, compact(item, "")),)


def _item_id(item: Mapping[str, Any], kind: str) -> str:
    """The id an item has of its own; a local shell's output and an approval name their call by `id`."""
    given = item.get("id")
    if kind in ("local_shell_call_output", "mcp_approval_request") or not isinstance(given, str):
        return ""
    return given


def output_call_id(item: Mapping[str, Any]) -> str:
    """The call an output answers. Raises BadShape. A local shell's may name it by `id` alone."""
    kind = item_type(item)
    if kind == "local_shell_call_output" and item.get("call_id") is None:
        return named_member(item, "id", "")
    return named_member(item, OUTPUTS[kind], "")


def is_blank_text(part: Mapping[str, Any]) -> bool:
    """True for a native text part that holds nothing to read."""
    return part["type"] in _TEXTS and is_blank(part[_TEXTS[part["type"]]])


def _message(item: Mapping[str, Any]) -> tuple[Block, ...]:
    content = item.get("content")
    if isinstance(content, str):
        return (Text(content),)
    if isinstance(content, list):
        return tuple([read_part(part, f"content.{index}") for index, part in enumerate(content)])
    wrong = "must be a string or a list of parts"
    raise BadShape("content", wrong if "content" in item else "is missing")


def _call(item: Mapping[str, Any], kind: CallKind) -> ToolCall:
    member = next((name for name in kind.arguments if item.get(name) is not None), kind.arguments[-1])
    if kind.name:
        if member not in item:
            raise BadShape(member, "is missing")
        arguments = compact(item[member], member)
    else:
        arguments = text_member(item, member, "")
    return ToolCall(
        call_id=named_member(item, kind.call_id, ""),
        name=kind.name or named_member(item, "name", ""),
        arguments=arguments,
    )


def _output(item: Mapping[str, Any], kind: str) -> ToolResult:
    """Stored form: a string as it is, text parts joined by a newline, anything else compact JSON."""
    call_id = output_call_id(item)
    match kind:
        case "mcp_approval_response":
            return ToolResult(call_id, compact({k: item.get(k) for k in ("approve", "reason")}, ""))
        case "computer_call_output":
            shot = read_part(item.get("output"), "output")
            media = (shot,) if isinstance(shot, Media) else ()
            return ToolResult(call_id, "" if media else compact(item["output"], "output"), media=media)
        case "apply_patch_call_output":
            said = item.get("output")
            text = "" if said is None else text_member(item, "output", "")
            return ToolResult(call_id, text, item.get("status") == "failed")
        case "shell_call_output":
            output = item.get("output")
            if not isinstance(output, list):
                raise BadShape("output", "must be a list" if "output" in item else "is missing")
            return ToolResult(call_id, compact(output, "output"), any(map(_has_failed, output)))
        case _:
            text, parts, blanks = read_output(item)
            return ToolResult(call_id, text, False, parts, blanks)


def _has_failed(chunk: Any) -> bool:
    outcome = chunk.get("outcome") if isinstance(chunk, dict) else None
    return isinstance(outcome, dict) and (outcome.get("type") == "timeout" or bool(outcome.get("exit_code")))


def read_output(item: Mapping[str, Any]) -> tuple[str, tuple[Media, ...], int]:
    """Stored form of an output, the media in it, and how many of its text parts are blank."""
    output = item.get("output")
    if isinstance(output, str):
        return output, (), 0
    if not isinstance(output, list):
        wrong = "must be a string or a list of parts"
        raise BadShape("output", wrong if "output" in item else "is missing")
    blocks = [read_part(part, f"output.{index}") for index, part in enumerate(output)]
    media = tuple([block for block in blocks if isinstance(block, Media)])
    texts = [block.text for block in blocks if isinstance(block, Text)]
    blanks = sum(map(is_blank_text, output))
    if len(texts) + len(media) == len(blocks):
        return "\n".join(texts), media, blanks
    others = [part for part, block in zip(output, blocks) if not isinstance(block, Media)]
    return compact(others, "output"), media, blanks


def _reasoning(item: Mapping[str, Any]) -> Reasoning:
    """Always signed: it goes back as it came, with the item it led to. It lapses when the user speaks again.

    The provider then takes it and leaves it out of the prompt (OpenAI, "Reasoning models"). Measured on the
    12 turns of a Codex session: the prompts were reported smaller by what it weighs, within 3 %.

    The text is the reasoning itself where the server gives it, else its summary. What is readable of
    sealed reasoning is part of it and not weighed twice.
    """
    text = "\n".join(_texts(item, "content") or _texts(item, "summary"))
    return Reasoning(text, True, max(0, _sealed_bytes(item) - wire_size(text)), lapses=True)


def _texts(item: Mapping[str, Any], member: str) -> list[str]:
    parts = item.get(member)
    if parts is None:
        return []
    if not isinstance(parts, list):
        raise BadShape(member, "must be a list")
    return [
        text_member(as_object(part, f"{member}.{index}"), "text", f"{member}.{index}")
        for index, part in enumerate(parts)
    ]


def _sealed_bytes(item: Mapping[str, Any]) -> int:
    sealed = item.get("encrypted_content")
    if not isinstance(sealed, str | None):
        raise BadShape("encrypted_content", "must be a string")
    return max(0, len(sealed or "") * 3 // 4 - ENVELOPE_BYTES)


_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Text parts, and the member their text is in."""


def read_part(value: Any, path: str) -> Block:
    """One content part. Types that are not known become `Opaque`. Raises BadShape with `path`."""
    part = as_object(value, path)
    kind = named_member(part, "type", path)
    match kind:
        case "input_text" | "output_text" | "text" | "refusal":
            return Text(text_member(part, _TEXTS[kind], path))
        case "input_image" | "computer_screenshot":
            return _image(part, path)
        case "input_file":
            return Media("document", wire_size(_first(part, ("file_data", "file_url", "file_id"), path)))
        case "input_audio":
            audio = as_object(part.get(kind), join(path, kind))
            return Media("audio", wire_size(text_member(audio, "data", join(path, kind))))
        case _:
            return Opaque(kind, compact(part, path))


def _image(part: dict[str, Any], path: str) -> Media:
    link = _first(part, ("image_url", "file_id"), path)
    width, height = size_of(link) if link[:5].lower() == "data:" else (0, 0)
    detail = part.get("detail")
    return Media("image", wire_size(link), width, height, detail if isinstance(detail, str) else "")


def _first(part: Mapping[str, Any], members: tuple[str, ...], path: str) -> str:
    """The first of these members that is given; it must be a string."""
    member = next((name for name in members if part.get(name) is not None), members[0])
    return text_member(part, member, path)
