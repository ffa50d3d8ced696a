"""`context/pin`, `unpin`, `pins`, `contains`: what stays in view, what is in it (protocol.md, section 3)."""

from __future__ import annotations

from pydantic import Field

from ctxd.server.wire.base import Count, SessionParams, Wire


class ContextPinParams(SessionParams):
    """Parameters of `context/pin`: a text or a message."""

    text: str | None = Field(default=None, description="Words to keep in every view.")
    message_id: str | None = Field(default=None, description="A message to keep whole.")
    label: str | None = Field(default=None, max_length=200, description="For people.")


class ContextPinResult(Wire):
    """The pin that was made."""

    pin_id: str
    tokens: Count = Field(description="What it costs in every view.")
    budget_left: Count = Field(description="What further pins may cost.")


class ContextUnpinParams(SessionParams):
    """Parameters of `context/unpin`."""

    pin_id: str = Field(min_length=1)


class ContextPinsParams(SessionParams):
    """Parameters of `context/pins`."""


class Pin(Wire):
    """One pin."""

    pin_id: str
    text: str | None = Field(default=None, description="The pinned words.")
    message_id: str | None = Field(default=None, description="The pinned message.")
    label: str | None = None
    tokens: Count


class ContextPinsResult(Wire):
    """The pins of a session, oldest first."""

    pins: list[Pin]
    tokens: Count = Field(description="What they cost together.")
    budget: Count = Field(description="What they may cost together.")


class ContextContainsParams(SessionParams):
    """Parameters of `context/contains`: a handle or a path."""

    handle: str | None = Field(default=None, description="Tool call id, digest or message id.")
    path: str | None = Field(default=None, description="A file, as tools name it.")


class ContextContainsResult(Wire):
    """Whether the model view shows it whole."""

    in_context: bool
    since: str | None = Field(default=None, description="Id of the message that shows it.")
    reason: str | None = Field(
        default=None,
        description="Why not: an elision's reason, `compacted`, `changed` (written since), `neverRead`, "
        "`partial` (`since` shows a part of it).",
    )
