"""Which tool results are not shown as they came, decided as they are appended: cut, or sanitized.

The decision is part of the append's event, so that a session shows the same after a restart as live (E §12).
Does no IO; runs where messages are described.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ctxd.compaction.placeholder import clipped, fitted, placeholder
from ctxd.compaction.result_budget import ResultLimits, Wish, limits_for, share_out
from ctxd.core.facts import Weigher, weigh
from ctxd.core.fold import Entry
from ctxd.model.blocks import MessageView, ToolResult
from ctxd.model.events import Elision, ElisionReason
from ctxd.model.messages import CallFacts, MessageFacts, Native, ResultFacts
from ctxd.model.settings import RecallOptions
from ctxd.service.intake.sanitizing import Place, Said, as_shown
from ctxd.service.session import Session

NOTICE_BYTES = 256
"""What is kept free for a result that has yet to come: about the size of a placeholder."""


class Shortened(msgspec.Struct, frozen=True):
    """The facts, counted where something is shortened, and the elisions with the bytes of each result."""

    facts: list[MessageFacts]
    elisions: list[tuple[Elision, int]]


class _Arrival(msgspec.Struct, frozen=True):
    """A result as it arrives: `place` is its message's among the new ones, `occurrence` that of its id.

    `unscanned`: nobody could look for secrets in it, so nothing of it may stand in a placeholder.
    """

    place: int
    result: ResultFacts
    call: CallFacts | None
    occurrence: int
    unscanned: bool = False


class _Turn(msgspec.Struct):
    """The results of one assistant turn: bytes `shown` of earlier ones, calls that wait, and the new ones."""

    shown: int = 0
    waiting: int = 0
    answered: bool = False
    arrivals: list[_Arrival] = []


def result_limits(session: Session) -> ResultLimits:
    """What one result, and the results of one turn, may show in a session as it is now."""
    return limits_for(session.environment.settings.recall, session.window().value)


def may_shorten(session: Session, natives: Sequence[Native], views: Sequence[MessageView]) -> bool:
    """False where no result can be too large, judged by sizes of messages. Reads no session but its options.

    Turns that began before, or wait for more, may always hold one.
    """
    limits = result_limits(session)
    shown, waiting = 0, 0
    for native, view in zip(natives, views, strict=True):
        if view.results:
            if not waiting:
                return True
            shown, waiting = shown + len(native.raw), waiting - len(view.results)
            if len(native.raw) > limits.result or shown > limits.turn:
                return True
        if view.calls:
            shown, waiting = 0, max(0, waiting) + len(view.calls)
    return waiting > 0


def shorten(
    session: Session,
    facts: Sequence[MessageFacts],
    views: Sequence[MessageView],
    weigher: Weigher | None,
    said: Mapping[Place, Said],
) -> Shortened:
    """The elisions of results that are too large, alone or together, and of those of `said`, by their places.

    `facts` are the newest messages.
    """
    found = list(facts)
    elisions: list[tuple[Elision, int]] = []
    if not any(f.results for f in facts):
        return Shortened(found, elisions)
    limits, options = result_limits(session), session.environment.settings.recall
    for turn in _turns(session, facts):
        cut = [
            (arrival, as_shown(session, text), why)
            for arrival, text, why in _cut(turn, views, limits, options)
        ]
        gone = {(arrival.place, arrival.result.call_id) for arrival, _, _ in cut}
        marked: list[tuple[_Arrival, str, ElisionReason]] = [
            (arrival, said[key].text, "sanitized")
            for arrival in turn.arrivals
            if (key := (arrival.place, arrival.result.call_id)) in said and key not in gone
        ]
        for arrival, text, reason in [*cut, *marked]:
            assert weigher is not None, "whatever is shortened is counted at once"
            place = arrival.place
            if found[place].tokens < 0:
                tokens, _, sizes = weigh(views[place], weigher)
                found[place] = found[place].counted(tokens, sizes)
            result = _result(found[place], arrival.result.call_id)
            elision = Elision(
                message_id=facts[place].id,
                call_id=result.call_id,
                reason=reason,
                placeholder=text,
                saved=result.tokens - weigher.count(text),
                saved_bytes=result.bytes + result.media_bytes - _size(text),
                saved_media=result.media_tokens,
            )
            elisions.append((elision, result.bytes))
    return Shortened(found, elisions)


def _turns(session: Session, facts: Sequence[MessageFacts]) -> list[_Turn]:
    """The turns that new messages add results to, in order; the first may have begun before."""
    state = session.state
    turn = _begun(state.view)
    turns = [turn]
    calls: dict[str, CallFacts] = {}
    seen: dict[str, int] = {}
    for place, message in enumerate(facts):
        if message.calls:
            if turn.answered:
                turn = _Turn()
                turns.append(turn)
            turn.waiting += len(message.calls)
            calls.update({call.call_id: call for call in message.calls})
        for result in message.results:
            call_id = result.call_id
            occurrence = seen.get(call_id, len(state.results.get(call_id, ())))
            seen[call_id] = occurrence + 1
            call = calls.get(call_id) or state.call_of(call_id)
            turn.arrivals.append(_Arrival(place, result, call, occurrence, message.unscanned))
            turn.waiting -= 1
            turn.answered = True
    return [turn for turn in turns if turn.arrivals]


def _begun(view: Sequence[Entry]) -> _Turn:
    """The turn at the end of the view: what its results show, and how many of its calls wait."""
    turn = _Turn()
    place = len(view) - 1
    while place >= 0 and view[place].facts.results and not view[place].facts.calls:
        turn.shown += sum(_shown(view[place]))
        turn.waiting -= len(view[place].facts.results)
        turn.answered = True
        place -= 1
    while place >= 0 and view[place].facts.role == "assistant":
        turn.waiting += len(view[place].facts.calls)
        place -= 1
    return turn


def _shown(entry: Entry) -> Iterator[int]:
    """Bytes that the model sees of each result in a message."""
    hidden = {elision.call_id: elision.saved_bytes for elision in entry.elided}
    for result in entry.facts.results:
        saved = hidden.get(result.call_id)
        yield result.bytes if saved is None else result.bytes + result.media_bytes - saved


def _cut(
    turn: _Turn, views: Sequence[MessageView], limits: ResultLimits, options: RecallOptions
) -> Iterator[tuple[_Arrival, str, ElisionReason]]:
    """What stands for each result of a turn that is not shown whole, and why."""
    waiting = max(0, turn.waiting)
    sizes = [arrival.result.bytes for arrival in turn.arrivals]
    together = turn.shown + sum(sizes) + waiting * limits.result
    if max(sizes) <= limits.result and together <= limits.turn:
        return
    newest = None if waiting else turn.arrivals[-1]
    wishes = [_wish(a, limits, options, favoured=a is newest or a.result.is_error) for a in turn.arrivals]
    to_come = [Wish(limits.result, min(NOTICE_BYTES, limits.result))] * waiting
    given = share_out(limits.turn - turn.shown, [*wishes, *to_come])
    for arrival, most in zip(turn.arrivals, given[: len(wishes)], strict=True):
        size = arrival.result.bytes
        if size <= most:
            continue
        spilled = size > limits.result
        reason: ElisionReason = "spilled" if spilled else "turnBudget"
        head, tail = options.head_bytes, options.tail_bytes
        text = fitted(
            arrival.call,
            arrival.result,
            reason,
            _text(views[arrival.place], arrival.result.call_id),
            most_bytes=most,
            head_bytes=0 if arrival.unscanned else head if spilled else most * head // (head + tail),
            tail_bytes=0 if arrival.unscanned else tail if spilled else most,
            occurrence=arrival.occurrence,
        )
        if _size(text) < size:
            yield arrival, text, reason


def _wish(arrival: _Arrival, limits: ResultLimits, options: RecallOptions, *, favoured: bool) -> Wish:
    result = arrival.result
    least = _size(placeholder(arrival.call, result, "turnBudget", occurrence=arrival.occurrence))
    if result.bytes <= limits.result:
        return Wish(result.bytes, least, favoured)
    said = clipped(
        arrival.call, result, "spilled", "", head_bytes=0, tail_bytes=0, occurrence=arrival.occurrence
    )
    shown = _size(said) + NOTICE_BYTES // 16 + options.head_bytes + options.tail_bytes
    return Wish(min(limits.result, shown), least, favoured)


def _result(facts: MessageFacts, call_id: str) -> ResultFacts:
    return next(result for result in facts.results if result.call_id == call_id)


def _text(view: MessageView, call_id: str) -> str:
    return next(b.text for b in view.blocks if isinstance(b, ToolResult) and b.call_id == call_id)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
