"""The model view as bytes to send: elisions applied, provider rules mended, nothing else touched.

Kept up incrementally. Before the newest assistant turn nothing can change any more between two changes
of the view (results for older turns are refused), so only what follows is rendered again; prompt caches
live on that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ctxd.compaction.byte_budget import WHOLE
from ctxd.core.fold import Entry, SessionState
from ctxd.dialects.base import Dialect, Edit
from ctxd.model.messages import Native

_SURROGATE = re.compile(rb"\\u[dD][89abAB]")
_LONE = re.compile("[\ud800-\udfff]")


class Shown(msgspec.Struct, frozen=True):
    """One message of a request: its JSON, and the id of the view entry it comes from ("" if synthesized)."""

    message_id: str
    raw: bytes


class Rendering:
    """The rendered view of one session."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._closed: list[Shown] = []
        self._entries = 0
        self._generation = -1
        self._anchor: Mapping[str, Any] = dialect.make("user", "start")

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
        shown = [self._show(entry, native) for entry, native in zip(entries, natives, strict=True)]
        ids = [entry.facts.id for entry in entries]
        tail, roles, edits = self._mend([*ids, *("" for _ in pending)], [*shown, *pending])
        request = [*self._closed, *tail]
        if not pending:
            self._close(entries, tail, roles)
        return request, edits

    def _close(self, entries: Sequence[Entry], tail: Sequence[Shown], roles: Sequence[str]) -> None:
        """Keep what stands before the newest assistant turn, if that turn begins with a whole message."""
        start = len(tail)
        while start > 0 and roles[start - 1] != "assistant":
            start -= 1
        newest = start
        while start > 0 and roles[start - 1] == "assistant":
            start -= 1
        if start == newest or not tail[start].message_id:
            return
        places = {entry.facts.id: place for place, entry in enumerate(entries)}
        self._closed.extend(tail[:start])
        self._entries += places[tail[start].message_id]

    def _check(self, state: SessionState) -> None:
        if self._generation != state.generation or self._entries > len(state.view):
            self._generation = state.generation
            self._entries = 0
            self._closed = []

    def _mend(
        self, ids: Sequence[str], natives: Sequence[Native]
    ) -> tuple[list[Shown], list[str], list[Edit]]:
        """Mend what follows the closed part; the messages, their roles, the edits."""
        values: list[Mapping[str, Any]] = [native.value for native in natives]
        known = {id(native.value): (mid, native.raw) for mid, native in zip(ids, natives, strict=True)}
        closed = 1 if self._closed else 0
        mended, edits = self._dialect.mend([self._anchor, *values] if closed else values, pending=True)
        shown: list[Shown] = []
        for value in mended[closed:]:
            message_id, raw = known.get(id(value), ("", b""))
            shown.append(Shown(message_id, raw or encode(value)))
        return shown, [self._dialect.view(value).role for value in mended[closed:]], edits

    def _show(self, entry: Entry, native: Native) -> Native:
        value: Mapping[str, Any] = native.value
        if entry.elided:
            texts = {e.call_id: e.placeholder for e in entry.elided}
            note = texts.pop(WHOLE, None)
            if texts:
                value = self._dialect.with_results(value, texts)
            if note is not None:
                value = self._dialect.without_media(value, note)
        if _SURROGATE.search(native.raw):
            cleaned = _clean(value)
            if cleaned != value:
                value = cleaned
        if value is native.value:
            return native
        return Native(raw=encode(value), value=dict(value))


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
