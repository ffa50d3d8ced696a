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
    joined: list[Draft] = []
    for index, draft in enumerate(desk.drafts):
        if index not in broken:
            joined.append(draft)
            continue
        desk.note(RoleAlternation.name, draft.source, "merge", broken[index].detail)
        before = joined[-1]
        role = "model" if draft.view.role == "assistant" else "user"
        parts = [*parts_of(before.message), *parts_of(draft.message)]
        message = {**draft.message, **before.message, "role": role, "parts": parts}
        joined[-1] = desk.draft(before.source, message)
    desk.drafts = joined


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
