"""Elision: which tool results give way to placeholders, and whether doing so is worth it.

E's snip and micro and O's tier 1 in one mechanism (behaviour.md, section 4). Only result content
is replaced; calls, ids, order and assistant text stay. Pressure decides, never a count alone
(reports E.62), except where the window is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias

import msgspec

from ctxd.compaction.placeholder import placeholder
from ctxd.core import epochs, paths
from ctxd.core.budget import Limits, part
from ctxd.core.facts import is_file_read
from ctxd.core.fold import Entry, SessionState
from ctxd.core.units import Unit, divide
from ctxd.model.events import ON_ARRIVAL, Elision, ElisionReason
from ctxd.model.messages import CallFacts, ResultFacts
from ctxd.model.settings import CacheOptions, ElisionOptions

Pass: TypeAlias = Literal["full", "oversizedOnly"]

STUB_BYTES = 256
"""A read result this small that follows a larger one, with no write between, is a "file unchanged" stub."""

_RANK: dict[ElisionReason, int] = {
    "superseded": 0,
    "stale": 1,
    "oversized": 2,
    "snipped": 3,
    "cacheExpired": 3,
}


class Candidate(msgspec.Struct, frozen=True):
    """A result that may give way. `rank` orders: reason, effect, age; `index` is its view position.

    `freed` is what eliding it now frees, base tokens: its head and tail, where it was spilled before.
    """

    elision: Elision
    index: int
    rank: tuple[int, int, int]
    freed: int


class Pressure(msgspec.Struct, frozen=True):
    """How full the next request is. `tokens` is the decisive projection, `ratio` tokens per base token."""

    tokens: int
    ratio: float
    limits: Limits | None
    calls: int
    """Provider calls so far; tells how fast the view grows."""


class Batch(msgspec.Struct, frozen=True):
    """Elisions worth making together. Tokens are calibrated; `first` is the first view index they touch."""

    elisions: tuple[Elision, ...]
    first: int
    saved: int
    rewritten: int
    break_even: int


def plan(
    state: SessionState,
    kind: Pass,
    pressure: Pressure,
    options: ElisionOptions,
    cache: CacheOptions,
    *,
    count: Callable[[str], int],
    expired: bool,
    protected: Collection[str] = (),
) -> Batch | None:
    """The batch to make now, or None.

    `expired` says the provider's cache has gone cold, so nothing is lost by rewriting it.
    `protected` are call ids that must stay whole.
    """
    limits = pressure.limits
    if not is_pressed(pressure, options):
        return None
    needed = None if limits is None else pressure.tokens - part(limits.available, options.target)
    chosen: list[Candidate] = []
    freed = 0.0
    for candidate in sorted(
        candidates(state, kind, options, count=count, expired=expired, protected=protected),
        key=lambda c: c.rank,
    ):
        if needed is not None and options.start_at > 0 and freed >= needed:
            break
        chosen.append(candidate)
        freed += _freed(candidate, pressure.ratio)
    if not chosen:
        return None
    batch = _weigh(state, chosen, pressure, cache)
    due = limits is not None and pressure.tokens >= limits.compaction
    return batch if expired or due or batch.break_even <= _expected_calls(pressure, options, cache) else None


def is_pressed(pressure: Pressure, options: ElisionOptions) -> bool:
    """Whether there is reason to look for results to elide at all. Constant time."""
    limits = pressure.limits
    full = limits is None or pressure.tokens >= part(limits.available, options.start_at)
    return options.enabled and full


def candidates(
    state: SessionState,
    kind: Pass,
    options: ElisionOptions,
    *,
    count: Callable[[str], int],
    expired: bool,
    protected: Collection[str] = (),
) -> list[Candidate]:
    """Every result that a rule names, in view order. Linear in the view; called under pressure only."""
    view = state.view
    facts = [entry.facts for entry in view]
    units = divide(facts)
    turns = [unit for unit in units if unit.kind == "tools"]
    newest = turns[-1].start if turns else len(view)
    snip_before = _start_of_newest(turns, options.keep_turns) if len(view) >= options.min_messages else 0
    if expired and len(view) >= options.cache_min_messages:
        snip_before = max(snip_before, _start_of_newest(turns, options.cache_keep_turns))
    snip_reason: ElisionReason = "cacheExpired" if expired else "snipped"
    working = working_set(state, options.recent_files)
    found: list[Candidate] = []
    held = epochs.held(state)
    for index, entry in enumerate(view[:newest]):
        if entry.facts.pinned or entry.facts.id in held:
            continue
        for order, result in enumerate(entry.facts.results):
            if result.call_id in protected or (entry.facts.id, result.call_id) in working.pinned:
                continue
            if any(e.call_id == result.call_id and e.reason not in ON_ARRIVAL for e in entry.elided):
                continue
            reason = _reason(state, entry, result, kind, options, working)
            if reason is None and kind == "full" and index < snip_before:
                reason = snip_reason
            if reason is None:
                continue
            call = state.call_of(result.call_id, entry.facts.id)
            elision = elide(state, entry, result, call, reason, count)
            if elision is not None:
                rank = (_RANK[reason], _effect_rank(result, call), index << 16 | order)
                found.append(Candidate(elision, index, rank, elision.saved - _shown(entry, result)))
    return found


def elide(
    state: SessionState,
    entry: Entry,
    result: ResultFacts,
    call: CallFacts | None,
    reason: ElisionReason,
    count: Callable[[str], int],
) -> Elision | None:
    """The elision of one result, or None where the placeholder would not be smaller.

    For the byte budget bytes are enough: a picture can be few tokens and many megabytes.
    """
    occurrence = state.results[result.call_id].index(entry.facts.id)
    text = placeholder(call, result, reason, occurrence=occurrence)
    saved = max(0, result.tokens) - count(text)
    saved_bytes = result.bytes - len(text.encode("utf-8", "replace")) + result.media_bytes
    frees_tokens = saved - _shown(entry, result) + result.media_tokens > 0
    if saved_bytes <= 0 or not (frees_tokens or reason == "byteBudget"):
        return None
    return Elision(
        message_id=entry.facts.id,
        call_id=result.call_id,
        reason=reason,
        placeholder=text,
        saved=saved,
        saved_bytes=saved_bytes,
        saved_media=result.media_tokens,
    )


class WorkingSet(msgspec.Struct, frozen=True):
    """`pinned`: (message id, call id) of reads that stay; `superseded`: of reads that are outdated."""

    pinned: frozenset[tuple[str, str]]
    superseded: frozenset[tuple[str, str]]


def working_set(state: SessionState, recent_files: int) -> WorkingSet:
    """Reads to keep and reads made redundant, by resolved path and success.

    A write is a touch. An error or an "unchanged" stub never supersedes content (O §11, weaknesses).
    """
    root = state.created.workspace if state.created else ""
    touched: dict[str, int] = {}
    written: dict[str, int] = {}
    reads: dict[tuple[str, str], list[tuple[str, ResultFacts]]] = {}
    read_at: dict[tuple[str, str], int] = {}
    newest_read: dict[str, tuple[str, str]] = {}
    order = 0
    for entry in state.view:
        for call in entry.facts.calls:
            if call.path:
                order += 1
                touched[paths.normalize(call.path, root, state.former)] = order
                if call.effect == "write":
                    written[paths.normalize(call.path, root, state.former)] = order
        for result in entry.facts.results:
            done = state.call_of(result.call_id, entry.facts.id)
            if done is None or not is_file_read(done) or result.is_error:
                continue
            path = paths.normalize(done.path, root, state.former)
            earlier = reads.setdefault((path, done.span), [])
            unwritten = written.get(path, 0) <= read_at.get((path, done.span), 0)
            if earlier and unwritten and result.bytes < min(STUB_BYTES, earlier[-1][1].bytes):
                continue
            earlier.append((entry.facts.id, result))
            read_at[(path, done.span)] = order
            newest_read[path] = (entry.facts.id, result.call_id)
    recent = sorted(touched, key=lambda path: touched[path], reverse=True)
    pinned = [newest_read[path] for path in recent if path in newest_read][:recent_files]
    superseded = [(mid, result.call_id) for group in reads.values() for mid, result in group[:-1]]
    return WorkingSet(frozenset(pinned), frozenset(superseded))


def _reason(
    state: SessionState,
    entry: Entry,
    result: ResultFacts,
    kind: Pass,
    options: ElisionOptions,
    working: WorkingSet,
) -> ElisionReason | None:
    if kind == "full":
        if (entry.facts.id, result.call_id) in working.superseded:
            return "superseded"
        if state.turn - entry.turn > options.stale_turns:
            return "stale"
    return "oversized" if result.bytes > options.oversized_bytes else None


def _shown(entry: Entry, result: ResultFacts) -> int:
    """Base tokens that an earlier elision of the result saves already."""
    return sum(e.saved for e in entry.elided if e.call_id == result.call_id)


def _freed(candidate: Candidate, ratio: float) -> float:
    """Calibrated tokens that a candidate frees."""
    return candidate.freed * ratio + candidate.elision.saved_media


def _effect_rank(result: ResultFacts, call: CallFacts | None) -> int:
    """Read-only success goes first, then writes and the rest, errors last."""
    if result.is_error:
        return 2
    return 0 if call is not None and call.effect == "read" else 1


def _start_of_newest(turns: Sequence[Unit], keep: int) -> int:
    return turns[-keep].start if len(turns) > keep else 0


def _weigh(
    state: SessionState, chosen: Sequence[Candidate], pressure: Pressure, cache: CacheOptions
) -> Batch:
    """What the batch saves and what rewriting the prefix behind its first edit costs (O §32)."""
    ordered = sorted(chosen, key=lambda c: c.rank[2])
    first = ordered[0].index
    saved = sum(_freed(candidate, pressure.ratio) for candidate in ordered)
    behind = sum(entry.tokens * pressure.ratio + entry.media for entry in state.view[first:]) - saved
    cost = max(0.0, behind) * (cache.write_premium - cache.read_factor)
    per_call = max(1e-9, saved * cache.read_factor)
    return Batch(
        elisions=tuple(c.elision for c in ordered),
        first=first,
        saved=round(saved),
        rewritten=round(max(0.0, behind)),
        break_even=-(-round(cost * 1000) // max(1, round(per_call * 1000))),
    )


def _expected_calls(pressure: Pressure, options: ElisionOptions, cache: CacheOptions) -> int:
    """Calls until the view is as full again, from how fast it has grown; the option while unknown."""
    if pressure.limits is None or pressure.calls < 2:
        return cache.expected_calls
    growth = max(1, pressure.tokens // pressure.calls)
    room = pressure.limits.compaction - part(pressure.limits.available, options.target)
    return max(cache.expected_calls, room // growth)
