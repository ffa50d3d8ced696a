"""From a plan to the messages of a replacement, and whether a provider would take them.

Pure but for new ids; runs in a worker thread.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxd.compaction import fallback, preservation
from ctxd.compaction.extract import Item, read_item
from ctxd.core.facts import Weigher, describe
from ctxd.core.fold import Entry
from ctxd.core.units import Unit, divide
from ctxd.model.blocks import MessageView, Text, ToolCall, ToolResult
from ctxd.model.errors import CheckpointFailed
from ctxd.model.events import Kept, Placed, Replacement
from ctxd.model.messages import Native
from ctxd.service.laws import broken, cut_points
from ctxd.service.session import Session

MAX_MESSAGES = 4096
MAX_BYTES = 16 * 1024 * 1024
"""Bounds of a checkpoint (behaviour.md, section 5)."""


class Drafted(msgspec.Struct, frozen=True):
    """A plan with its messages. `bodies` are those of the placed, `shown` all plain text it shows.

    `preserved` counts what a contract declared, where there is one.
    """

    plan: fallback.Plan
    replacement: tuple[Replacement, ...]
    bodies: tuple[bytes, ...]
    shown: str
    preserved: preservation.Preserved | None = None


def draft(
    session: Session,
    entries: Sequence[Entry],
    natives: Sequence[Native],
    weigher: Weigher,
    requested: int | None,
    extra: fallback.Extra,
) -> Drafted:
    """Plan the replacement of `entries` and make its messages: summary, pins, tail, files, task.

    What a contract wants preserved and the plan would lose is put back as lines of the summary.
    """
    # Files that an earlier compaction showed are read again, or not shown; a handoff was for its epoch.
    kept = [
        (entry, native)
        for entry, native in zip(entries, natives, strict=True)
        if entry.facts.inserted not in ("restoredFiles", "handoff")
    ]
    items = [read_item(entry, session.view(native)) for entry, native in kept]

    def plan_with(extra: fallback.Extra) -> fallback.Plan:
        return fallback.plan(
            session.state,
            items,
            window=session.window().value,
            keep_messages=session.environment.settings.compaction.keep_messages,
            count=weigher.count,
            requested=requested,
            extra=extra,
        )

    cuts = cut_points([native for _, native in kept], [item.view for item in items], session.name_of)
    extra = msgspec.structs.replace(extra, cuts=cuts)
    plan = plan_with(extra)
    preserved = None
    contract = session.state.contract
    if contract is not None:
        before = preservation.references(contract, preservation.join(said(item.view) for item in items))
        lost = preservation.missing(before, _everything(plan, items))
        # What is put back takes room, so that more of what had stayed may have to go: until nothing is lost.
        while lost.artifacts or lost.invariants:
            plan = plan_with(msgspec.structs.replace(extra, held=preservation.lines(lost)))
            gone = preservation.missing(before, _everything(plan, items))
            if not (gone.artifacts or gone.invariants):
                break
            known, lost = lost, preservation.join_lost(before, lost, gone)
            if lost == known:
                raise CheckpointFailed("the contract cannot be preserved", hint="raise the target")
        preserved = preservation.count(before, lost)
    bodies: list[bytes] = []

    def place(insert: fallback.Insert | None) -> list[Replacement]:
        if insert is None:
            return []
        native = session.make(insert.text)
        facts = describe(session.environment.new_id("m"), native, session.view(native), weigher)
        bodies.append(native.raw)
        facts = msgspec.structs.replace(facts, inserted=insert.kind, user_turn=False, files=insert.files)
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
    return Drafted(plan, tuple(replacement), tuple(bodies), _words_shown(plan, items), preserved)


def said(view: MessageView) -> str:
    """Everything a message says: texts, calls with their arguments, results."""
    parts: list[str] = []
    for block in view.blocks:
        match block:
            case Text(text=text) | ToolResult(text=text):
                parts.append(text)
            case ToolCall(name=name, arguments=arguments):
                parts.append(f"{name} {arguments}")
            case _:
                pass
    return preservation.join(parts)


def _shown(plan: fallback.Plan, items: Sequence[Item]) -> list[Item]:
    pinned = set(plan.pinned)
    return [*(item for item in items if item.entry.facts.id in pinned), *items[plan.tail :]]


def _inserted(plan: fallback.Plan) -> list[str]:
    return [insert.text for insert in (plan.summary, plan.restored, plan.task) if insert]


def _words_shown(plan: fallback.Plan, items: Sequence[Item]) -> str:
    """What the new view says in plain words, for the audit of the user's own."""
    return preservation.join([*_inserted(plan), *(item.view.text for item in _shown(plan, items))])


def _everything(plan: fallback.Plan, items: Sequence[Item]) -> str:
    """All the new view says; results that are cut or elided count as they will be shown."""
    cut = {(e.message_id, e.call_id): e.placeholder for e in plan.elisions}
    texts = _inserted(plan)
    for item in _shown(plan, items):
        mid = item.entry.facts.id
        hidden = {e.call_id: e.placeholder for e in item.entry.elided}
        hidden |= {call: text for (owner, call), text in cut.items() if owner == mid}
        blocks = tuple(
            msgspec.structs.replace(b, text=hidden[b.call_id])
            if isinstance(b, ToolResult) and b.call_id in hidden
            else b
            for b in item.view.blocks
        )
        texts.append(said(msgspec.structs.replace(item.view, blocks=blocks)))
    return preservation.join(texts)


def broken_rule(session: Session, entries: Sequence[Entry], natives: Sequence[Native], made: Drafted) -> str:
    """The rule a replacement would break beyond mending; "" when it is sendable."""
    by_id = {entry.facts.id: native for entry, native in zip(entries, natives, strict=True)}
    after = [
        by_id[item.message_id]
        if isinstance(item, Kept)
        else Native(made.bodies[item.body], msgspec.json.decode(made.bodies[item.body]), item.facts.dialect)
        for item in made.replacement
    ]
    found = broken(after, [session.view(native) for native in after], session.name_of)
    return next((violation.rule for violation in found), "")


def gone(
    session: Session, entries: Sequence[Entry], natives: Sequence[Native], made: Drafted
) -> tuple[list[Item], list[Unit]]:
    """What a draft lets go, for a model to summarise: disjoint from what it keeps."""
    kept = {item.message_id for item in made.replacement if isinstance(item, Kept)}
    items = [read_item(entry, session.view(native)) for entry, native in zip(entries, natives, strict=True)]
    units = divide([entry.facts for entry in entries])
    left = [
        unit
        for unit in units
        if entries[unit.start].facts.id not in kept and not entries[unit.start].facts.inserted
    ]
    return items, left
