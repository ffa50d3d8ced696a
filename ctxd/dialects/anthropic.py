"""The Messages API of Anthropic: native messages to the block view, and edits of native messages.

Owns the message shape `{role, content}`. Roles are user, assistant and, between turns, system. The view
has one block for each content block; a string content is one text block. Everything unknown (block
types, members, extra members of the message) is handed through.

Must not know tokens, sessions or what is worth editing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxd.dialects import mending
from ctxd.dialects.anthropic_blocks import is_blank_text, read_block
from ctxd.dialects.anthropic_mending import as_blocks, place_system
from ctxd.dialects.base import BadShape, Edit, Rule
from ctxd.dialects.mending import clean_results, leave_out, open_with_user, settle_results
from ctxd.dialects.rules.block_roles import BlockRoles
from ctxd.dialects.rules.calls_answered import CallsAnswered
from ctxd.dialects.rules.calls_unique import CallsUnique
from ctxd.dialects.rules.content_present import ContentPresent
from ctxd.dialects.rules.first_message import FirstMessage
from ctxd.dialects.rules.last_thinking import LastThinking
from ctxd.dialects.rules.results_first import ResultsFirst
from ctxd.dialects.rules.results_owned import ResultsOwned
from ctxd.dialects.rules.results_single import ResultsSingle
from ctxd.dialects.rules.system_placement import SystemPlacement
from ctxd.dialects.rules.tool_loop import ToolLoop
from ctxd.dialects.shape import as_object, compact, is_blank, named_member, text_member, valid_count
from ctxd.model.blocks import Media, MessageView, Role, Text, ToolCall
from ctxd.model.messages import Usage

MAX_REQUEST_BYTES = 32_000_000
"""The Messages API takes 32 MB (provider document "Errors", `request_too_large`)."""

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


class Anthropic:
    """The `anthropic` dialect. Stateless; `ctxd.dialects.base.Dialect` says what each method promises."""

    name = "anthropic"
    max_request_bytes = MAX_REQUEST_BYTES

    def __init__(self) -> None:
        roles, content, thinking = BlockRoles(), ContentPresent("turns"), LastThinking()
        unique = CallsUnique("request")
        self.rules: tuple[Rule, ...] = (
            roles,
            content,
            SystemPlacement(),
            unique,
            thinking,
            ResultsOwned("turns"),
            ResultsSingle("turns"),
            ResultsFirst("turns"),
            CallsAnswered("turns"),
            ToolLoop(),
            FirstMessage(),
        )
        self._steps: tuple[mending.Step, ...] = (
            leave_out(roles),
            leave_out(content),
            clean_results(content),
            place_system,
            leave_out(unique),
            leave_out(thinking),
            settle_results("turns"),
            open_with_user,
        )

    def view(self, message: Mapping[str, Any]) -> MessageView:
        """Read one message. Raises BadShape: role unknown, content missing or wrong, a block unreadable."""
        value = as_object(message, "")
        role = _ROLES.get(text_member(value, "role", ""))
        if role is None:
            raise BadShape("role", "must be user, assistant or system")
        match value.get("content"):
            case str() as text:
                return MessageView(role, (Text(text),))
            case list() as blocks:
                try:
                    return MessageView(role, tuple([read_block(block, "") for block in blocks]))
                except BadShape:
                    # Once more, to say where.
                    read = [read_block(block, f"content.{index}") for index, block in enumerate(blocks)]
                    return MessageView(role, tuple(read))
            case _:
                wrong = "must be a string or a list of blocks"
                raise BadShape("content", wrong if "content" in value else "is missing")

    def check_system(self, system: Any) -> str:
        """Text of a system prompt: a string, or text blocks joined by a newline. Raises BadShape."""
        if isinstance(system, str):
            return system
        if not isinstance(system, list):
            raise BadShape("", "must be a string or a list of text blocks")
        texts: list[str] = []
        for index, block in enumerate(system):
            read = read_block(block, str(index))
            if not isinstance(read, Text):
                raise BadShape(f"{index}.type", "must be text")
            texts.append(read.text)
        return "\n".join(texts)

    def check_tools(self, tools: Sequence[Any]) -> list[str]:
        """Compact JSON of each tool. A tool has a name; a provider's own toolset at least a type."""
        texts: list[str] = []
        for index, value in enumerate(tools):
            tool = as_object(value, str(index))
            if "name" in tool or "type" not in tool:
                named_member(tool, "name", str(index))
            texts.append(compact(tool, str(index)))
        return texts

    def usage(self, usage: Mapping[str, Any]) -> Usage | None:
        """Prompt = input + cache creation + cache read (reports D.43).

        None without a valid input count or with a broken cache count, since the prompt is unknown then.
        """
        prompt = valid_count(usage.get("input_tokens"))
        written, read = (
            0 if usage.get(key) is None else valid_count(usage[key])
            for key in ("cache_creation_input_tokens", "cache_read_input_tokens")
        )
        if prompt is None or written is None or read is None:
            return None
        completion = valid_count(usage.get("output_tokens")) or 0
        return Usage(prompt + written + read, completion, cache_read=read, cache_write=written)

    def with_results(self, message: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """The content of the named results replaced by a string; nothing else changes."""
        content = message.get("content")
        if not isinstance(content, list):
            return dict(message)
        return {**message, "content": [_with_result(block, texts) for block in content]}

    def with_text(self, message: Mapping[str, Any], text: str) -> dict[str, Any]:
        """All text and media replaced by one text block, where the first text stood.

        Without one it stands behind results and thinking and before calls. Its `cache_control` stays, its
        citations go (they point into the old text). A blank `text` only takes away.
        """
        if isinstance(message.get("content"), str):
            return {**message, "content": text}
        kept: list[Any] = []
        fresh: dict[str, Any] = {"type": "text", "text": text}
        place = -1
        for native, block in zip(message["content"], self.view(message).blocks):
            if isinstance(block, Text | Media):
                if place < 0 and native["type"] == "text":
                    fresh = {**{k: v for k, v in native.items() if k != "citations"}, "text": text}
                    place = len(kept)
                continue
            kept.append(native)
        if place < 0:
            place = next((i for i, native in enumerate(kept) if native["type"] == "tool_use"), len(kept))
        if not is_blank(text):
            kept.insert(place, fresh)
        return {**message, "content": kept}

    def without_media(self, message: Mapping[str, Any], note: str) -> dict[str, Any]:
        """Each image or document outside results replaced by a text block; its cache mark stays."""
        content = message.get("content")
        if not isinstance(content, list):
            return dict(message)
        blocks = zip(content, self.view(message).blocks)
        replaced = [_noted(native, note) if isinstance(block, Media) else native for native, block in blocks]
        return {**message, "content": replaced}

    def make(self, role: Role, text: str) -> dict[str, Any]:
        return {"role": role, "content": text}

    def mend(
        self, messages: Sequence[Mapping[str, Any]], *, pending: bool
    ) -> tuple[list[Mapping[str, Any]], list[Edit]]:
        """See `Dialect.mend` and `ctxd.dialects.rules` for what is mended how.

        A stub is the first block of the user turn behind its call, or a user message of its own. A list
        that would begin with an assistant message gets a fixed user message in front.
        """
        return mending.mend(self, self._steps, messages, pending=pending)

    def without(self, message: Mapping[str, Any], blocks: frozenset[int]) -> dict[str, Any] | None:
        """The message without the blocks at these positions; None when none is left."""
        kept = [block for index, block in enumerate(as_blocks(message)) if index not in blocks]
        return {**message, "content": kept} if kept else None

    def without_blanks(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The message with blank text left out of its results; a result of nothing else becomes ""."""
        return {**message, "content": [_without_blanks(block) for block in message["content"]]}

    def results(self, message: Mapping[str, Any], blocks: frozenset[int]) -> list[Any]:
        """The native blocks at these positions."""
        return [block for index, block in enumerate(message["content"]) if index in blocks]

    def stub(self, call: ToolCall, text: str, caller: Mapping[str, Any]) -> dict[str, Any]:
        """A tool_result that is an error, as the API names a call that did not work."""
        return {"type": "tool_result", "tool_use_id": call.call_id, "content": text, "is_error": True}

    def lead(self, results: list[Any], following: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
        """Results become the first blocks of the user message that follows, else a message before it."""
        if following is None:
            return [{"role": "user", "content": results}]
        if following["role"] != "user":
            return [{"role": "user", "content": results}, following]
        return [{**following, "content": [*results, *as_blocks(following)]}]


def _with_result(block: Any, texts: Mapping[str, str]) -> Any:
    if block.get("type") == "tool_result" and block.get("tool_use_id") in texts:
        return {**block, "content": texts[block["tool_use_id"]]}
    return block


def _noted(block: dict[str, Any], note: str) -> dict[str, Any]:
    mark = {"cache_control": block["cache_control"]} if "cache_control" in block else {}
    return {"type": "text", "text": note, **mark}


def _without_blanks(block: dict[str, Any]) -> dict[str, Any]:
    content = block.get("content")
    if block.get("type") != "tool_result" or not isinstance(content, list):
        return block
    kept = [part for part in content if not is_blank_text(part)]
    return block if len(kept) == len(content) else {**block, "content": kept or ""}
