"""Snapshots of the workspace's files along a session, and going back to one of them.

They are taken when the user speaks and when a turn ends, where the option says so. Going back is refused
where anything but the session's own edits would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import msgspec

from ctxd.core.fold import SessionState
from ctxd.core.paths import normalize
from ctxd.model.errors import CtxdError, NotFound, RevisionConflict
from ctxd.model.events import SnapshotTaken
from ctxd.model.messages import MessageFacts
from ctxd.service.session import Session, Written
from ctxd.workspace.snapshots import Change, Snapshots

SHOWN_PATHS = 50


class Return(msgspec.Struct, frozen=True):
    """A way back: what happens to the files from `current`, the snapshot of now, to `wanted`."""

    current: str
    wanted: str
    changes: tuple[Change, ...]


async def snapshot(
    session: Session, messages: Sequence[MessageFacts]
) -> tuple[list[Written], tuple[str, ...]]:
    """The event of a snapshot taken for messages about to be committed, and warnings where none could be.

    Nothing where the option is off or no message begins or ends a turn.
    """
    ends = [facts for facts in messages if facts.user_turn or _ends_turn(facts)]
    if not session.environment.settings.workspace.snapshots or not ends:
        return [], ()
    try:
        tree = await anyio.to_thread.run_sync(_of(session).take)
    except CtxdError as error:
        return [], (f"no snapshot of the files: {error.message}",)
    return [Written(SnapshotTaken(message_id=ends[-1].id, tree=tree))], ()


async def find_return(session: Session, to: str) -> Return:
    """How the files get back to what they were when the user said `to`. Nothing changes.

    Raises NotFound without a snapshot of then, RevisionConflict with the `paths` that are not the session's
    own edits: they changed outside of it, or by a command, of which nobody knows what it writes.
    """
    state = session.state
    wanted = state.snapshots.get(to)
    if wanted is None:
        raise NotFound(
            "there is no snapshot of the files as they were then",
            hint="workspace.snapshots takes them from now on; restore the files by the host's own means",
        )
    kept = _of(session)
    workspace = state.created.workspace if state.created else ""

    def look() -> Return:
        current = kept.take()
        since, newest = state.files_at
        foreign = _foreign(kept.compare(wanted, current), _written(state, to, workspace), workspace)
        foreign |= _foreign(kept.compare(newest, current), _written(state, since, workspace), workspace)
        if foreign:
            raise RevisionConflict(
                "files changed that this session did not edit",
                hint="keep or undo those changes, then rewind again",
                paths=sorted(foreign)[:SHOWN_PATHS],
            )
        return Return(current, wanted, kept.compare(current, wanted))

    return await anyio.to_thread.run_sync(look)


async def go_back(session: Session, way: Return) -> Written:
    """Bring the files back; the event that says so, to be committed. Raises RevisionConflict."""
    await anyio.to_thread.run_sync(_of(session).restore, way.current, way.wanted)
    last = session.state.transcript[-1].id
    return Written(SnapshotTaken(message_id=last, tree=way.wanted, restored=True))


def _of(session: Session) -> Snapshots:
    workspace = session.state.created.workspace if session.state.created else ""
    return Snapshots(workspace, session.snapshot_store, session.session_id)


def _ends_turn(facts: MessageFacts) -> bool:
    return facts.role == "assistant" and not facts.calls


def _written(state: SessionState, since: str, workspace: str) -> set[str]:
    """Paths that the session's own calls wrote from a message on."""
    start = state.positions[since]
    calls = [call for facts in state.transcript[start:] for call in facts.calls]
    files = [file for facts in state.transcript[start:] for file in facts.files]
    paths = [call.path for call in calls if call.effect == "write" and call.path]
    paths += [file.path for file in files if file.op != "read" and file.call_id]
    return {normalize(path, workspace, state.former) for path in paths}


def _foreign(changes: Sequence[Change], written: set[str], workspace: str) -> set[str]:
    return {change.path for change in changes if normalize(change.path, workspace) not in written}
