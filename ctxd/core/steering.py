"""What is said into a turn that runs, while it waits for the next request (O §28).

Functions on the folded state, called by `fold`, and what may be asked of the queue. Pure; knows
neither how a message is made of it nor who sends it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from ctxd.model.steering import SteeringDrained, SteerKind, SteerPushed

if TYPE_CHECKING:
    from ctxd.core.fold import SessionState

CAPACITY = 16
"""Messages that may wait (O §28), and as many controls beside them: a full queue stops no cancel."""

CONTENT_BYTES = 65_536
"""UTF-8 bytes of one item. The log's facts carry it; more than this is appended as a message."""


class Steer(msgspec.Struct, frozen=True):
    """One item that waits. `turn` is the turn it was pushed in, by number; -1 for one rewound past."""

    id: str
    kind: SteerKind
    content: str
    turn: int

    @property
    def is_control(self) -> bool:
        """Whether it is for the host, and no message."""
        return self.kind in ("requestPause", "cancel")


class Steering(msgspec.Struct):
    """The queue of a session: `waiting` by id, oldest first; `known` are all there ever were, as digests.

    `unproven` are the controls taken in last, until a report shows that the host got that answer.
    """

    waiting: dict[str, Steer] = {}
    known: dict[str, bytes] = {}
    unproven: tuple[Steer, ...] = ()

    def knows(self, steer_id: str) -> bool:
        """Whether something was pushed under this id, waiting or not."""
        return steer_id in self.known

    def is_same(self, steer_id: str, kind: SteerKind, content: str) -> bool:
        """Whether just this was pushed under the id."""
        return self.known.get(steer_id) == _digest(kind, content)

    def is_full(self, kind: SteerKind) -> bool:
        """Whether no more of this kind may wait."""
        control = kind in ("requestPause", "cancel")
        return sum(1 for steer in self.waiting.values() if steer.is_control is control) >= CAPACITY

    def add(self, steer: Steer) -> None:
        """Queue an item. An id that is known already is ignored."""
        if steer.id not in self.known:
            self.known[steer.id] = _digest(steer.kind, steer.content)
            self.waiting[steer.id] = steer

    def end_turn(self) -> None:
        """The turn is no part of the conversation any more: its controls have nothing to stop."""
        for steer in [s for s in self.waiting.values() if s.is_control]:
            self.waiting[steer.id] = msgspec.structs.replace(steer, turn=-1)


class Due(msgspec.Struct, frozen=True):
    """What a request takes in, in the order to be told: `controls`, then `messages`; `stale` are dropped."""

    controls: tuple[Steer, ...] = ()
    messages: tuple[Steer, ...] = ()
    stale: tuple[Steer, ...] = ()


def due(queue: Steering, turn: int, *, begins_turn: bool, retries: bool) -> Due:
    """What the next request takes in; `turn` is the session's.

    A pause or a cancel comes before any message, and belongs to its turn: once another has begun it is
    stale. A cancelled request takes in no message, what waits is left for the turn to come; nor does a
    retry, which must be smaller than what failed.
    """
    controls = [steer for steer in queue.waiting.values() if steer.is_control]
    stale = [steer for steer in controls if begins_turn and steer.turn < turn]
    live = [steer for steer in controls if steer not in stale]
    live.sort(key=lambda steer: steer.kind != "cancel")
    if retries or any(steer.kind == "cancel" for steer in live):
        return Due(controls=tuple(live), stale=tuple(stale))
    messages = [steer for steer in queue.waiting.values() if not steer.is_control]
    return Due(tuple(live), tuple(messages), tuple(stale))


def push(state: SessionState, event: SteerPushed) -> None:
    """Something waits from now on."""
    state.steering.add(Steer(event.steer_id, event.kind, event.content, state.turn))


def drain(state: SessionState, event: SteeringDrained) -> None:
    """What waited is taken in; its messages are part of the turn that runs. Unknown ids change nothing."""
    queue = state.steering
    taken = [queue.waiting.pop(steer_id, None) for steer_id in event.steer_ids]
    queue.unproven = tuple(s for s in taken if s and s.is_control and s.id not in event.dropped)
    if event.messages:
        state.grow(event.messages)


def _digest(kind: SteerKind, content: str) -> bytes:
    return hashlib.sha256(f"{kind}\0{content}".encode("utf-8", "surrogatepass")).digest()
