"""Which result answers which call. The one analysis that every law about calls and results reads.

Three layouts exist. `turns` (Anthropic, Gemini): neighbouring messages of one role are one turn; results
stand first in the user turn behind the calls. `rows` (chat): every assistant message stands alone and its
results are tool messages directly behind it. `items` (Responses): neighbouring assistant items are one
response; its results are items directly behind it.

A span is one assistant turn with all that follows up to the next. A result belongs to the nearest span
at or before it that made a call of its id. Owns no verdicts: the rules judge what is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.blocks import MessageView, Role, ToolCall, ToolResult

Layout: TypeAlias = Literal["turns", "rows", "items"]
Place: TypeAlias = Literal["first", "behind", "late", "nowhere"]
"""`first`: directly behind its calls. `behind`: in its span, after other content. `late`: after another
assistant message. `nowhere`: no call of that id before it."""

ORPHAN = -1
"""`Answer.span` of a result without a call."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Assistant messages `first`..`end` (exclusive), and what follows them up to `stop` (exclusive)."""

    first: int
    end: int
    stop: int


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call and where it stands; the second of one id in a span is not listed."""

    span: int
    index: int
    call: ToolCall


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A result and where it stands. `repeats` tells a second answer of one call from the first."""

    span: int
    index: int
    block: int
    call_id: str
    place: Place
    repeats: Literal["", "same", "differing"] = ""


class Pairing(msgspec.Struct, frozen=True):
    """All of a list's calls and results. `pending` is the span whose calls may still be answered, or -1."""

    spans: tuple[Span, ...]
    calls: tuple[Call, ...]
    answers: tuple[Answer, ...]
    pending: int

    @property
    def unanswered(self) -> tuple[Call, ...]:
        """Calls no result belongs to, the pending ones included."""
        answered = {(a.span, a.call_id) for a in self.answers}
        return tuple(c for c in self.calls if (c.span, c.call.call_id) not in answered)


class Paired(tuple[MessageView, ...]):
    """A message list that is paired once, however many laws read it."""

    @cached_property
    def pairings(self) -> dict[Layout, Pairing]:
        """What `pair` has found so far."""
        return {}


def pair(messages: Sequence[MessageView], layout: Layout) -> Pairing:
    """Find every call's results, in time linear in the number of blocks.

    Messages without content are looked through: they are never sent.
    """
    if not isinstance(messages, Paired):
        return _pair(messages, layout)
    if layout not in messages.pairings:
        messages.pairings[layout] = _pair(messages, layout)
    return messages.pairings[layout]


def divide(messages: Sequence[MessageView], layout: Layout) -> Iterator[Span]:
    """The spans of a list. What stands before the first assistant message is in none."""
    index, length = 0, len(messages)
    while index < length:
        if messages[index].role != "assistant":
            index += 1
            continue
        first = index
        index += 1
        while layout != "rows" and index < length and messages[index].role == "assistant":
            index += 1
        end = index
        while index < length and messages[index].role != "assistant":
            index += 1
        yield Span(first, end, index)


def _pair(messages: Sequence[MessageView], layout: Layout) -> Pairing:
    carrier: Role = "user" if layout == "turns" else "tool"
    spans = tuple(divide(messages, layout))
    calls: list[Call] = []
    answers: list[Answer] = []
    owners: dict[str, int] = {}
    firsts: dict[tuple[int, str], ToolResult] = {}
    clean = False  # only results have been seen since the calls
    head = Span(0, 0, spans[0].first if spans else len(messages))
    for number, span in enumerate((head, *spans), start=-1):
        for index in range(span.first, span.end):
            for call in messages[index].calls:
                if owners.get(call.call_id) != number:
                    owners[call.call_id] = number
                    calls.append(Call(number, index, call))
        clean = True
        for index in range(span.end, span.stop):
            message = messages[index]
            if message.role != carrier:
                clean = clean and not message.blocks
                continue
            for block, result in enumerate(message.blocks):
                if not isinstance(result, ToolResult):
                    clean = False
                    continue
                call_id = result.call_id
                owner = owners.get(call_id, ORPHAN)
                place = _place(owner, number, clean=clean)
                answers.append(Answer(owner, index, block, call_id, place, _repeats(firsts, owner, result)))
    pending = len(spans) - 1 if spans and clean else -1
    return Pairing(spans, tuple(calls), tuple(answers), pending)


def _place(owner: int, span: int, *, clean: bool) -> Place:
    if owner == ORPHAN:
        return "nowhere"
    if owner != span:
        return "late"
    return "first" if clean else "behind"


def _repeats(
    firsts: dict[tuple[int, str], ToolResult], owner: int, result: ToolResult
) -> Literal["", "same", "differing"]:
    if owner == ORPHAN:
        return ""
    known = firsts.get((owner, result.call_id))
    if known is None:
        firsts[(owner, result.call_id)] = result
        return ""
    return "same" if known == result else "differing"
