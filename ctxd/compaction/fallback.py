"""The deterministic plan: a replacement for the view, made without any model.

Order: summary, kept tail, active task (behaviour.md, section 5). Sizes are base tokens inside and
calibrated tokens at the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from ctxd.compaction import constraints, gate, ledger, records, restoration, snapshots
from ctxd.compaction.extract import Item, extract, fate, fate_of_kept
from ctxd.compaction.tail import Tail, choose_tail, clip_unit
from ctxd.core import epochs
from ctxd.core.fold import SessionState
from ctxd.core.units import Unit, divide, join
from ctxd.model.events import Elision, UnitFate
from ctxd.model.messages import FileFacts, Inserted
from ctxd.model.summary import ExactRecord, PlanSnapshot, Quote, SessionSummary

WORDS_SHARE = 40
"""Percent of the target the user's own words may take, whatever else there is.

They may have more where the tail and the lists do not need it.
"""

BINDING_SHARE = 60
"""Percent of the target they may take where not all that binds fits; the tail gives way."""

LISTS_SHARE = 15
"""Percent of the target left to the other lists where the words could take all."""

BRIEF_TOKENS = 700
"""A target below this has a brief frame, and words may take all that the newest unit leaves."""

QUOTE_CHARS = 8_000
"""Characters of one user message that typed state carries; the log has the whole."""

ACTIVE_TASK = (
    "[The request being worked on, repeated because the messages after it were compacted. Steps recorded as "
    "done are done; do not repeat them.]\n\n"
)


class Insert(msgspec.Struct, frozen=True):
    """A message to make: its text, what it is, and the files it shows."""

    text: str
    kind: Inserted
    files: tuple[FileFacts, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """What a checkpoint will say. `tail` is the view index from which messages are kept.

    `quotes` are the words placed, `binding` all sentences of older messages that bind, placed or not.
    `pinned` are ids of older messages kept behind the summary. `before`/`after` are calibrated tokens
    of the messages, `target` what `after` must not exceed but for mandatory state alone.
    """

    summary: Insert
    tail: int
    task: Insert | None
    task_first: bool
    elisions: tuple[Elision, ...]
    state: SessionSummary
    units: tuple[UnitFate, ...]
    quotes: tuple[Quote, ...]
    binding: tuple[Quote, ...]
    before: int
    after: int
    target: int
    pinned: tuple[str, ...] = ()
    restored: Insert | None = None
    files: restoration.Restored = restoration.Restored()


class Extra(msgspec.Struct, frozen=True):
    """What a plan may be given beside the view.

    `digest` is a model's account of what leaves, checked and typed; without it facts are extracted, as
    they are of units that begin with an `unshown` message: the model did not see those.
    `recent` are files that may be shown again. `behind` is what stays behind a partial compaction, which
    keeps no tail of its own: a newer request, or only work on an older one. `held` are lines to place word
    for word: what a contract preserves. `cuts` are the indices where the provider's laws allow a cut; None
    allows one between any units.
    """

    digest: SessionSummary | None = None
    unshown: frozenset[str] = frozenset()
    recent: restoration.Recent = restoration.Recent()
    behind: Literal["request", "work"] | None = None
    held: tuple[str, ...] = ()
    cuts: frozenset[int] | None = None


def plan(
    state: SessionState,
    items: Sequence[Item],
    *,
    window: int | None,
    keep_messages: int,
    count: Callable[[str], int],
    requested: int | None = None,
    extra: Extra | None = None,
) -> Plan:
    """Plan the replacement of `items`, the view or its beginning. Never fails; the caller judges `after`."""
    extra = extra or Extra()
    ratio = state.ratio
    units = divide([item.entry.facts for item in items])
    before = round(sum(item.entry.tokens for item in items) * ratio) + sum(item.entry.media for item in items)
    goal = gate.target(before, window, requested)
    budget = int(goal / ratio)
    if extra.cuts is not None:
        units = _lawful(state, items, units, extra.cuts, budget, count)
    pins = pinned_units(state, items, units)
    share = budget // restoration.SHARE
    gainful = int(gate.most_for_gain(before) / ratio) - 1
    exact = records.collect_records(state.summary.exact_records, items)
    given = _Given(
        records=exact,
        plan=snapshots.follow(state.summary.plan, items),
        digest=records.leave_out(extra.digest, exact) if extra.digest else None,
        unshown=extra.unshown,
        held=extra.held,
        behind=extra.behind,
    )
    if extra.behind is not None:
        tail = Tail(len(units), 0, 0)
    else:
        tail = choose_tail(
            state,
            items,
            units,
            budget // 2,
            keep_messages,
            ratio=ratio,
            count=count,
            least=_behind_summary(items, units),
        )
    while True:
        kept_pins = [index for index in pins if index < tail.first]
        held = sum(items[i].entry.tokens for p in kept_pins for i in range(units[p].start, units[p].end))
        images = tail.media + sum(
            items[i].entry.media for p in kept_pins for i in range(units[p].start, units[p].end)
        )
        files = restoration.restore(extra.recent, _in_view(items, units, tail), share, count)
        most = min(budget, gainful) if files.files else budget
        room = most - files.tokens - held - round(images / ratio)
        final = not files.files and tail.first + 1 >= len(units)
        made = _compose(state, items, units, tail, kept_pins, room, budget, count, given, final=final)
        cost = made.tokens + tail.tokens + held + files.tokens
        over = cost + round(images / ratio) - most
        if over <= 0 or final:
            break
        if files.files:
            # Restored files can be read again; what was kept cannot be said again.
            share = files.tokens - over
            continue
        tail = choose_tail(
            state,
            items,
            units,
            max(0, tail.tokens + round(tail.media / ratio) - over),
            0,
            ratio=ratio,
            count=count,
            least=tail.first + 1,
        )
    kept = {unit.start for unit in units[tail.first :]} | {units[index].start for index in kept_pins}
    clipped = {elision.message_id for elision in tail.elisions}
    return Plan(
        summary=Insert(made.text, "summary"),
        tail=units[tail.first].start if tail.first < len(units) else len(items),
        task=made.task,
        task_first=bool(units) and units[-1].open,
        elisions=tail.elisions,
        state=made.state,
        units=tuple(
            fate_of_kept(unit, items, clipped, state) if unit.start in kept else fate(unit, items)
            for unit in units
        ),
        quotes=made.words.quotes,
        binding=made.words.held,
        before=before,
        after=round(cost * ratio) + images,
        target=goal,
        pinned=tuple(items[i].entry.facts.id for p in kept_pins for i in range(units[p].start, units[p].end)),
        restored=Insert(files.text, "restoredFiles", files.facts) if files.files else None,
        files=files,
    )


def pinned_units(state: SessionState, items: Sequence[Item], units: Sequence[Unit]) -> list[int]:
    """Indices of the units that hold something pinned: they are kept whole, whatever they cost."""
    held = epochs.held(state)
    return [
        index
        for index, unit in enumerate(units)
        if any(
            item.entry.facts.pinned or item.entry.facts.id in held for item in items[unit.start : unit.end]
        )
    ]


def _lawful(
    state: SessionState,
    items: Sequence[Item],
    units: list[Unit],
    cuts: frozenset[int],
    budget: int,
    count: Callable[[str], int],
) -> list[Unit]:
    """Units that begin at lawful cuts, unless the newest would then be too large to keep at all.

    A model that thought once for a very long tool loop leaves no lawful cut inside it; then a cut
    between units is the lesser evil (reports A.12).
    """
    joined = join(units, cuts)
    if not joined or joined[-1] == units[-1]:
        return joined
    newest = joined[-1]
    cost = sum(items[i].entry.tokens for i in range(newest.start, newest.end))
    cost -= sum(e.saved - shown for e, shown in clip_unit(state, items, newest, budget // 2, count))
    return joined if cost <= budget * 3 // 4 else units


def _in_view(items: Sequence[Item], units: Sequence[Unit], tail: Tail) -> restoration.InView:
    """What stays without a gap: of a file read before the tail, later edits might be missing."""
    kept = [item.entry for unit in units[tail.first :] for item in items[unit.start : unit.end]]
    return restoration.InView.of(kept, tail.elisions)


class _Made(msgspec.Struct, frozen=True):
    text: str
    task: Insert | None
    state: SessionSummary
    words: constraints.Words
    tokens: int


class _Given(msgspec.Struct, frozen=True):
    """What a summary shows whatever the tail: typed state found in all of the view."""

    records: tuple[ExactRecord, ...]
    plan: PlanSnapshot | None
    digest: SessionSummary | None
    unshown: frozenset[str]
    held: tuple[str, ...]
    behind: Literal["request", "work"] | None


def _compose(
    state: SessionState,
    items: Sequence[Item],
    units: Sequence[Unit],
    tail: Tail,
    pins: Sequence[int],
    room: int,
    budget: int,
    count: Callable[[str], int],
    given: _Given,
    *,
    final: bool,
) -> _Made:
    """Summary and active task for a given tail.

    `room` is what they and the tail may cost, `budget` the whole target. `final`: no other tail
    follows, so all must fit beside this one.
    """
    gone = [unit for index, unit in enumerate(units[: tail.first]) if index not in pins]
    start = units[tail.first].start if tail.first < len(units) else len(items)
    found = extract(items, gone, state)
    if given.digest is not None:
        unshown = [unit for unit in gone if items[unit.start].entry.facts.id in given.unshown]
        found = ledger.adopt(found, given.digest, extract(items, unshown, state))
    said = [
        _words(items[i])
        for unit in gone
        for i in range(unit.start, unit.end)
        if _is_request(items[i]) or _is_host(items[i])
    ]
    task: Insert | None = None
    asked = ""
    if tail.first < len(units) or tail.tokens or given.behind == "work":
        task, asked = _active_task(state, items, start)
    found = msgspec.structs.replace(
        found, constraints=tuple(said), exact_records=given.records, plan=given.plan
    )
    told = given.digest is not None and bool(given.digest.decisions)
    merged = ledger.merge(state.summary, found, told=told)
    order = state.positions
    quotes = sorted(merged.constraints, key=lambda q: order.get(q.message_id, -1))
    shown = {items[i].entry.facts.id for i in range(start, len(items))}
    newer = [_words(items[i]) for i in range(start, len(items)) if _is_request(items[i])]
    whole = next((q for q in quotes if q.message_id == asked and len(q.text) > gate.ACTIVE_TASK_CHARS), None)

    brief = budget < BRIEF_TOKENS
    plan = merged.plan is not None and merged.plan.message_id not in shown
    task_cost = count(task.text) + 4 if task else 0
    left = room - tail.tokens - task_cost - 4
    bare = msgspec.structs.replace(SessionSummary(), exact_records=merged.exact_records, plan=merged.plan)
    _, taken = ledger.render(bare, (), 0, count, given.held, brief=brief, plan=plan)

    def choose(most: int) -> constraints.Words:
        where = "" if whole else asked
        return constraints.choose(quotes, most, count, newer=newer, elsewhere=where, plain=brief)

    share = budget * WORDS_SHARE // 100
    rest = left - taken
    most = max(share, rest - (0 if brief else budget * LISTS_SHARE // 100))
    words = choose(most)
    binding = budget if brief else budget * BINDING_SHARE // 100
    if words.short and not final and binding > most:
        words = choose(binding)
    live = [quote for quote in words.carried if not quote.superseded_by]
    merged = msgspec.structs.replace(
        merged, constraints=words.carried, goal=live[0].text[:400] if live else ""
    )
    text, cost = ledger.render(
        merged, words.quotes, left, count, given.held, plain=words.plain, brief=brief, plan=plan
    )
    return _Made(text, task, merged, words, cost + task_cost + 4)


def _words(item: Item) -> Quote:
    quote = Quote(text=item.view.text, message_id=item.entry.facts.id)
    return quote if len(quote.text) <= QUOTE_CHARS else constraints.clip(quote)


def _is_request(item: Item) -> bool:
    """True when a person asks something in words; an image alone is reached by its handle."""
    return item.entry.facts.user_turn and not item.entry.facts.inserted and bool(item.view.text.strip())


def _behind_summary(items: Sequence[Item], units: Sequence[Unit]) -> int:
    """Index of the first unit behind the newest summary: no older one is kept beside it (reports A.1)."""
    summaries = (
        index + 1
        for index, unit in enumerate(units)
        if any(item.entry.facts.inserted == "summary" for item in items[unit.start : unit.end])
    )
    return max(summaries, default=0)


def _active_task(state: SessionState, items: Sequence[Item], start: int) -> tuple[Insert | None, str]:
    """The request being worked on where what stays from `start` on does not show it, and whose it is.

    What was said into the turn since is part of it, and no request of its own: with it goes what of that
    would not be shown either.
    """
    asking = [i for i, item in enumerate(items) if _is_request(item)]
    newest = next((i for i in reversed(asking) if not items[i].entry.facts.steered), -1)
    since = "\n\n".join([items[i].view.text for i in asking if newest < i < start])
    if newest >= start:
        return None, ""
    if newest >= 0:
        text = items[newest].view.text
        whole = f"{text}\n\n{since}" if since else text
        return Insert(ACTIVE_TASK + gate.clip_task(whole), "activeTask"), items[newest].entry.facts.id
    carried = _carried_task(state, items, start)
    if since and carried is not None:
        carried = Insert(gate.clip_task(f"{carried.text}\n\n{since}"), "activeTask")
    return carried, _newest_request(state.summary)


def _carried_task(state: SessionState, items: Sequence[Item], start: int) -> Insert | None:
    """The request that an earlier compaction repeated, word for word; None when the tail still shows it."""
    found = [i for i, item in enumerate(items) if item.entry.facts.inserted == "activeTask"]
    if found:
        return None if found[-1] >= start else Insert(items[found[-1]].view.text, "activeTask")
    carried = {quote.message_id: quote.text for quote in state.summary.constraints}
    asked = _newest_request(state.summary)
    return Insert(ACTIVE_TASK + gate.clip_task(carried[asked]), "activeTask") if asked else None


def _newest_request(summary: SessionSummary) -> str:
    """The message id of the newest words of a person that typed state carries; "" for none."""
    return next((q.message_id for q in reversed(summary.constraints) if not q.superseded_by), "")


def _is_host(item: Item) -> bool:
    """True when the host speaks inside the conversation."""
    facts = item.entry.facts
    speaks = facts.role in ("system", "developer") or facts.steered == "systemReminder"
    return speaks and not facts.inserted and bool(item.view.text.strip())
