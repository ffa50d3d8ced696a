"""Steering: what a person or the host says into a turn that runs (protocol.md, section 7).

Owns when it is durable: pushed before it is acknowledged, taken in with everything else a `prepare`
decides, or not at all. What may wait and what is due is `ctxd.core.steering`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxd.core import steering
from ctxd.core.facts import Weigher, describe
from ctxd.core.steering import CAPACITY, CONTENT_BYTES, Due, Steer
from ctxd.model.errors import Busy, InvalidParams, TooLarge
from ctxd.model.events import Load
from ctxd.model.messages import MessageFacts
from ctxd.model.steering import SteeringDrained, SteerKind, SteerPushed
from ctxd.service.intake.append import IN_THREAD_BYTES
from ctxd.service.past.snapshots import snapshot
from ctxd.service.session import Session, Written

REMINDER = "[A reminder from the program that runs this session; the user did not write it.]\n\n"
"""Stands before a system reminder: it goes as a user message, and is none of the user's words."""


NOTHING = Due()


class Note(msgspec.Struct, frozen=True):
    """What a request took in, for its host. `message_id` is "" for a control."""

    steer: Steer
    message_id: str = ""


async def push(session: Session, kind: SteerKind, content: str, steer_id: str | None) -> tuple[str, int]:
    """Let something wait for the next request; answers its id and how many items wait now.

    The same under the same id is done once, however often it is sent. Raises InvalidParams for a message
    without words and for an id that names something else, TooLarge, Busy while the queue is full, and what
    committing raises.
    """
    content = _clean(content)
    if kind in ("followUp", "systemReminder") and not content.strip():
        raise InvalidParams.at("content", "a message needs words")
    if (size := len(content.encode())) > CONTENT_BYTES:
        raise TooLarge(
            "this is too large to be said into a turn",
            hint="session/append takes messages of any size",
            bytes=size,
            limit=CONTENT_BYTES,
        )
    async with session.lane:
        queue = session.state.steering
        if steer_id is not None and queue.knows(steer_id):
            if not queue.is_same(steer_id, kind, content):
                raise InvalidParams.at("id", "this id names something else", hint="ids are for one item")
            return steer_id, len(queue.waiting)
        if queue.is_full(kind):
            raise Busy(
                "as much waits as may wait",
                hint="context/prepare takes it in; then push again",
                limit=CAPACITY,
            )
        event = SteerPushed(
            steer_id=steer_id or session.environment.new_id("steer"), kind=kind, content=content
        )
        await session.commit([Written(event)])
        session.environment.note("steered")
        return event.steer_id, len(queue.waiting)


def waiting(session: Session) -> Sequence[Steer]:
    """What waits, oldest first."""
    session.refresh()
    return tuple(session.state.steering.waiting.values())


class Intake:
    """What one request takes in. Planned first and weighed with the request, committed with its plan.

    What another request took in meanwhile is left out. `committed` counts what this one did take in,
    `dropped` what of it was stale.
    """

    def __init__(
        self, due: Due = NOTHING, messages: Sequence[tuple[Steer, MessageFacts, bytes]] = ()
    ) -> None:
        self.committed = 0
        self.dropped = 0
        self._due = due
        self._messages = messages
        self.load = Load(
            view=sum(facts.tokens for _, facts, _ in messages),
            media=sum(facts.media_tokens for _, facts, _ in messages),
        )
        self.bytes = sum(facts.bytes for _, facts, _ in messages)

    @property
    def cancels(self) -> bool:
        """Whether the request is not to be sent at all."""
        return any(steer.kind == "cancel" for steer in self._due.controls)

    async def commit(self, session: Session, rest: Sequence[Written] = ()) -> None:
        """Commit what still waits of it, then `rest`, as one batch. The caller holds the lane.

        What was taken in is the host's to know: `session.untold` holds it until an answer has said it.
        """
        queue = session.state.steering.waiting
        controls = [steer for steer in self._due.controls if steer.id in queue]
        stale = [steer for steer in self._due.stale if steer.id in queue]
        messages = [message for message in self._messages if message[0].id in queue]
        taken = [*controls, *(steer for steer, _, _ in messages), *stale]
        batch = list(rest)
        files, _ = await snapshot(session, [facts for _, facts, _ in messages])
        if taken:
            event = SteeringDrained(
                steer_ids=tuple(steer.id for steer in taken),
                messages=tuple(facts for _, facts, _ in messages),
                dropped=tuple(steer.id for steer in stale),
            )
            batch[:0] = [*files, Written(event, tuple(raw for _, _, raw in messages))]
        if batch:
            await session.commit(batch)
        session.untold += [Note(steer) for steer in controls]
        session.untold += [Note(steer, facts.id) for steer, facts, _ in messages]
        self.committed += len(taken)
        self.dropped += len(stale)


async def take_in(session: Session, *, begins_turn: bool, retries: bool) -> Intake:
    """What the next request takes in; nothing where nothing can be written. The caller holds the lane.

    A control of this turn that was taken in before a crash, by a request whose answer may never have come,
    is told again.
    """
    state = session.state
    if session.writable and session.last_shown is None:
        again = [Note(steer) for steer in state.steering.unproven if steer.turn == state.turn]
        session.untold += [note for note in again if note not in session.untold]
    if not state.steering.waiting or not session.writable:
        return Intake()
    due = steering.due(state.steering, state.turn, begins_turn=begins_turn, retries=retries)
    weigher = await session.weigher()
    if sum(len(steer.content) for steer in due.messages) > IN_THREAD_BYTES:
        return Intake(due, await session.environment.counting.run(_make, session, due.messages, weigher))
    return Intake(due, _make(session, due.messages, weigher))


def _make(
    session: Session, steers: Sequence[Steer], weigher: Weigher
) -> list[tuple[Steer, MessageFacts, bytes]]:
    """Each item as a message of its own, in order."""
    made: list[tuple[Steer, MessageFacts, bytes]] = []
    for steer in steers:
        reminds = steer.kind == "systemReminder"
        native = session.make(REMINDER + steer.content if reminds else steer.content)
        message_id = session.environment.new_id("m")
        facts = describe(message_id, native, session.view(native), weigher, hidden=reminds)
        marked = msgspec.structs.replace(facts, steered="systemReminder" if reminds else "followUp")
        made.append((steer, marked, native.raw))
    return made


def _clean(text: str) -> str:
    """The text with lone surrogates as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
