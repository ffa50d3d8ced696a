"""From a plan to the messages of a replacement, and whether a provider would take them.

Pure but for new ids; runs in a worker thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxd.compaction import fallback
from ctxd.compaction.extract import Item
from ctxd.core.facts import Weigher, describe
from ctxd.core.fold import Entry
from ctxd.core.units import Unit, divide
from ctxd.dialects.refusal import refused
from ctxd.model.events import Kept, Placed, Replacement
from ctxd.model.messages import Native
from ctxd.service.rendering import encode
from ctxd.service.session import Session

MAX_MESSAGES = 4096
MAX_BYTES = 16 * 1024 * 1024
"""Bounds of a checkpoint (behaviour.md, section 5)."""


class Drafted(msgspec.Struct, frozen=True):
    """A plan with its messages. `bodies` are those of the placed, `shown` all plain text it shows."""

    plan: fallback.Plan
    replacement: tuple[Replacement, ...]
    bodies: tuple[bytes, ...]
    shown: str


def draft(
    session: Session,
    entries: Sequence[Entry],
    natives: Sequence[Native],
    weigher: Weigher,
    requested: int | None,
    extra: fallback.Extra,
) -> Drafted:
    """Plan the replacement of `entries` and make its messages: summary, pins, tail, files, task."""
    view = session.dialect.view
    items = [Item(entry, view(native.value)) for entry, native in zip(entries, natives, strict=True)]
    plan = fallback.plan(
        session.state,
        items,
        window=session.window().value,
        keep_messages=session.environment.settings.compaction.keep_messages,
        count=weigher.count,
        requested=requested,
        extra=extra,
    )
    bodies: list[bytes] = []

    def place(insert: fallback.Insert | None) -> list[Replacement]:
        if insert is None:
            return []
        value = session.dialect.make("user", insert.text)
        native = Native(raw=encode(value), value=value)
        facts = describe(session.environment.new_id("m"), native, view(value), weigher)
        bodies.append(native.raw)
        facts = msgspec.structs.replace(facts, inserted=insert.kind, user_turn=False)
        return [Placed(facts=facts, body=len(bodies) - 1)]

    summary = place(plan.summary)
    files = place(plan.restored)
    task = place(plan.task)
    pins: list[Replacement] = [Kept(message_id) for message_id in plan.pinned]
    tail: list[Replacement] = [Kept(item.entry.facts.id) for item in items[plan.tail :]]
    if plan.task_first:
        # Nothing may stand between a call that waits and the result to come.
        replacement = [*summary, *pins, *files, *task, *tail]
    else:
        replacement = [*summary, *pins, *tail, *files, *task]
    kept = [item.view.text for item in items if item.entry.facts.id in set(plan.pinned)]
    kept += [item.view.text for item in items[plan.tail :]]
    inserted = [insert.text for insert in (plan.summary, plan.restored, plan.task) if insert]
    return Drafted(plan, tuple(replacement), tuple(bodies), "\n".join([*inserted, *kept]))


def broken_rule(session: Session, entries: Sequence[Entry], natives: Sequence[Native], made: Drafted) -> str:
    """The rule a replacement would break beyond mending; "" when it is sendable."""
    by_id = {entry.facts.id: native for entry, native in zip(entries, natives, strict=True)}
    view = session.dialect.view
    views = [
        view(by_id[item.message_id].value)
        if isinstance(item, Kept)
        else view(msgspec.json.decode(made.bodies[item.body]))
        for item in made.replacement
    ]
    return next((violation.rule for violation in refused(session.dialect, views)), "")


def gone(
    session: Session, entries: Sequence[Entry], natives: Sequence[Native], made: Drafted
) -> tuple[list[Item], list[Unit]]:
    """What a draft lets go, for a model to summarise: disjoint from what it keeps."""
    kept = {item.message_id for item in made.replacement if isinstance(item, Kept)}
    view = session.dialect.view
    items = [Item(entry, view(native.value)) for entry, native in zip(entries, natives, strict=True)]
    units = divide([entry.facts for entry in entries])
    left = [
        unit
        for unit in units
        if entries[unit.start].facts.id not in kept and not entries[unit.start].facts.inserted
    ]
    return items, left
