"""Message units: the smallest runs that are kept or removed whole.

A unit is one message, or a tool turn: an assistant message with calls and everything that answers
it, however many calls (behaviour.md, "Words"). Assistant messages that follow signed reasoning in one
run belong to it: they are one response in several messages. Units are found from facts alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.messages import MessageFacts

UnitKind: TypeAlias = Literal["user", "assistant", "tools", "system"]


class Unit(msgspec.Struct, frozen=True):
    """Messages `start` up to but not including `end`. `open`: a call has no result yet."""

    start: int
    end: int
    kind: UnitKind
    open: bool = False


def divide(messages: Sequence[MessageFacts], start: int = 0) -> list[Unit]:
    """The units of `messages[start:]` in order; `start` must be where a unit begins.

    A message that answers calls and also says something new belongs to the tool turn: cutting
    inside it would tear the answer from its call.
    """
    units: list[Unit] = []
    index = start
    while index < len(messages):
        facts = messages[index]
        if facts.role == "assistant":
            unit = _said(messages, index)
            units.append(unit)
            index = unit.end
            continue
        kind: UnitKind
        match facts.role:
            case "system" | "developer":
                kind = "system"
            case "user" | "tool":
                kind = "user"
        units.append(Unit(index, index + 1, kind))
        index += 1
    return units


def _said(messages: Sequence[MessageFacts], start: int) -> Unit:
    """The unit of an assistant message: itself, or with signed reasoning all of its run from there."""
    stop = start + 1
    while messages[start].signed and stop < len(messages) and messages[stop].role == "assistant":
        stop += 1
    if not any(facts.calls for facts in messages[start:stop]):
        return Unit(start, stop, "assistant")
    end, unanswered = _tool_turn(messages, start)
    return Unit(start, max(stop, end), "tools", unanswered)


def _tool_turn(messages: Sequence[MessageFacts], start: int) -> tuple[int, bool]:
    """End of the tool turn that begins at `start`, and whether a call of it has no result.

    Neighbouring assistant messages make one turn, as providers join them. A result belongs to the turn
    up to the next one, whatever a person said meanwhile: it is moved to its call when sent.
    """
    calls: set[str] = set()
    answered: set[str] = set()
    index = end = start
    while index < len(messages) and messages[index].role == "assistant":
        made = {call.call_id for call in messages[index].calls}
        calls |= made
        index += 1
        end = index if made else end
    spoken = index
    while index < len(messages) and messages[index].role != "assistant":
        results = {result.call_id for result in messages[index].results} & calls
        answered |= results
        index += 1
        end = index if results else end
    # While a result is missing it may still come, behind whatever the assistant said after the call.
    return (end, False) if answered == calls else (max(end, spoken), True)


def join(units: Sequence[Unit], cuts: Collection[int]) -> list[Unit]:
    """Units joined so that each begins where a provider's laws allow a cut; `cuts` are message indices."""
    joined: list[Unit] = []
    for unit in units:
        if not joined or unit.start in cuts:
            joined.append(unit)
            continue
        before = joined[-1]
        kind: UnitKind = "tools" if "tools" in (before.kind, unit.kind) else unit.kind
        joined[-1] = Unit(before.start, unit.end, kind, before.open or unit.open)
    return joined
