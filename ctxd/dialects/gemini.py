"""The Gemini API: native contents to the block view, and edits of contents.

Owns the content shape `{role, parts}`. Signed parts (`thoughtSignature`) are never edited, and a signature
never moves to another part. Members and parts that are not known are handed through. Must not know tokens,
sessions or what is worth editing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ctxd.dialects import mending
from ctxd.dialects.base import BadShape, Edit, Rule
from ctxd.dialects.gemini_mending import Answer, in_order, join_turns
from ctxd.dialects.gemini_parts import (
    free_number,
    has_id,
    key_of,
    member,
    parts_of,
    payload,
    read_parts,
    role_of,
)
from ctxd.dialects.mending import leave_out, open_with_user, settle_results
from ctxd.dialects.rules.block_roles import BlockRoles
from ctxd.dialects.rules.calls_answered import CallsAnswered
from ctxd.dialects.rules.calls_unique import CallsUnique
from ctxd.dialects.rules.content_present import ContentPresent
from ctxd.dialects.rules.first_message import FirstMessage
from ctxd.dialects.rules.results_first import ResultsFirst
from ctxd.dialects.rules.results_owned import ResultsOwned
from ctxd.dialects.rules.results_single import ResultsSingle
from ctxd.dialects.rules.role_alternation import RoleAlternation
from ctxd.dialects.shape import as_object, compact, is_blank, named_member, valid_count
from ctxd.model.blocks import Media, MessageView, Role, Text, ToolCall, ToolResult
from ctxd.model.messages import Usage

MAX_REQUEST_BYTES = 20_000_000
"""A request with inline data may have 20 MB in all (provider document "Files API")."""


class Gemini:
    """The `gemini` dialect. Stateless; `ctxd.dialects.base.Dialect` says what each method promises."""

    name = "gemini"
    max_request_bytes = MAX_REQUEST_BYTES

    def __init__(self) -> None:
        roles, content, unique = BlockRoles(), ContentPresent("turns"), CallsUnique("turn")
        self.rules: tuple[Rule, ...] = (
            roles,
            content,
            RoleAlternation(),
            unique,
            ResultsOwned("turns"),
            ResultsSingle("turns"),
            ResultsFirst("turns"),
            CallsAnswered("turns"),
            FirstMessage(),
        )
        self._steps: tuple[mending.Step, ...] = (
            leave_out(roles),
            leave_out(content),
            # Joined before anything is paired: a turn's calls without ids are told apart by their order.
            join_turns,
            leave_out(unique),
            settle_results("turns"),
            open_with_user,
        )

    def view(self, message: Mapping[str, Any]) -> MessageView:
        """Read one content. Raises BadShape: role unknown, parts no list, a known part unreadable."""
        content = as_object(message, "")
        return MessageView(role_of(content), tuple([part.block for part in read_parts(content)]))

    def check_system(self, system: Any) -> str:
        """Text of a system instruction: a content of text parts, joined by newlines. Raises BadShape."""
        content = as_object(system, "")
        if not isinstance(content.get("parts"), list):
            raise BadShape("parts", "must be a list of text parts")
        texts: list[str] = []
        for part in read_parts({"parts": content["parts"]}):
            if not isinstance(part.block, Text):
                raise BadShape(f"parts.{part.at}", "must be text")
            texts.append(part.block.text)
        return "\n".join(texts)

    def check_tools(self, tools: Sequence[Any]) -> list[str]:
        """Compact JSON of each tool. Functions that a tool declares have names."""
        texts: list[str] = []
        for index, value in enumerate(tools):
            tool = as_object(value, str(index))
            declared = member(tool, "functionDeclarations")
            path = f"{index}.functionDeclarations"
            if not isinstance(declared, list | None):
                raise BadShape(path, "must be a list of functions")
            for place, function in enumerate(declared or []):
                named_member(as_object(function, f"{path}.{place}"), "name", f"{path}.{place}")
            texts.append(compact(tool, str(index)))
        return texts

    def usage(self, usage: Mapping[str, Any]) -> Usage | None:
        """Prompt tokens as they are, cached ones inside (reports D.43); the answer without its thoughts.

        Thoughts do not come back in the next request (measured on the bundled session), so the total,
        which has them, is no floor. Where the prompt count is broken it is what the total leaves.
        """
        prompt, total = valid_count(usage.get("promptTokenCount")), valid_count(usage.get("totalTokenCount"))
        said = valid_count(usage.get("candidatesTokenCount")) or 0
        if prompt is None and total is None:
            return None
        thought = valid_count(usage.get("thoughtsTokenCount")) or 0
        used = valid_count(usage.get("toolUsePromptTokenCount")) or 0
        cached = valid_count(usage.get("cachedContentTokenCount")) or 0
        rest = max(0, (total or 0) - said - thought - used)
        return Usage(rest if prompt is None else prompt, said, cache_read=cached)

    def with_results(self, message: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
        """The response object of the named results replaced by one with the text; attachments go with it."""
        parts = list(parts_of(message))
        for part in read_parts(message):
            if isinstance(part.block, ToolResult) and part.block.call_id in texts:
                key = key_of(parts[part.at], "functionResponse")
                response = {k: v for k, v in parts[part.at][key].items() if k != "parts"}
                response["response"] = payload(response, texts[part.block.call_id])
                parts[part.at] = {**parts[part.at], key: response}
        return {**message, "parts": parts}

    def with_text(self, message: Mapping[str, Any], text: str) -> dict[str, Any]:
        """All text and media replaced by one text part where the first of them stood; thoughts stay.

        Signed text goes whole, with its signature. A blank `text` only takes away.
        """
        spoken = {part.at for part in read_parts(message) if isinstance(part.block, Text | Media)}
        first = min(spoken, default=None)
        parts = parts_of(message)
        kept = [part for at, part in enumerate(parts) if at not in spoken]
        if not is_blank(text):
            calls = (at for at, part in enumerate(kept) if member(part, "functionCall") is not None)
            kept.insert(next(calls, len(kept)) if first is None else first, {"text": text})
        return {**message, "parts": kept}

    def without_media(self, message: Mapping[str, Any], note: str) -> dict[str, Any]:
        """Each inline or linked part replaced by a text part."""
        media = {part.at for part in read_parts(message) if isinstance(part.block, Media)}
        parts = [{"text": note} if at in media else part for at, part in enumerate(parts_of(message))]
        return {**message, "parts": parts}

    def make(self, role: Role, text: str) -> dict[str, Any]:
        return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}

    def mend(
        self, messages: Sequence[Mapping[str, Any]], *, pending: bool
    ) -> tuple[list[Mapping[str, Any]], list[Edit]]:
        """See `Dialect.mend` and `ctxd.dialects.rules` for what is mended how.

        A stub is a response among the first parts of the user content behind its call, or a content of
        its own. A list that would begin with the model gets a fixed user content in front.
        """
        return mending.mend(self, self._steps, messages, pending=pending)

    def without(self, message: Mapping[str, Any], blocks: frozenset[int]) -> dict[str, Any] | None:
        """The content without the parts of these blocks, signatures with them; None when none is left."""
        read = read_parts(message)
        gone = {read[index].at for index in blocks}
        kept = [part for at, part in enumerate(parts_of(message)) if at not in gone]
        return {**message, "parts": kept} if kept else None

    def without_blanks(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The content as it is: responses have no text parts."""
        return dict(message)

    def results(self, message: Mapping[str, Any], blocks: frozenset[int]) -> list[Any]:
        """The responses among these blocks, with their places among those of their name."""
        return [answer for index, answer in enumerate(_answers(message)) if index in blocks]

    def stub(self, call: ToolCall, text: str, caller: Mapping[str, Any]) -> Answer:
        """A response that is an error, under the call's own id where it has one."""
        response: dict[str, Any] = {"name": call.name, "response": {"error": text}}
        number = free_number(call.call_id, call.name)
        if number and any(_is_free(member(part, "functionCall"), call.name) for part in parts_of(caller)):
            return Answer({"functionResponse": response}, call.name, number)
        return Answer({"functionResponse": {"id": call.call_id, **response}})

    def lead(self, results: list[Any], following: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
        """Responses become the first parts of the user content that follows, else a content before it."""
        if following is None:
            return [{"role": "user", "parts": in_order(results)}]
        if role_of(following) != "user":
            return [{"role": "user", "parts": in_order(results)}, following]
        parts = in_order([*results, *_answers(following)])
        return [{**following, "role": "user", "parts": parts}]


def _is_free(call: Mapping[str, Any] | None, name: str) -> bool:
    return call is not None and call["name"] == name and not has_id(call)


def _answers(message: Mapping[str, Any]) -> list[Answer]:
    """The parts of a user content, which has one block for each."""
    seen: Counter[str] = Counter()
    found: list[Answer] = []
    for part in parts_of(message):
        response = member(part, "functionResponse")
        if response is None or has_id(response):
            found.append(Answer(part))
            continue
        seen[response["name"]] += 1
        found.append(Answer(part, response["name"], seen[response["name"]]))
    return found
