"""Which files a session touched, newest first: from its own calls, so a restart forgets none.

Pure. Says nothing of the disk: whether a file is there, or may be read, is for others to find out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from ctxd.core.facts import is_file_read
from ctxd.core.paths import normalize
from ctxd.model.messages import CallFacts, MessageFacts, ResultFacts

Op: TypeAlias = Literal["read", "edit", "write"]

STUB_BYTES = 256
"""A read this small, of what was at least four times that before, is a "file unchanged" stub (O §11)."""


class Seen(msgspec.Struct, frozen=True):
    """A successful read of a whole file: the message that holds its result, and the result's facts."""

    message_id: str
    result: ResultFacts


class Touch(msgspec.Struct, frozen=True):
    """The newest successful touch of a path. `path` is absolute and normalized.

    `called` and `answered` are the messages of the call and of its result. `seen` is the newest whole
    read of the path, None when there was none; it may be older than the touch.
    """

    path: str
    op: Op
    called: str
    answered: str
    call_id: str
    seen: Seen | None = None


def recent(transcript: Sequence[MessageFacts], root: str) -> list[Touch]:
    """Every path the session read or wrote, newest touch first; relative paths are taken from `root`.

    A failed or unanswered call touches nothing. No limit: whoever takes the newest few must leave out
    what it may not show first, or that starves the rest (E §8).
    """
    touches: dict[str, Touch] = {}
    written: set[str] = set()
    results: dict[str, tuple[str, ResultFacts]] = {}
    for facts in reversed(transcript):
        for result in facts.results:
            results[result.call_id] = (facts.id, result)
        for call in reversed(facts.calls):
            answer = results.pop(call.call_id, None)
            if answer is None or not call.path or answer[1].is_error:
                continue
            path = normalize(call.path, root)
            newest = touches.get(path)
            if newest is None:
                newest = Touch(path, _op(call), facts.id, answer[0], call.call_id)
            if not is_file_read(call):
                written.add(path)
            elif not call.span and (
                newest.seen is None or (path not in written and _is_stub(newest.seen.result, answer[1]))
            ):
                newest = msgspec.structs.replace(newest, seen=Seen(*answer))
                written.discard(path)
            touches[path] = newest
    return list(touches.values())


def _op(call: CallFacts) -> Op:
    if call.effect != "write":
        return "read"
    name = call.name.lower()
    return "write" if "write" in name or "create" in name else "edit"


def _is_stub(newer: ResultFacts, older: ResultFacts) -> bool:
    return newer.bytes < STUB_BYTES <= older.bytes // 4
