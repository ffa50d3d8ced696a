"""A recording in another dialect, for a host that changes providers.

Owns carrying a whole recording over at once, so that ids fit together, and giving each step what became
of its messages. Sizes that were reported stay behind: another provider would have reported others.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from ctxd.dialects import registry as dialects
from ctxd.dialects.translate import carry, translate_system
from ctxd.importers.steps import (
    Boundary,
    DialectName,
    Message,
    Response,
    Results,
    Step,
    Transcript,
    UserInput,
)


def cross(transcript: Transcript, dialect: DialectName) -> tuple[Transcript, Counter[str]]:
    """The recording in `dialect`, and what could not cross, counted by kind. Itself where it is its own."""
    left: Counter[str] = Counter()
    if transcript.dialect == dialect:
        return transcript, left
    source, target = dialects.get(transcript.dialect), dialects.get(dialect)
    owners: list[int] = []
    messages: list[Message] = []
    for place, step in enumerate(transcript.steps):
        if not isinstance(step, Boundary):
            owners += [place] * len(step.messages)
            messages += step.messages
    carried = carry(messages, source, target)
    left.update(loss.what for loss in carried.losses)
    left.update({"tools": len(transcript.tools)} if transcript.tools else {})
    became: dict[int, list[Message]] = {}
    for message, index in zip(carried.messages, carried.sources, strict=True):
        became.setdefault(owners[index], []).append(message)
    system = transcript.system
    return (
        Transcript(
            format=transcript.format,
            dialect=dialect,
            name=transcript.name,
            model="",
            steps=tuple(_steps(transcript, became)),
            notes=transcript.notes,
            system=None if system is None else translate_system(system, source, target),
        ),
        left,
    )


def _steps(transcript: Transcript, became: dict[int, list[Message]]) -> list[Step]:
    """The steps of which something is left."""
    steps: list[Step] = []
    for place, step in enumerate(transcript.steps):
        messages = tuple(became.get(place, ()))
        match step:
            case Boundary():
                steps.append(msgspec.structs.replace(step, replacement=()))
            case _ if not messages:
                continue
            case Response():
                steps.append(Response(messages=messages, line=step.line))
            case UserInput() | Results():
                steps.append(msgspec.structs.replace(step, messages=messages))
    return steps
