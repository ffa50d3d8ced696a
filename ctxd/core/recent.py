"""Which files a session touched, newest first: from its log, so a restart forgets none.

A touch is a tool call that named a file and succeeded, what the host said of a message's files, or a touch
it told apart from any. Pure. Says nothing of the disk: whether a file is there, or may be read, is for
others to find out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, assert_never

import msgspec

from ctxd.core.facts import is_file_read
from ctxd.core.paths import normalize
from ctxd.core.transcript import Touched, Transcript
from ctxd.model.events import FileTouched, WorkspaceMoved
from ctxd.model.messages import CallFacts, FileOp, MessageFacts, ResultFacts

if TYPE_CHECKING:
    from ctxd.core.fold import SessionState

STUB_BYTES = 256
"""A read this small, of what was at least four times that before, is a "file unchanged" stub (O §11)."""


class Seen(msgspec.Struct, frozen=True):
    """A successful read of a whole file: the message that holds its result, and the result's facts."""

    message_id: str
    result: ResultFacts


class Touch(msgspec.Struct, frozen=True):
    """The newest successful touch of a path. `path` is absolute and normalized.

    `called` and `answered` are the messages of the call and of its result; a touch without a call has the
    message it came with as both, or "" and its time `at`, milliseconds. `seen` is the newest whole read of
    the path, None when there was none; it may be older than the touch. `written` is the message behind
    which the path was written last, None when it never was.
    """

    path: str
    op: FileOp
    called: str
    answered: str
    call_id: str
    at: int = 0
    seen: Seen | None = None
    written: str | None = None


def take(state: SessionState, event: FileTouched | WorkspaceMoved, at: int) -> None:
    """Take in an event about files. Called by `fold` alone."""
    match event:
        case FileTouched(path=path, op=op):
            after = next((f.id for f in reversed(state.transcript) if f.id not in state.gone), "")
            checkpoint = state.checkpoints[-1].checkpoint_id if state.checkpoints else ""
            state.touched.append(Touched(path, op, after, at, checkpoint))
        case WorkspaceMoved(workspace=workspace):
            if state.created is not None:
                state.former = (*state.former, state.created.workspace)
                state.created = msgspec.structs.replace(state.created, workspace=workspace)
        case _:
            assert_never(event)


def recent(transcript: Transcript, root: str) -> list[Touch]:
    """Every path the session read or wrote, newest touch first; relative paths are taken from `root`.

    A failed or unanswered call touches nothing, nor does what was rewound. No limit: whoever takes the
    newest few must leave out what it may not show first, or that starves the rest (E §8).
    """
    touches: dict[str, Touch] = {}
    written: set[str] = set()
    results: dict[str, tuple[str, ResultFacts]] = {}
    told: dict[str, list[Touched]] = {}
    for touched in transcript.touched:
        told.setdefault(touched.after, []).append(touched)

    def note(path: str, op: FileOp, called: str, answered: str, call_id: str, at: int = 0) -> str:
        path = normalize(path, root, transcript.former)
        newest = touches.setdefault(path, Touch(path, op, called, answered, call_id, at))
        if op != "read":
            written.add(path)
            if newest.written is None:
                touches[path] = msgspec.structs.replace(newest, written=called)
        return path

    for facts in reversed(transcript.transcript):
        if facts.id in transcript.gone:
            continue
        for touch in reversed(told.get(facts.id, ())):
            note(touch.path, touch.op, touch.after, "", "", touch.at)
        for result in facts.results:
            results[result.call_id] = (facts.id, result)
        for file in reversed(facts.files):
            done = results.get(file.call_id) if file.call_id else None
            if not facts.inserted and not (file.call_id and (done is None or done[1].is_error)):
                note(file.path, file.op, facts.id, done[0] if done else facts.id, file.call_id)
        for call in reversed(facts.calls):
            answer = results.pop(call.call_id, None)
            if answer is None or not call.path or answer[1].is_error:
                continue
            path = note(call.path, _op(call), facts.id, answer[0], call.call_id)
            newest = touches[path]
            if is_file_read(call) and not call.span:
                stub = (
                    newest.seen is not None
                    and path not in written
                    and _is_stub(newest.seen.result, answer[1])
                )
                if newest.seen is None or stub:
                    touches[path] = msgspec.structs.replace(newest, seen=Seen(*answer))
                    written.discard(path)
    for touch in reversed(told.get("", ())):
        note(touch.path, touch.op, "", "", "", touch.at)
    return list(touches.values())


def named(messages: Iterable[MessageFacts]) -> Iterator[str]:
    """Every path that messages name as touched, whatever became of it; as given."""
    for facts in messages:
        yield from (call.path for call in facts.calls if call.path)
        yield from (file.path for file in facts.files)


def _op(call: CallFacts) -> FileOp:
    if call.effect != "write":
        return "read"
    name = call.name.lower()
    return "write" if "write" in name or "create" in name else "edit"


def _is_stub(newer: ResultFacts, older: ResultFacts) -> bool:
    return newer.bytes < STUB_BYTES <= older.bytes // 4
