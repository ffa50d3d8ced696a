"""What is written down about messages a session takes: ids, facts, and what is too large to show whole.

Pure but for new ids; runs in a worker thread where much is appended. Must not know laws or records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from ctxd.core.facts import Weigher, describe
from ctxd.core.tools import Tools
from ctxd.model.blocks import MessageView
from ctxd.model.errors import InvalidParams
from ctxd.model.events import Elision
from ctxd.model.messages import FileFacts, FileOp, MessageFacts, Native
from ctxd.model.settings import WorkspaceOptions
from ctxd.service.bodies import BLOB_BYTES
from ctxd.service.intake.sanitizing import Place, Said
from ctxd.service.intake.shortening import shorten
from ctxd.service.session import Session


class Meta(msgspec.Struct, frozen=True):
    """What the host says of a message beside its native form."""

    id: str = ""
    kind: Literal["", "read", "write"] = ""
    is_error: bool | None = None
    files: tuple[tuple[str, FileOp], ...] = ()
    pin: bool = False
    hidden: bool = False
    usage: Mapping[str, Any] | None = None


class Described(msgspec.Struct, frozen=True):
    """Messages with what is known of them.

    `ids` has one for each message given; the rest is about those that are new: `positions` are their
    places among the given, `sizes` the bytes of the result behind each elision.
    """

    ids: tuple[str, ...]
    positions: tuple[int, ...]
    natives: tuple[Native, ...]
    facts: tuple[MessageFacts, ...]
    elisions: tuple[Elision, ...]
    sizes: tuple[int, ...]


def describe_all(
    session: Session,
    natives: Sequence[Native],
    views: Sequence[MessageView],
    metas: Sequence[Meta],
    repeats: Mapping[int, str | int],
    weigher: Weigher | None,
    said: Mapping[Place, Said],
    *,
    defer: bool,
) -> Described:
    """Describe the messages that do not only repeat others; nothing changes.

    `repeats`: index to the id, or the index, of the first giving. `said`: outputs that are shown otherwise
    than they came, by the index of their message. With `defer` only those and what is shortened are counted;
    the weigher may be None where nothing is. Raises InvalidParams for an id that is taken.
    """
    ids = _identify(session, metas, repeats)
    fresh = [index for index in range(len(views)) if index not in repeats]
    media = session.media_weigher()
    tools = _tools(session.environment.settings.workspace)
    facts: list[MessageFacts] = []
    for index in fresh:
        native, view, meta = natives[index], views[index], metas[index]
        count = None if defer else weigher
        described = describe(ids[index], native, view, count, media=media, hidden=meta.hidden, tools=tools)
        if described.bytes > BLOB_BYTES or described.unscanned:
            described = msgspec.structs.replace(described, blob="sha256:" + described.digest)
        if meta.kind or meta.files or meta.pin or meta.is_error is not None:
            described = _with_meta(described, meta)
        facts.append(described)
    places = {index: place for place, index in enumerate(fresh)} if said else {}
    shown = {(places[index], call_id): s for (index, call_id), s in said.items() if index in places}
    shortened = shorten(session, facts, [views[index] for index in fresh], weigher, shown)
    return Described(
        ids=tuple(ids),
        positions=tuple(fresh),
        natives=tuple([natives[index] for index in fresh]),
        facts=tuple(shortened.facts),
        elisions=tuple([elision for elision, _ in shortened.elisions]),
        sizes=tuple([size for _, size in shortened.elisions]),
    )


def _identify(session: Session, metas: Sequence[Meta], repeats: Mapping[int, str | int]) -> list[str]:
    """An id for each message; one that only repeats another has that one's."""
    stem = session.environment.new_id("m")
    alone = len(metas) == 1
    ids: list[str] = []
    wanted: set[str] = set()
    for index, meta in enumerate(metas):
        first = repeats.get(index) if repeats else None
        if first is not None:
            ids.append(ids[first] if isinstance(first, int) else first)
        elif meta.id:
            if meta.id in session.state.positions or meta.id in wanted:
                raise InvalidParams.at(
                    f"meta.{index}.id", "this message id is taken", hint="ids are for one message"
                )
            wanted.add(meta.id)
            ids.append(meta.id)
        else:
            ids.append(stem if alone else f"{stem}.{index}")
    return ids


def _with_meta(facts: MessageFacts, meta: Meta) -> MessageFacts:
    """Facts with the host's word: effect, error flag and files of its calls, pin.

    A file belongs to the call at its place, else to the only call or result there is, else to none.
    """
    calls = facts.calls
    if meta.kind and calls:
        calls = tuple(msgspec.structs.replace(call, effect=meta.kind) for call in calls)
    for position, (path, op) in enumerate(meta.files[: len(calls)]):
        if not calls[position].path:
            effect: Literal["read", "write"] = "read" if op == "read" else "write"
            call = msgspec.structs.replace(calls[position], path=path, effect=effect)
            calls = (*calls[:position], call, *calls[position + 1 :])
    ids = [block.call_id for block in calls or facts.results]
    files = [
        FileFacts(path, op, ids[place] if place < len(ids) else ids[0] if len(ids) == 1 else "")
        for place, (path, op) in enumerate(meta.files)
    ]
    results = facts.results
    if meta.is_error is not None and results:
        results = tuple(msgspec.structs.replace(result, is_error=meta.is_error) for result in results)
    return msgspec.structs.replace(
        facts, calls=calls, results=results, pinned=meta.pin, files=(*facts.files, *files)
    )


def _tools(options: WorkspaceOptions) -> Tools:
    """The tools and path arguments a host has of its own."""
    return Tools(
        reads=frozenset(name.lower() for name in options.read_tools),
        writes=frozenset(name.lower() for name in options.write_tools),
        paths=options.path_arguments,
    )
