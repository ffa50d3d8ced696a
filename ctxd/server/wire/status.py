"""`ctxd/status` (protocol.md, section 7)."""

from __future__ import annotations

from pydantic import Field

from ctxd.server.wire.base import Count, Input, JsonObject, Wire
from ctxd.server.wire.sessions import Secrets


class StatusParams(Input):
    """Parameters of `ctxd/status`: none."""


class StatusResult(Wire):
    """The daemon as it stands."""

    version: str
    uptime: Count = Field(description="Milliseconds since start.")
    sessions: Count = Field(description="Sessions open in this daemon.")
    rss_bytes: Count = Field(description="Resident memory.")
    store: JsonObject = Field(description="Facts about the store: where it is, how large.")
    guard: Secrets = Field(
        description="Whether secrets are cut out of tool outputs; `off` and `unavailable`: they are not."
    )
    counters: dict[str, int] = Field(description="Counts since start, by name.")
