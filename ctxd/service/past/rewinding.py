"""`session/rewind`: going on from before something the user said, and with the files there were then."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ctxd.core.fold import SessionState
from ctxd.model.errors import InvalidParams, NotFound
from ctxd.model.events import Rewound
from ctxd.service.past.snapshots import find_return, go_back
from ctxd.service.session import Session, Written
from ctxd.workspace.snapshots import Change

RewindMode: TypeAlias = Literal["conversation", "code", "both"]

PREVIEW_CHARS = 160


class Rewinding(msgspec.Struct, frozen=True):
    """What a rewind does or would do. `messages` leave the conversation, `checkpoints` are undone.

    `files` are brought back to what they were.
    """

    to: str
    messages: int
    checkpoints: int
    tokens_before: int
    tokens_after: int
    preview: str
    applied: bool
    files: tuple[Change, ...]


async def rewind(session: Session, to: str, mode: RewindMode, *, dry_run: bool) -> Rewinding:
    """Take the conversation, the workspace's files or both back to before the user message `to`.

    Raises NotFound for a message that is not there or was rewound already, InvalidParams for one no
    person said; of the files NotFound where they were not kept then, RevisionConflict where more than the
    session's own edits would be lost. Then nothing changed.
    """
    async with session.lane:
        await session.settle()
        state = session.state
        facts = state.find(to)
        if facts is None or to in state.gone:
            raise NotFound("no such message in this conversation", hint="session/history lists message ids")
        if not facts.user_turn:
            raise InvalidParams.at("to", "only a message of the user can be gone back to")
        way = None if mode == "conversation" else await find_return(session, to)
        position = state.positions[to]
        undone = gone = 0
        if mode != "code":
            undone = sum(1 for c in state.checkpoints if state.befores[c.checkpoint_id].transcript > position)
            gone = sum(1 for f in state.transcript[position:] if f.id not in state.gone)
        (native,) = await session.natives([to])
        text = session.view(native).text
        before = session.project().tokens
        after = before if mode == "code" else _tokens_without(state, position)
        if not dry_run:
            written = [] if mode == "code" else [Written(Rewound(to=to))]
            if way is not None:
                # The files first: a refusal leaves the conversation where it is.
                written.append(await go_back(session, way))
            await session.commit(written)
            after = session.project().tokens
    if not dry_run and mode != "code":
        session.environment.host.view_changed(session, "rewind")
    return Rewinding(
        to=to,
        messages=gone,
        checkpoints=undone,
        tokens_before=before,
        tokens_after=after,
        preview=text if len(text) <= PREVIEW_CHARS else text[:PREVIEW_CHARS] + "...",
        applied=not dry_run,
        files=way.changes if way else (),
    )


def _tokens_without(state: SessionState, position: int) -> int:
    """An estimate of the next request after the rewind, from the weights of what would be shown."""
    before = next((b for b in state.befores.values() if b.transcript > position), None)
    shown = before.entries if before is not None else state.view
    kept = [e for e in shown if state.positions.get(e.facts.id, -1) < position]
    base = sum(e.tokens for e in kept) + state.load.fixed
    return round(state.unseen + state.ratio * base) + sum(e.media for e in kept)
