"""OpenAI Chat Completions and the servers that speak it: native messages to the block view, and edits.

Owns the message shape `{role, content, tool_calls, ...}`. Members and content parts that are not known are
handed through. Must not know tokens, sessions or what is worth editing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxd.dialects import mending
from ctxd.dialects.base import BadShape, Edit, Rule
from ctxd.dialects.mending import clean_results, leave_out, settle_results
from ctxd.dialects.openai_chat_parts import (
    ALONE,
    ROLES,
    Part,
    is_blank_text,
    read_parts,
    read_text_content,
)
from ctxd.dialects.rules.calls_answered import CallsAnswered
from ctxd.dialects.rules.calls_unique import CallsUnique
from ctxd.dialects.rules.content_present import ContentPresent
from ctxd.dialects.rules.results_first import ResultsFirst
from ctxd.dialects.rules.results_owned import ResultsOwned
from ctxd.dialects.rules.results_single import ResultsSingle
from ctxd.dialects.rules.tool_loop import ToolLoop
from ctxd.dialects.shape import as_object, compact, is_blank, named_member, valid_count
from ctxd.model.blocks import Media, MessageView, Role, Text, ToolCall
from ctxd.model.messages import Usage

MAX_REQUEST_BYTES = 50_000_000
"""Payload OpenAI takes in one request with images (provider document "Images and vision")."""


class OpenAIChat:
    """The `openai-chat` dialect. Stateless; `ctxd.dialects.base.Dialect` says what each method promises."""

    name = "openai-chat"
    max_request_bytes = MAX_REQUEST_BYTES

    def __init__(self) -> None:
        content, unique = ContentPresent("rows"), CallsUnique("message")
        self.rules: tuple[Rule, ...] = (
            content,
            unique,
            ResultsOwned("rows"),
            ResultsSingle("rows"),
            ResultsFirst("rows"),
            CallsAnswered("rows"),
            ToolLoop(),
        )
        self._steps: tuple[mending.Step, ...] = (
            leave_out(content),
            clean_results(content),
            leave_out(unique),
            settle_results("rows"),
        )

    def view(self, message: Mapping[str, Any]) -> MessageView:
        """Read one message. Raises BadShape: role unknown, content missing or wrong, a part unreadable.

        Only an assistant message may lack content: null, or absent beside calls, refusal, audio or reasoning.
        """
        parts = read_parts(as_object(message, ""))
        return MessageView(ROLES[message["role"]], tuple(part.block for part in parts))

    def check_system(self, system: Any) -> str:
        """Text of a list of system or developer messages, joined by newlines. Raises BadShape."""
        if not isinstance(system, list):
            raise BadShape("", "must be a list of system or developer messages")
        texts: list[str] = []
        for index, value in enumerate(system):
            message = as_object(value, str(index))
            if message.get("role") not in ("system", "developer"):
                raise BadShape(f"{index}.role", "must be system or developer")
            texts.append(read_text_content(message.get("content"), f"{index}.content"))
        return "\n".join(texts)

    def check_tools(self, tools: Sequence[Any]) -> list[str]:
        """Compact JSON of each tool. A tool has a type; a function tool names its function."""
        texts: list[str] = []
        for index, value in enumerate(tools):
            tool = as_object(value, str(index))
            if named_member(tool, "type", str(index)) == "function":
                function = as_object(tool.get("function"), f"{index}.function")
                named_member(function, "name", f"{index}.function")
            texts.append(compact(tool, str(index)))
        return texts

    def usage(self, usage: Mapping[str, Any]) -> Usage | None:
        """Prompt tokens as they are, cached ones inside (reports D.43).

        Where the prompt count is broken it is what the total leaves over the completion; None without either.
        """
        prompt, total = valid_count(usage.get("prompt_tokens")), valid_count(usage.get("total_tokens"))
        completion = valid_count(usage.get("completion_tokens")) or 0
        if prompt is None and total is None:
            return None
        details = usage.get("prompt_tokens_details")
        cached = valid_count(details.get("cached_tokens")) if isinstance(details, dict) else None
        rest = max(0, (total or 0) - completion)
        return Usage(rest if prompt is None else prompt, completion, total or 0, cache_read=cached or 0)

    def with_results(self, message: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """The content of a tool message replaced by a string; nothing else changes."""
        for result in self.view(message).results:
            if result.call_id in texts:
                return {**message, "content": texts[result.call_id]}
        return dict(message)

    def with_text(self, message: Mapping[str, Any], text: str) -> dict[str, Any]:
        """The content replaced by `text`, refusal and audio left out; calls, reasoning and the rest stay.

        Parts of an unknown type stay beside one text part. A tool message has no text of its own and comes
        back as it is. A blank `text` only takes away.
        """
        if ROLES[message["role"]] == "tool":
            return dict(message)
        edited = {k: v for k, v in message.items() if k != "audio"}
        if edited.get("refusal"):
            edited["refusal"] = None
        content = message.get("content")
        if not isinstance(content, list):
            return {**edited, "content": text}
        parts = [part for part in read_parts(message) if part.member == "content" and part.at != ALONE]
        return {**edited, "content": _with_text_part(content, parts, text) or ""}

    def without_media(self, message: Mapping[str, Any], note: str) -> dict[str, Any]:
        """Each image, file or audio part replaced by a text part; a spoken answer becomes text content."""
        if ROLES[message["role"]] == "tool":
            return dict(message)
        edited = dict(message)
        for part in read_parts(message):
            if not isinstance(part.block, Media):
                continue
            if part.member == "audio":
                del edited["audio"]
                edited["content"] = edited.get("content") or note
            else:
                fresh = {"type": "text", "text": note}
                edited["content"] = [
                    fresh if index == part.at else old for index, old in enumerate(edited["content"])
                ]
        return edited

    def make(self, role: Role, text: str) -> dict[str, Any]:
        return {"role": role, "content": text}

    def mend(
        self, messages: Sequence[Mapping[str, Any]], *, pending: bool
    ) -> tuple[list[Mapping[str, Any]], list[Edit]]:
        """See `Dialect.mend` and `ctxd.dialects.rules` for what is mended how.

        A stub is a tool message directly behind the assistant message.
        """
        return mending.mend(self, self._steps, messages, pending=pending)

    def without(self, message: Mapping[str, Any], blocks: frozenset[int]) -> dict[str, Any] | None:
        """The message without these parts; None when none would be left.

        A list that loses its last item goes with it: `content` becomes null, other members are deleted.
        """
        parts = read_parts(message)
        if len(blocks) == len(parts):
            return None
        edited = dict(message)
        for member in dict.fromkeys(parts[index].member for index in blocks):
            gone = {parts[index].at for index in blocks if parts[index].member == member}
            items = [] if ALONE in gone else [v for i, v in enumerate(message[member]) if i not in gone]
            if items:
                edited[member] = items
            elif member == "content":
                edited[member] = None
            else:
                del edited[member]
        return edited

    def without_blanks(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The tool message with blank text parts left out; one of nothing else becomes ""."""
        return {**message, "content": [part for part in message["content"] if not is_blank_text(part)] or ""}

    def results(self, message: Mapping[str, Any], blocks: frozenset[int]) -> list[Any]:
        """The message itself: a tool message holds its result and nothing else."""
        return [message]

    def stub(self, call: ToolCall, text: str, caller: Mapping[str, Any]) -> dict[str, Any]:
        """A tool message, or a function message for a legacy call."""
        if call.call_id == f"function_call:{call.name}":
            return {"role": "function", "name": call.name, "content": text}
        return {"role": "tool", "tool_call_id": call.call_id, "content": text}

    def lead(self, results: list[Any], following: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
        """Results are messages of their own."""
        return results if following is None else [*results, following]


def _with_text_part(content: list[Any], parts: list[Part], text: str) -> list[Any]:
    kept: list[Any] = []
    place = -1
    fresh: dict[str, Any] = {"type": "text", "text": text}
    for native, part in zip(content, parts):
        if isinstance(part.block, Text | Media):
            if place < 0 and native["type"] == "text":
                place, fresh = len(kept), {**native, "text": text}
            continue
        kept.append(native)
    if not is_blank(text):
        kept.insert(max(place, 0), fresh)
    return kept
