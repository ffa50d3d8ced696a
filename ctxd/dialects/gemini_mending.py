"""Mending that only Gemini needs: one content for each turn, and responses whose order is their identity.

Must not know how parts are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ctxd.dialects.gemini_parts import parts_of
from ctxd.dialects.mending import Desk, Draft
from ctxd.dialects.rules.role_alternation import RoleAlternation


class Answer(NamedTuple):
    """A part of a user content. Of a response without an id, its function and which call of it it answers."""

    part: Any
    name: str = ""
    number: int = 0


def join_turns(desk: Desk) -> None:
    """Join neighbouring contents of one role; the first lends its other members."""
    broken = {violation.index: violation for violation in RoleAlternation().violations(desk.views)}
    if not broken:
        return
    turns: list[list[Draft]] = []
    for index, draft in enumerate(desk.drafts):
        if index in broken:
            desk.note(RoleAlternation.name, draft.source, "merge", broken[index].detail)
            turns[-1].append(draft)
        else:
            turns.append([draft])
    desk.drafts = [turn[0] if len(turn) == 1 else _join(desk, turn) for turn in turns]


def _join(desk: Desk, turn: Sequence[Draft]) -> Draft:
    members: dict[str, Any] = {}
    for draft in reversed(turn):
        members.update(draft.message)
    members["role"] = "model" if turn[0].view.role == "assistant" else "user"
    members["parts"] = [part for draft in turn for part in parts_of(draft.message)]
    return desk.draft(turn[0].source, members)


def in_order(answers: Sequence[Answer]) -> list[Any]:
    """The parts, responses without an id in the order of their calls: it says which is whose."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, answer in enumerate(answers):
        if answer.name:
            places[answer.name].append(place)
    parts = [answer.part for answer in answers]
    for taken in places.values():
        for place, source in zip(taken, sorted(taken, key=lambda at: answers[at].number)):
            parts[place] = answers[source].part
    return parts
