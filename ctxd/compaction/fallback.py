"""The deterministic plan: a replacement for the view, made without any model.

Order: summary, kept tail, active task (behaviour.md, section 5). Sizes are base tokens inside and
calibrated tokens at the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ctxd.compaction import constraints, gate, ledger
from ctxd.compaction.extract import Item, extract, fate
from ctxd.compaction.tail import Tail, choose_tail
from ctxd.core.fold import SessionState
from ctxd.core.units import Unit, divide
from ctxd.model.events import Elision, UnitFate
from ctxd.model.messages import Inserted
from ctxd.model.summary import Quote, SessionSummary

WORDS_SHARE = 40
"""Percent of the target the user's own words may take before they are chosen among."""

QUOTE_CHARS = 8_000
"""Characters of one user message that typed state carries; the log has the whole."""

ACTIVE_TASK = (
    "[The request being worked on, repeated because the messages after it were compacted. Steps recorded as "
    "done are done; do not repeat them.]\n\n"
)


class Insert(msgspec.Struct, frozen=True):
    """A message to make: its text and what it is."""

    text: str
    kind: Inserted


class Plan(msgspec.Struct, frozen=True):
    """What a checkpoint will say. `tail` is the view index from which messages are kept.

    `before`/`after` are calibrated tokens of the messages, `target` what `after` must not exceed
    but for mandatory state alone.
    """

    summary: Insert
    tail: int
    task: Insert | None
    task_first: bool
    elisions: tuple[Elision, ...]
    state: SessionSummary
    units: tuple[UnitFate, ...]
    quotes: tuple[Quote, ...]
    before: int
    after: int
    target: int


def plan(
    state: SessionState,
    items: Sequence[Item],
    *,
    window: int | None,
    keep_messages: int,
    count: Callable[[str], int],
    requested: int | None = None,
) -> Plan:
    """Plan the replacement of the whole view. Never fails; the caller judges `after`."""
    ratio = state.ratio
    units = divide([item.entry.facts for item in items])
    before = round(sum(item.entry.tokens for item in items) * ratio) + sum(item.entry.media for item in items)
    goal = gate.target(before, window, requested)
    budget = int(goal / ratio)
    tail = choose_tail(state, items, units, budget // 2, keep_messages, ratio=ratio, count=count)
    while True:
        made = _compose(state, items, units, tail, budget, count)
        cost = made.tokens + tail.tokens
        if cost <= budget or tail.first + 1 >= len(units):
            break
        tail = choose_tail(
            state,
            items,
            units,
            max(0, tail.tokens - (cost - budget)),
            0,
            ratio=ratio,
            count=count,
            least=tail.first + 1,
        )
    kept = {unit.start for unit in units[tail.first :]}
    clipped = {elision.message_id for elision in tail.elisions}
    return Plan(
        summary=Insert(made.text, "summary"),
        tail=units[tail.first].start if tail.first < len(units) else len(items),
        task=made.task,
        task_first=bool(units) and units[-1].open,
        elisions=tail.elisions,
        state=made.state,
        units=tuple(_fate(unit, items, unit.start in kept, clipped) for unit in units),
        quotes=made.quotes,
        before=before,
        after=round(cost * ratio) + tail.media,
        target=goal,
    )


class _Made(msgspec.Struct, frozen=True):
    text: str
    task: Insert | None
    state: SessionSummary
    quotes: tuple[Quote, ...]
    tokens: int


def _compose(
    state: SessionState,
    items: Sequence[Item],
    units: Sequence[Unit],
    tail: Tail,
    budget: int,
    count: Callable[[str], int],
) -> _Made:
    """Summary and active task for a given tail."""
    gone = list(units[: tail.first])
    start = units[tail.first].start if tail.first < len(units) else len(items)
    found = extract(items, gone, state)
    said = [
        _words(item) for item in items[:start] if item.entry.facts.user_turn and not item.entry.facts.inserted
    ]
    newest = next((i for i in range(len(items) - 1, -1, -1) if _is_request(items[i])), None)
    task: Insert | None = None
    if newest is not None and newest < start:
        task = Insert(ACTIVE_TASK + gate.clip_task(items[newest].view.text), "activeTask")
    elif newest is None and (carried := state.summary.constraints):
        task = Insert(ACTIVE_TASK + gate.clip_task(carried[-1].text), "activeTask")
    merged = ledger.merge(state.summary, msgspec.structs.replace(found, constraints=tuple(said)))
    merged = msgspec.structs.replace(
        merged, goal=merged.constraints[0].text[:400] if merged.constraints else ""
    )
    task_cost = count(task.text) + 4 if task else 0
    words = constraints.choose(_earlier(merged.constraints, task, said), budget * WORDS_SHARE // 100, count)
    text, cost = ledger.render(merged, words.quotes, budget - tail.tokens - task_cost - 4, count)
    return _Made(text, task, merged, words.quotes, cost + task_cost + 4)


def _words(item: Item) -> Quote:
    quote = Quote(text=item.view.text, message_id=item.entry.facts.id)
    return quote if len(quote.text) <= QUOTE_CHARS else constraints.clip(quote)


def _is_request(item: Item) -> bool:
    return item.entry.facts.user_turn and not item.entry.facts.inserted


def _earlier(quotes: Sequence[Quote], task: Insert | None, said: Sequence[Quote]) -> Sequence[Quote]:
    """Quotes to place: all but the one that the active task already shows whole."""
    if task is None or not quotes:
        return quotes
    whole = len(quotes[-1].text) <= gate.ACTIVE_TASK_CHARS
    return quotes[:-1] if whole else quotes


def _fate(unit: Unit, items: Sequence[Item], kept: bool, clipped: set[str]) -> UnitFate:
    if not kept:
        return fate(unit, items)
    ids = tuple(item.entry.facts.id for item in items[unit.start : unit.end])
    cut = next((message_id for message_id in ids if message_id in clipped), "")
    return UnitFate(message_ids=ids, fidelity="truncate" if cut else "full", handle=cut)
