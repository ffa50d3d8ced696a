"""What is said into a turn that runs: pushed, and taken in by a request."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ctxd.model.event import Event
from ctxd.model.messages import MessageFacts

SteerKind: TypeAlias = Literal["followUp", "systemReminder", "requestPause", "cancel"]


class SteerPushed(Event, frozen=True, tag="steerPushed", gc=False):
    """Something said into a turn that runs; it waits until a request takes it in."""

    steer_id: str
    kind: SteerKind
    content: str = ""


class SteeringDrained(Event, frozen=True, tag="steeringDrained", gc=False):
    """A request takes in what waited: `steer_ids` wait no longer, `messages` are at the end of the view.

    The record's `data` is `[raw, ...]` of the messages. Those of `dropped` reached nobody: the turn they
    were about had ended.
    """

    steer_ids: tuple[str, ...]
    messages: tuple[MessageFacts, ...] = ()
    dropped: tuple[str, ...] = ()
