"""Recent files for a compaction: read, compared with what the session saw of them, ready to be planned.

Never a reason for a compaction to fail, nor to wait long: what cannot be read in time is not shown.
"""

from __future__ import annotations

import anyio
import msgspec

from ctxd.compaction.restoration import Excerpt, Recent, Rejected
from ctxd.core import freshness
from ctxd.core.freshness import Likeness
from ctxd.core.recent import Touch, recent
from ctxd.model.blocks import MessageView
from ctxd.model.errors import CtxdError, Timeout
from ctxd.model.messages import Native
from ctxd.service.files.confined import Reading, below, read_newest
from ctxd.service.intake.guarding import clean
from ctxd.service.session import Session, decode
from ctxd.workspace.reader import Head

REPORTED = 20
"""Rejected files that a report names."""


async def recent_files(session: Session, *, partial: bool) -> Recent:
    """The session's recent files as they are on disk now. Never raises but for cancellation.

    None for a `partial` compaction: newer messages stay behind it, and a file shown before them would
    seem older than it is.
    """
    options = session.environment.settings.workspace
    if partial or not options.restore_files:
        return Recent()
    reading = await newest(session, options.restore_files)
    excerpts: list[Excerpt] = []
    rejected = list(reading.rejected)
    for touch, head in reading.files:
        try:
            excerpts.append(await excerpt(session, touch, head))
        except Timeout:
            # Nobody could look for secrets in it.
            rejected.append(Rejected(head.path, "timeout"))
    return Recent(tuple(excerpts), tuple(rejected[:REPORTED]), session.session_id)


async def newest(session: Session, limit: int) -> Reading:
    """The newest files of the session that may be shown, at most `limit`, and why others may not.

    Never raises but for cancellation: where nothing can be read, that is the reason.
    """
    created = session.state.created
    if created is None:
        return Reading()
    root = created.workspace
    touches = await anyio.to_thread.run_sync(recent, session.state, root)
    touches = [msgspec.structs.replace(touch, path=below(touch.path, root)) for touch in touches]
    if not touches:
        return Reading()
    options = session.environment.settings.workspace
    try:
        return await session.files.use(root, lambda held: read_newest(held, touches, options, limit))
    except Timeout:
        return Reading(rejected=(Rejected(root, "timeout"),))
    except CtxdError as error:
        return Reading(rejected=tuple(Rejected(touch.path, error.kind) for touch in touches))


async def excerpt(session: Session, touch: Touch, head: Head) -> Excerpt:
    """A file that may be shown, compared with what the session saw of it. Raises Timeout.

    Secrets in it are cut out, whatever its name is.
    """
    try:
        called, answered = await session.bodies.read([touch.called, touch.answered])
    except CtxdError:
        called = answered = b""
    compared = await anyio.to_thread.run_sync(_compare, session, touch, head, called, answered)
    return msgspec.structs.replace(compared, text=(await clean(session.environment, compared.text)).text)


def _compare(session: Session, touch: Touch, head: Head, called: bytes, answered: bytes) -> Excerpt:
    shown, given = _texts(session, touch, called, answered)
    likeness: Likeness = freshness.compare(shown, head.whole)
    sources = [(touch.answered, touch.call_id)] if likeness == "whole" else []
    if touch.op != "read" and any(freshness.compare(text, head.whole) == "whole" for text in given):
        likeness = "whole"
        sources.append((touch.called, ""))
    if touch.seen is not None:
        sources.append((touch.seen.message_id, touch.seen.result.call_id))
    times = _times(session, touch)
    state: freshness.Freshness = "unchanged" if likeness == "whole" else "unknown"
    if touch.at and likeness != "whole":
        state = freshness.judge_told(touch.at, head.mtime_ns // 1_000_000, head.ctime_ns // 1_000_000)
    elif times is not None:
        state = freshness.judge(
            likeness,
            touch.op,
            called_at=times[0],
            answered_at=times[1],
            mtime=head.mtime_ns // 1_000_000,
            ctime=head.ctime_ns // 1_000_000,
        )
    return Excerpt(
        path=head.path,
        text=head.text,
        shown=head.shown,
        lines=head.lines,
        size=head.size,
        bytes_left=head.bytes_left,
        digest=head.digest,
        freshness=state,
        torn=head.torn,
        sources=tuple(sources),
    )


def _texts(session: Session, touch: Touch, called: bytes, answered: bytes) -> tuple[str, list[str]]:
    """What the result said, and the texts among the call's arguments; nothing where bodies are lost."""
    if not called:
        return "", []
    results = _view(session, touch.answered, answered).results
    calls = _view(session, touch.called, called).calls
    shown = next((block.text for block in results if block.call_id == touch.call_id), "")
    arguments = next((block.arguments for block in calls if block.call_id == touch.call_id), "")
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        given = None
    texts = [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []
    return shown, texts


def _view(session: Session, message_id: str, raw: bytes) -> MessageView:
    return session.view(Native(raw, decode(raw), session.bodies.dialect_of(message_id)))


def _times(session: Session, touch: Touch) -> tuple[int, int] | None:
    """When call and result were recorded; None when the log cannot say."""
    if touch.at:
        return touch.at, touch.at
    try:
        return session.bodies.time_of(touch.called), session.bodies.time_of(touch.answered)
    except CtxdError:
        return None
