"""The byte budget beside the token budget: a request can be small in tokens and too large to send.

Oldest media become placeholders with handles first, then the largest old outputs (behaviour.md,
section 2; reports D.51).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from ctxd.compaction.elision import elide
from ctxd.compaction.placeholder import size_of
from ctxd.core import epochs
from ctxd.core.fold import Entry, SessionState
from ctxd.core.units import divide
from ctxd.model.events import Elision
from ctxd.model.messages import ResultFacts

FILL = 9
"""Tenths of the limit a request is brought below, so that the next image does not exceed it again."""

WHOLE = ""
"""Call id of an elision that stands for a message's own media."""


def plan(
    state: SessionState,
    size: int,
    limit: int,
    *,
    count: Callable[[str], int],
    protected: Collection[str] = (),
) -> tuple[Elision, ...]:
    """Elisions that bring a request of `size` bytes below nine tenths of `limit`; () while it is below it.

    The newest message unit is left alone. May fall short where that unit alone is too large. Outputs of
    `protected` calls go last: a request above the limit cannot be sent at all.
    """
    if size <= limit:
        return ()
    over = size - limit * FILL // 10
    chosen: list[Elision] = []
    possible = sorted((*_media(state, count), *_outputs(state, count)), key=lambda e: e.call_id in protected)
    for elision in possible:
        if over <= 0:
            break
        if any(e.message_id == elision.message_id and e.call_id == elision.call_id for e in chosen):
            continue
        chosen.append(elision)
        over -= elision.saved_bytes
    return tuple(chosen)


def own_media(entry: Entry) -> tuple[int, int]:
    """Bytes and tokens of a message's media outside its tool results."""
    facts = entry.facts
    size = facts.media_bytes - sum(result.media_bytes for result in facts.results)
    tokens = facts.media_tokens - sum(result.media_tokens for result in facts.results)
    return size, tokens


def _old(state: SessionState) -> list[Entry]:
    """What may be shortened: entries before the newest unit that nothing pins."""
    units = divide([entry.facts for entry in state.view])
    held = epochs.held(state)
    old = state.view[: units[-1].start] if units else []
    return [entry for entry in old if not entry.facts.pinned and entry.facts.id not in held]


def _media(state: SessionState, count: Callable[[str], int]) -> Iterator[Elision]:
    for entry in _old(state):
        for result in entry.facts.results:
            if result.media and not _is_hidden(entry, result):
                call = state.call_of(result.call_id, entry.facts.id)
                made = elide(state, entry, result, call, "byteBudget", count)
                if made is not None:
                    yield made
        size, tokens = own_media(entry)
        if size > 0 and not any(e.call_id == WHOLE for e in entry.elided):
            note = (
                f"[An attachment of {size_of(size)} is not shown, too large for the request. "
                f'Kept whole; read it with recall {{"messageId": "{entry.facts.id}"}}]'
            )
            yield Elision(
                message_id=entry.facts.id,
                call_id=WHOLE,
                reason="byteBudget",
                placeholder=note,
                saved=-count(note),
                saved_bytes=size - len(note),
                saved_media=tokens,
            )


def _is_hidden(entry: Entry, result: ResultFacts) -> bool:
    return any(e.call_id == result.call_id and e.hides for e in entry.elided)


def _outputs(state: SessionState, count: Callable[[str], int]) -> list[Elision]:
    """Old outputs without media, the largest first."""
    found: list[Elision] = []
    for entry in _old(state):
        for result in entry.facts.results:
            if _is_hidden(entry, result):
                continue
            call = state.call_of(result.call_id, entry.facts.id)
            made = elide(state, entry, result, call, "byteBudget", count)
            if made is not None:
                found.append(made)
    return sorted(found, key=lambda e: -e.saved_bytes)
