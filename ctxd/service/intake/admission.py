"""Which messages a session takes: the laws of its dialect, applied to what is new.

Refused is exactly what `context/validate` calls refused for the view with the new messages behind it.
Only the older messages that can matter are read, so the work is proportional to what is new. Must not
know how messages are described or written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from ctxd.core.fold import SessionState
from ctxd.dialects import registry
from ctxd.dialects.base import BadShape, Dialect
from ctxd.dialects.refusal import refused
from ctxd.model.blocks import MessageView, ToolResult, Violation
from ctxd.model.errors import InvalidMessages
from ctxd.model.messages import Native
from ctxd.service.requests.rendering import carry_into
from ctxd.service.session import Session


class Named(msgspec.Struct, frozen=True):
    """The ids of calls that are made and answered, and of items, in some messages."""

    calls: frozenset[str]
    results: frozenset[str]
    items: frozenset[str]


class Past(msgspec.Struct, frozen=True):
    """Older messages that new ones are judged by, in order; "" is the id of a stand-in for others."""

    ids: tuple[str, ...]
    views: tuple[MessageView, ...]


def read_views(view: Any, natives: Sequence[Native], field: str = "messages") -> list[MessageView]:
    """Block views of native messages. Raises InvalidMessages naming every shape that is wrong.

    `field` is the parameter the messages came in.
    """
    views: list[MessageView] = []
    found: list[Violation] = []
    errors: list[dict[str, str]] = []
    for index, native in enumerate(natives):
        try:
            views.append(view(native.value))
        except BadShape as error:
            found.append(Violation("shape", index, error.message))
            path = f"{field}.{index}.{error.path}" if error.path else f"{field}.{index}"
            errors.append({"path": path, "message": error.message})
    if found:
        failure = _invalid(found)
        failure.facts["errors"] = errors
        raise failure
    return views


def named_by(views: Sequence[MessageView]) -> Named:
    """What these messages name."""
    return Named(
        calls=frozenset([call.call_id for view in views for call in view.calls]),
        results=frozenset([result.call_id for view in views for result in view.results]),
        items=frozenset([view.item for view in views if view.item]),
    )


async def recollect(session: Session, named: Named) -> Past:
    """The part of the view that decides about messages in which these ids are named.

    The newest assistant turn with the results behind it, and for every id that is named again the newest
    message that has it; of a call, with those that answered it. What lies between is a user message to the
    laws: it parts turns, and asks nothing. What came in another dialect was settled when the session went
    over, but for the ids of its calls, which new calls may not have.
    """
    state = session.state
    places = set(_newest_turn(state))
    made: set[int] = set()
    for call_id in named.calls:
        made.update(_owners(state, call_id))
    for call_id in named.results:
        places.update(_owners(state, call_id))
    for item in named.items:
        places.update([p for i in state.items.get(item, ()) if (p := state.places.get(i, -1)) >= 0])
    places |= made
    gap = _gap(session.dialect.name)
    if not places:
        return Past(("",), (gap,)) if state.view else Past((), ())
    natives = await session.natives([state.view[place].facts.id for place in sorted(places)])
    ids: list[str] = []
    read: list[MessageView] = []
    foreign: list[tuple[str, Native]] = []
    expected = 0
    for place, native in zip(sorted(places), natives):
        if session.name_of(native) != state.dialect:
            if place in made:
                foreign.append((state.view[place].facts.id, native))
            continue
        if place != expected:
            ids.append("")
            read.append(gap)
        ids.append(state.view[place].facts.id)
        read.append(session.dialect.view(native.value))
        expected = place + 1
    if expected != len(state.view):
        ids.append("")
        read.append(gap)
    if foreign:
        first = state.created.dialect if state.created else state.dialect
        said = [native.value for _, native in carry_into(session.dialect, foreign, first)[0]]
        read = [*map(session.dialect.view, said), gap, *read]
        ids = [""] * (len(said) + 1) + ids
    return Past(tuple(ids), tuple(read))


def refuse(dialect: Dialect, past: Past, views: Sequence[MessageView]) -> None:
    """Raises InvalidMessages naming everything among `views` that ctxd does not mend."""
    found = refusals(dialect, past, views)
    if found:
        raise _invalid(found)


def refusals(dialect: Dialect, past: Past, views: Sequence[MessageView]) -> list[Violation]:
    """Violations among `views` that ctxd does not mend, by index into them."""
    first = len(past.views)
    return [
        msgspec.structs.replace(v, index=v.index - first)
        for v in refused(dialect, [*past.views, *views])
        if v.index >= first
    ]


def find_repeats(past: Past, views: Sequence[MessageView]) -> dict[int, str | int]:
    """Messages that say nothing but results given before, each the same: index to the first giving.

    The first giving is a message id, or an index into `views`. Such messages are dropped with a warning
    (protocol.md, section 10); results that differ are the laws' to refuse.
    """
    given: dict[str, tuple[ToolResult, str | int]] = {}
    called: set[str] = set()
    repeats: dict[int, str | int] = {}
    known: list[tuple[str | int, MessageView]] = [*zip(past.ids, past.views), *enumerate(views)]
    for source, view in known:
        for call in view.calls:
            called.add(call.call_id)
            given.pop(call.call_id, None)
        if not view.results:
            continue
        if isinstance(source, int) and (first := _first_giving(view, given)) is not None:
            repeats[source] = first
            continue
        for result in view.results:
            if result.call_id in called:
                given.setdefault(result.call_id, (result, source))
    return repeats


@cache
def _gap(name: str) -> MessageView:
    dialect = registry.get(name)
    return dialect.view(dialect.make("user", "others"))


def _invalid(violations: Sequence[Violation]) -> InvalidMessages:
    return InvalidMessages.of([msgspec.structs.asdict(violation) for violation in violations])


def _first_giving(view: MessageView, given: Mapping[str, tuple[ToolResult, str | int]]) -> str | int | None:
    results = view.results
    if len(results) != len(view.blocks):
        return None
    known = [given.get(result.call_id) for result in results]
    if any(old is None or old[0] != result for old, result in zip(known, results)):
        return None
    return known[0][1] if known[0] else None


def _newest_turn(state: SessionState) -> list[int]:
    """Places of the newest assistant messages and of the results behind them."""
    view, place = state.view, state.newest_assistant
    found: list[int] = []
    while place >= 0 and view[place].facts.role == "assistant":
        found.append(place)
        place -= 1
    if any(view[place].facts.calls for place in found):
        found += [p for p in range(found[0] + 1, len(view)) if view[p].facts.results]
    return found


def _owners(state: SessionState, call_id: str) -> list[int]:
    """Places of the newest message of the view that made this call, and of its answers."""
    found: list[int] = []
    made = -1
    for message_id, _ in reversed(state.calls.get(call_id, ())):
        if message_id in state.places:
            made = state.places[message_id]
            found.append(made)
            break
    for message_id in reversed(state.results.get(call_id, ())):
        place = state.places.get(message_id, -1)
        if place < made:
            break
        found.append(place)
    return [place for place in found if place >= 0]
