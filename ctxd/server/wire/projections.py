"""`context/project` and what predicts a request's size (protocol.md, section 3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, NativeObject, SessionParams, Wire
from ctxd.server.wire.sessions import Fidelity

Phase = Literal["below_handoff", "handoff_band", "compaction_due", "unknown"]
Source = Literal["provider", "provider_plus_estimate", "local_estimate", "unknown"]


class ByteSize(Wire):
    """Size of the request as JSON."""

    value: Count = Field(description="Bytes.")
    limit: Count | None = Field(default=None, description="Largest request the provider takes, bytes.")


class Category(Wire):
    """A share of the request."""

    name: str = Field(description="What it is: `system`, `tools`, `user`, `assistant`, `toolResults` …")
    tokens: Count
    bytes: Count


class Item(Wire):
    """One message's share of the request."""

    message_id: str
    tokens: Count
    bytes: Count
    fidelity: Fidelity = Field(description="How much of the original the view shows.")
    unit: Count | None = Field(
        default=None,
        description="Which message unit it belongs to, from 0: a unit is kept or let go as a whole.",
    )
    handle: str | None = Field(
        default=None, description="The tool call id, else the message id, that recalls what is missing."
    )
    inserted: str | None = Field(
        default=None, description="What it is where ctxd made it: `summary`, `activeTask`, `pin` …"
    )
    category: str = Field(default="", description="The category it counts for.")
    label: str | None = Field(
        default=None, description="The tool calls that it makes or answers, by name and target."
    )


class Projection(Wire):
    """The predicted size of the next request."""

    tokens: Count = Field(description="Predicted prompt, tokens.")
    low: Count = Field(
        description="Lower end of the interval learned from this session's own errors, tokens."
    )
    high: Count = Field(description="Upper end, tokens.")
    source: Source = Field(description="Whether reported usage anchors the number.")
    estimated_pending_tokens: Count | None = Field(
        default=None, description="The part of `tokens` that is an estimate on top of reported usage."
    )
    phase: Phase = Field(description="Where the size stands against the thresholds.")
    window: Count | None = Field(description="Context window, tokens; null when unknown.")
    reserve: Count | None = Field(
        description="Kept free for the answer, tokens; null when the window is unknown."
    )
    available_for_input: Count | None = Field(description="Window minus reserve, tokens; null when unknown.")
    handoff_threshold: Count | None = Field(description="Tokens; null when the window is unknown.")
    compaction_threshold: Count | None = Field(description="Tokens; null when the window is unknown.")
    floor: Count = Field(description="What cannot be compacted (system, tools, pins, newest unit), tokens.")
    reachable: bool = Field(description="False when the floor alone reaches the compaction threshold.")
    bytes: ByteSize
    categories: list[Category] | None = Field(
        default=None, description="With detail `categories` or `items`."
    )
    items: list[Item] | None = Field(default=None, description="With detail `items`.")
    fingerprint: str = Field(
        description="Digest of system, tools, history, pending and model; stable over restarts."
    )
    revision: Count
    generation: Count


class ContextProjectParams(SessionParams):
    """Parameters of `context/project`."""

    pending: list[NativeObject] | None = Field(
        default=None, description="Native messages that the next request would add, not appended yet."
    )
    detail: Literal["summary", "categories", "items"] = Field(
        default="summary", description="How much to itemise."
    )
