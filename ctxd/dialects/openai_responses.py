"""The Responses API of OpenAI: native items to the block view, and edits of items.

A native message is one item of `input`. What one response brought forth is several of them in a row,
and they belong together: reasoning, what it led to, parallel calls. Items and members that are not
known are handed through. Must not know tokens, sessions or what is worth editing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxd.dialects import mending
from ctxd.dialects.base import BadShape, Edit, Rule
from ctxd.dialects.mending import clean_results, leave_out, settle_results
from ctxd.dialects.openai_chat import MAX_REQUEST_BYTES
from ctxd.dialects.openai_responses_items import (
    CALLS,
    is_blank_text,
    item_type,
    output_call_id,
    read_item,
    read_part,
)
from ctxd.dialects.openai_responses_mending import settle_ids
from ctxd.dialects.rules.calls_answered import CallsAnswered
from ctxd.dialects.rules.calls_unique import CallsUnique
from ctxd.dialects.rules.content_present import ContentPresent
from ctxd.dialects.rules.items_unique import ItemsUnique
from ctxd.dialects.rules.reasoning_bound import ReasoningBound
from ctxd.dialects.rules.results_first import ResultsFirst
from ctxd.dialects.rules.results_owned import ResultsOwned
from ctxd.dialects.rules.results_single import ResultsSingle
from ctxd.dialects.rules.tool_loop import ToolLoop
from ctxd.dialects.shape import as_object, compact, is_blank, named_member, valid_count
from ctxd.model.blocks import Media, MessageView, Role, Text, ToolCall
from ctxd.model.messages import Usage

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
"""One pixel: what stands for a screenshot that is lost or left out, since a computer call takes no text."""

_FREE_FORM = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
"""Outputs that take any text."""


class OpenAIResponses:
    """The `openai-responses` dialect; `ctxd.dialects.base.Dialect` says what each method promises."""

    name = "openai-responses"
    max_request_bytes = MAX_REQUEST_BYTES

    def __init__(self) -> None:
        content, unique, bound = ContentPresent("items"), CallsUnique("request"), ReasoningBound()
        self.rules: tuple[Rule, ...] = (
            content,
            ItemsUnique(),
            unique,
            bound,
            ResultsOwned("items"),
            ResultsSingle("items"),
            ResultsFirst("items"),
            CallsAnswered("items"),
            ToolLoop(),
        )
        self._steps: tuple[mending.Step, ...] = (
            leave_out(content),
            clean_results(content),
            settle_ids,
            leave_out(unique),
            leave_out(bound),
            settle_results("items"),
        )

    def view(self, message: Mapping[str, Any]) -> MessageView:
        """Read one item. Raises BadShape: no type, a member of a known type missing or wrong."""
        return read_item(as_object(message, ""))

    def check_system(self, system: Any) -> str:
        """The instructions, a string. Raises BadShape for anything else."""
        if not isinstance(system, str):
            raise BadShape("", "must be a string")
        return system

    def check_tools(self, tools: Sequence[Any]) -> list[str]:
        """Compact JSON of each tool. A tool has a type; function and custom tools have a name."""
        texts: list[str] = []
        for index, value in enumerate(tools):
            tool = as_object(value, str(index))
            if named_member(tool, "type", str(index)) in ("function", "custom"):
                named_member(tool, "name", str(index))
            texts.append(compact(tool, str(index)))
        return texts

    def usage(self, usage: Mapping[str, Any]) -> Usage | None:
        """Input tokens as they are, cached ones inside (reports D.43); output tokens with reasoning.

        Reasoning goes back with the items of its turn, so it counts as said. Where the input count is
        broken it is what the total leaves over the output; None without either.
        """
        prompt, total = valid_count(usage.get("input_tokens")), valid_count(usage.get("total_tokens"))
        completion = valid_count(usage.get("output_tokens")) or 0
        if prompt is None and total is None:
            return None
        details = usage.get("input_tokens_details")
        cached = valid_count(details.get("cached_tokens")) if isinstance(details, dict) else None
        rest = max(0, (total or 0) - completion)
        return Usage(rest if prompt is None else prompt, completion, total or 0, cache_read=cached or 0)

    def with_results(self, message: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """The output replaced by text where the item takes text.

        A shell's becomes one chunk with the outcome it had, a screenshot one pixel; an approval stays.
        """
        for result in self.view(message).results:
            if result.call_id in texts:
                return {**message, **_said(message, texts[result.call_id])}
        return dict(message)

    def with_text(self, message: Mapping[str, Any], text: str) -> dict[str, Any]:
        """A message's text and media replaced by `text` where the first text stood; other items stay.

        Parts of an unknown type stay. A blank `text` only takes away.
        """
        if item_type(message) != "message":
            return dict(message)
        content = message["content"]
        if isinstance(content, str):
            return {**message, "content": text}
        kept: list[Any] = []
        fresh: dict[str, Any] = {"type": _text_type(message), "text": text}
        place = -1
        for native in content:
            block = read_part(native, "")
            if isinstance(block, Text | Media):
                if place < 0 and native["type"] == fresh["type"]:
                    # Annotations and log probabilities point into the old text.
                    gone = [member for member in ("annotations", "logprobs") if member in native]
                    fresh = {**native, "text": text, **{member: [] for member in gone}}
                    place = len(kept)
                continue
            kept.append(native)
        if not is_blank(text):
            kept.insert(max(place, 0), fresh)
        return {**message, "content": kept}

    def without_media(self, message: Mapping[str, Any], note: str) -> dict[str, Any]:
        """Each image, file or audio part of a message replaced by a text part."""
        if item_type(message) != "message" or isinstance(message["content"], str):
            return dict(message)
        fresh = {"type": _text_type(message), "text": note}
        return {
            **message,
            "content": [
                fresh if isinstance(read_part(part, ""), Media) else part for part in message["content"]
            ],
        }

    def make(self, role: Role, text: str) -> dict[str, Any]:
        """The short form of a message, which every server of this API takes."""
        return {"role": role, "content": text}

    def mend(
        self, messages: Sequence[Mapping[str, Any]], *, pending: bool
    ) -> tuple[list[Mapping[str, Any]], list[Edit]]:
        """See `Dialect.mend` and `ctxd.dialects.rules` for what is mended how.

        A stub is an output of the call's own type, directly behind the calls of its response.
        """
        return mending.mend(self, self._steps, messages, pending=pending)

    def without(self, message: Mapping[str, Any], blocks: frozenset[int]) -> dict[str, Any] | None:
        """The message item without these parts; None when none would be left, and for other items."""
        content = message.get("content")
        if item_type(message) != "message" or not isinstance(content, list):
            return None
        kept = [part for index, part in enumerate(content) if index not in blocks]
        return {**message, "content": kept} if kept else None

    def without_blanks(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The output with blank text parts left out; one of nothing else becomes ""."""
        return {**message, "output": [part for part in message["output"] if not is_blank_text(part)] or ""}

    def results(self, message: Mapping[str, Any], blocks: frozenset[int]) -> list[Any]:
        """The item itself: an output is an item of its own."""
        return [message]

    def stub(self, call: ToolCall, text: str, caller: Mapping[str, Any]) -> dict[str, Any]:
        """An output of the type that answers the call. An approval that was never given is denied."""
        kind = CALLS[item_type(caller)].output
        if kind == "mcp_approval_response":
            return {"type": kind, "approval_request_id": call.call_id, "approve": False, "reason": text}
        member = "id" if kind == "local_shell_call_output" else "call_id"
        stub = {"type": kind, member: call.call_id}
        if kind == "apply_patch_call_output":
            stub["status"] = "failed"
        return {**stub, **_said(stub, text)}

    def lead(self, results: list[Any], following: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
        """Outputs are items of their own."""
        return results if following is None else [*results, following]


def _text_type(message: Mapping[str, Any]) -> str:
    return "output_text" if message["role"] == "assistant" else "input_text"


def _said(item: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The members of an output that say `text`, in the shape its type takes."""
    output_call_id(item)
    match item_type(item):
        case kind if kind in _FREE_FORM or kind == "apply_patch_call_output":
            return {"output": text}
        case "shell_call_output":
            outcomes = [chunk.get("outcome") for chunk in item.get("output", ()) if isinstance(chunk, dict)]
            outcome = next((o for o in reversed(outcomes) if o), {"type": "exit", "exit_code": 1})
            return {"output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
        case "computer_call_output":
            return {"output": {"type": "computer_screenshot", "image_url": PIXEL}}
        case _:
            return {}
