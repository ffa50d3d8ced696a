"""`steer/push` and `steer/pending`: what is said into a turn that runs (protocol.md, section 7)."""

from __future__ import annotations

from pydantic import Field

from ctxd.server.wire.base import Count, SessionParams, Wire
from ctxd.server.wire.context import SteerKind


class SteerPushParams(SessionParams):
    """Parameters of `steer/push`."""

    kind: SteerKind = Field(
        description="`followUp` and `systemReminder` become messages of the next prepared request; "
        "`requestPause` and `cancel` reach the host as notes of it."
    )
    content: str | None = Field(
        default=None, description="The words; needed for a message, at most 64 KiB of UTF-8."
    )
    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The host's own id: the same item sent again under it is taken once.",
    )


class SteerPushResult(Wire):
    """The item is on disk."""

    id: str
    pending: Count = Field(description="How many items wait now, this one included.")


class SteerPendingParams(SessionParams):
    """Parameters of `steer/pending`."""


class SteerItem(Wire):
    """One item that waits."""

    id: str
    kind: SteerKind
    content: str | None = None


class SteerPendingResult(Wire):
    """What waits for the next `context/prepare`, oldest first."""

    items: list[SteerItem]
