"""The model view as bytes to send: elisions applied, provider rules mended, nothing else touched.

Messages in another dialect than the session speaks now are translated, all that stand together at once.

Kept up incrementally. Before the newest assistant turn nothing can change any more between two changes
of the view (results for older turns are refused), so only what follows is rendered again; prompt caches
live on that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import msgspec

from ctxd.compaction.byte_budget import WHOLE
from ctxd.core.fold import Entry, SessionState
from ctxd.dialects import registry
from ctxd.dialects.base import Dialect, Edit
from ctxd.dialects.crossing.pieces import LossKind
from ctxd.dialects.translate import carry
from ctxd.model.blocks import Role
from ctxd.model.messages import Native

BLOCK_BYTES = 64 * 1024
"""Closed messages are joined in blocks of at least this size."""

_SURROGATE = re.compile(rb"\\u[dD][89abAB]")
_LONE = re.compile("[\ud800-\udfff]")


class Shown(msgspec.Struct, frozen=True):
    """One message of a request: its JSON, and the id of the view entry it comes from ("" if synthesized)."""

    message_id: str
    raw: bytes


class Lost(msgspec.Struct, frozen=True):
    """Something of a message that did not cross into another dialect; see `ctxd.dialects.translate`."""

    message_id: str
    what: LossKind
    detail: str


class Side(msgspec.Struct, frozen=True):
    """Whose a rendered message is, and the id of the view entry it begins with, "" where that is unknown."""

    role: Role
    begins: str


Told: TypeAlias = tuple[str, Native]
"""A message and the id of what it shows, "" where it shows no single message's beginning."""


class Rendering:
    """The rendered view of one session."""

    def __init__(self) -> None:
        self.abridged: dict[tuple[str, frozenset[str]], Native | None] = {}
        self._closed: list[Shown] = []
        self._blocks: list[bytes] = []
        self._blocked = 0
        self._entries = 0
        self._generation = -1
        self._lost: list[Lost] = []
        self.lost: list[Lost] = []
        """What of the messages just rendered did not cross into the session's dialect."""

    def stale(self, state: SessionState) -> list[str]:
        """Ids of the view entries whose bodies `render` needs, oldest first."""
        self._check(state)
        return [entry.facts.id for entry in state.view[self._entries :]]

    def render(
        self, state: SessionState, natives: Sequence[Native], pending: Sequence[Native] = ()
    ) -> tuple[list[Shown], list[Edit]]:
        """The whole request. `natives` are the bodies `stale` asked for, `pending` follows the view."""
        self._check(state)
        entries = state.view[self._entries :]
        first = state.created.dialect if state.created else state.dialect
        target = registry.get(state.dialect)
        told: list[Told] = [
            (entry.facts.id, _show(registry.get(native.dialect or first), entry, native))
            for entry, native in zip(entries, natives, strict=True)
        ]
        told += [("", native) for native in pending]
        roles: dict[str, Role] = {}
        lost: list[Lost] = []
        if state.is_mixed:
            told, lost = carry_into(target, told, first)
        else:
            roles = {entry.facts.id: entry.facts.role for entry in entries}
        tail, sides, edits = self._mend(target, told, roles)
        request = [*self._closed, *tail]
        self.lost = [*self._lost, *lost]
        if not pending:
            self._close(entries, state.dialect, first, tail, sides)
        return request, edits

    def texts(self, shown: Sequence[Shown]) -> list[bytes]:
        """The JSON of a request just rendered. Closed messages come many in one, joined by commas.

        So an answer with the whole view copies what is new of it.
        """
        size = 0
        for place in range(self._blocked, len(self._closed)):
            size += len(self._closed[place].raw)
            if size >= BLOCK_BYTES:
                block = self._closed[self._blocked : place + 1]
                self._blocks.append(b",".join([item.raw for item in block]))
                self._blocked, size = place + 1, 0
        return [*self._blocks, *[item.raw for item in shown[self._blocked :]]]

    def _close(
        self, entries: Sequence[Entry], name: str, first: str, tail: Sequence[Shown], sides: Sequence[Side]
    ) -> None:
        """Keep what stands before the newest assistant turn, if it is known which message that begins with.

        Messages that are translated together stay together.
        """
        start = len(tail)
        while start > 0 and sides[start - 1].role != "assistant":
            start -= 1
        newest = start
        while start > 0 and sides[start - 1].role == "assistant":
            start -= 1
        if start == newest or not sides[start].begins:
            return
        places = {entry.facts.id: place for place, entry in enumerate(entries)}
        place = places[sides[start].begins]
        if any((entry.facts.dialect or first) != name for entry in entries[place:]):
            return
        self._closed.extend(tail[:start])
        self._entries += place
        # What is left was said in the session's own dialect, of which nothing is lost.
        self._lost = self.lost

    def _check(self, state: SessionState) -> None:
        if self._generation != state.generation or self._entries > len(state.view):
            self._generation = state.generation
            self._entries = 0
            self._closed = []
            self._blocks, self._blocked = [], 0
            self._lost = []

    def _mend(
        self, dialect: Dialect, told: Sequence[Told], roles: Mapping[str, Role]
    ) -> tuple[list[Shown], list[Side], list[Edit]]:
        """Mend what follows the closed part; the messages, whose they are, the edits.

        `roles` by message id are those that need not be read again.
        """
        values: list[Mapping[str, Any]] = [native.value for _, native in told]
        known = {id(native.value): (message_id, native.raw) for message_id, native in told}
        closed = 1 if self._closed else 0
        anchored = [dialect.make("user", "start"), *values] if closed else values
        mended, edits = dialect.mend(anchored, pending=True)
        firsts = {id(part): message_id for message_id, native in told if (part := _first_part(native.value))}
        shown: list[Shown] = []
        sides: list[Side] = []
        for value in mended[closed:]:
            message_id, raw = known.get(id(value), ("", b""))
            shown.append(Shown(message_id, raw or encode(value)))
            begins = message_id or firsts.get(id(_first_part(value)), "")
            sides.append(Side(roles.get(message_id) or dialect.view(value).role, begins))
        return shown, sides, edits


