"""What the daemon asks and tells a host (protocol.md, section 8)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, Input, JsonObject, SessionId, Wire


class TextContent(Input):
    """A text."""

    type: Literal["text"] = "text"
    text: str


class SamplingMessage(Wire):
    """One message of a summary's prompt."""

    role: Literal["user", "assistant"]
    content: TextContent


class SamplingMetadata(Wire):
    """What the request is for. It must not be cached, and the host must not retry it."""

    purpose: Literal["compaction"] = "compaction"
    session_id: SessionId
    attempt: Count = Field(description="1 is the first of at most three.")
    cache_retention: Literal["none"] = "none"
    retries: Literal[0] = 0


class SamplingCreateMessageParams(Wire):
    """Parameters of `sampling/createMessage`: ask a model for a summary, without tools."""

    messages: list[SamplingMessage]
    system_prompt: str | None = None
    max_tokens: Count
    temperature: Literal[0] = 0
    metadata: SamplingMetadata


class SamplingCreateMessageResult(Input):
    """The model's answer."""

    content: JsonObject = Field(description='`{type: "text", text}`; anything else is no summary.')
    model: str = ""
    stop_reason: str | None = None
    usage: JsonObject | None = Field(default=None, description="As the provider reported it, native.")


class HookPreCompactParams(Wire):
    """Parameters of `hook/preCompact`: may this compaction happen?"""

    session_id: SessionId
    trigger: Literal["manual", "auto"]
    reason: str
    messages_before: Count
    tokens_before: Count


class HookPreCompactResult(Input):
    """The host's word. A block ends the compaction; nothing changes then."""

    decision: Literal["allow", "block"]
    reason: str | None = None
    instructions: str | None = Field(default=None, description="What the summary is to look after.")


class ContextEventParams(Wire):
    """`context/event`: a compaction began or ended."""

    schema_: Literal["ctxd.event.v1"] = Field(default="ctxd.event.v1", alias="schema")
    kind: Literal["phase"] = "phase"
    session_id: SessionId
    phase: Literal["compaction"] = "compaction"
    stage: Literal["start", "complete"]
    tokens: Count = Field(description="Messages of the view, calibrated tokens.")
    messages: Count = Field(description="Messages of the view.")