def _first_part(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first object of the first list in a message; edits keep it as the object it is."""
    found = next((member for member in value.values() if isinstance(member, list) and member), [None])[0]
    return found if isinstance(found, dict) else None


def carry_into(target: Dialect, told: Sequence[Told], first: str) -> tuple[list[Told], list[Lost]]:
    """The messages as ones of `target`, as yet unmended, and what is lost of those that were not.

    Those that were are the same objects. `first` is the dialect of messages that name none. A call whose id
    an earlier one has gets another.
    """
    carried: list[Told] = []
    lost: list[Lost] = []
    taken: set[str] = set()
    for name, run in groupby(told, key=lambda one: one[1].dialect or first):
        together = list(run)
        if name == target.name:
            carried += together
            taken.update([call.call_id for _, own in together for call in target.view(own.value).calls])
            continue
        values = [_clean(native.value) for _, native in together]
        made = carry(values, registry.get(name), target, taken=taken)
        before = -1
        for value, source in zip(made.messages, made.sources, strict=True):
            message_id = together[source][0] if source != before else ""
            before = source
            carried.append((message_id, Native(encode(value), value, target.name)))
        lost += [Lost(together[loss.index][0], loss.what, loss.detail) for loss in made.losses]
    return carried, lost


def _show(dialect: Dialect, entry: Entry, native: Native) -> Native:
    value: Mapping[str, Any] = native.value
    if entry.elided:
        texts = {e.call_id: e.placeholder for e in entry.elided}
        note = texts.pop(WHOLE, None)
        if texts:
            value = dialect.with_results(value, texts)
        if note is not None:
            value = dialect.without_media(value, note)
    if _SURROGATE.search(native.raw):
        cleaned = _clean(value)
        if cleaned != value:
            value = cleaned
    if value is native.value:
        return native
    return Native(encode(value), dict(value), native.dialect)


def encode(value: Mapping[str, Any]) -> bytes:
    """Compact JSON of a native value made here. Lone surrogates were cleaned before."""
    return _encoder(value)


_encoder: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def _clean(value: Any) -> Any:
    """The value with lone surrogates as U+FFFD: models and providers take nothing else."""
    match value:
        case str():
            return _LONE.sub("\ufffd", value)
        case dict():
            return {key: _clean(item) for key, item in value.items()}
        case list():
            return [_clean(item) for item in value]
        case _:
            return value
