"""`context/prepare`, `report` and `validate`: around each request (protocol.md, section 3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from ctxd.server.wire.base import (
    Count,
    Input,
    JsonObject,
    NativeAnyOut,
    NativeObject,
    NativeOut,
    NativesOut,
    SessionId,
    SessionParams,
    Wire,
)
from ctxd.server.wire.compactions import CacheReport, CompactionReport
from ctxd.server.wire.projections import Projection
from ctxd.server.wire.sessions import Loss, MessageMeta, Redacted

PreparePhase = Literal["turnStart", "iteration", "retry"]
SteerKind = Literal["followUp", "systemReminder", "requestPause", "cancel"]


class Stage(Wire):
    """One step of `prepare` that changed or tried to change the view."""

    stage: str = Field(description="Which step.")
    reason: str = Field(description="Why it did what it did.")
    edits: Count = Field(description="How many edits it made.")
    tokens_freed: int = Field(description="Tokens the request became smaller by.")


class PromptReport(Wire):
    """What `prepare` did to the prompt."""

    phase: PreparePhase
    prompt_replaced: bool = Field(description="Whether the view changed other than by growth at its end.")
    compaction_performed: bool
    messages_before: Count
    messages_after: Count
    tokens_before: Count
    tokens_after: Count
    generation: Count
    stages: list[Stage]
    outcome: Literal["ok", "overBudget"] = Field(description="`overBudget`: the request may not fit.")


class SteerNote(Wire):
    """What was said into the turn and is taken in with this request; controls first, then messages in order.

    After `cancel` the request is not to be sent; `requestPause` asks to wait before it is.
    """

    id: str
    kind: SteerKind
    content: str | None = None
    message_id: str | None = Field(default=None, description="The message of the view that says it.")


class ContextPrepareParams(SessionParams):
    """Parameters of `context/prepare`."""

    phase: PreparePhase = Field(
        description="`turnStart` may elide deeply, `iteration` keeps old history, `retry` must shrink."
    )
    pending: list[NativeObject] | None = Field(
        default=None, description="Native messages that this request adds and nobody appends."
    )


class ContextPrepareResult(Wire):
    """The request to send."""

    request_id: str = Field(description="Ties the report to this call.")
    revision: Count
    generation: Count
    messages: NativesOut = Field(description="The model view, pending included.")
    system: NativeAnyOut | None = None
    tools: list[NativeOut] | None = None
    fingerprint: str
    projection: Projection
    report: PromptReport
    context_management: JsonObject | None = Field(
        default=None, description="Extra field for the provider's own clearing."
    )
    cache: CacheReport
    steering: list[SteerNote]
    losses: list[Loss] | None = Field(
        default=None,
        description="What of the messages did not cross from the dialect it came in; absent where all did.",
    )


class ProviderError(Input):
    """An error as the provider gave it."""

    status: int | None = Field(default=None, description="HTTP status.")
    code: str | None = Field(default=None, description="The provider's error code or type.")
    message: str | None = None
    body: JsonValue = Field(default=None, description="The error body, whatever it is.")


class ContextReportParams(SessionParams):
    """Parameters of `context/report`."""

    request_id: str = Field(min_length=1, description="From `context/prepare`.")
    outcome: Literal["ok", "error", "aborted"]
    messages: list[NativeObject] | None = Field(
        default=None, description="The answer, native, to be appended."
    )
    meta: list[MessageMeta | None] | None = Field(default=None, description="One per message, null for none.")
    usage: JsonObject | None = Field(default=None, description="Usage as the provider reported it, native.")
    error: ProviderError | None = None
    output_started: bool = Field(default=False, description="Whether anything of the answer had arrived.")


class Recovery(Wire):
    """What to do about an error."""

    action: Literal["retry", "fail"] = Field(description="`retry`: prepare again with phase `retry`.")
    reason: str
    report: CompactionReport | None = None


class ContextReportResult(Wire):
    """The session after the answer."""

    revision: Count
    message_ids: list[str] = Field(description="Ids of the appended messages.")
    projection: Projection
    redacted: list[Redacted] | None = Field(
        default=None, description="Secrets that were cut out of tool outputs; absent for none."
    )
    recovery: Recovery | None = Field(default=None, description="Present after an error.")
    pending_steering: Count | None = Field(
        default=None,
        description="How many items of steering wait, absent for none: even after a final answer the turn "
        "has one more round, which takes them in.",
    )


class ContextDidChangeParams(Wire):
    """`context/didChange`: the model view changed other than by an append of the host."""

    session_id: SessionId
    revision: Count
    generation: Count
    projection: Projection
    cause: str = Field(description="What changed it.")


class Violation(Wire):
    """A broken rule of a provider."""

    rule: str
    index: Count = Field(description="Position in `messages`, 0-based.")
    detail: str = Field(description="What is broken, without content.")
    mend: Literal["synthesize", "remove", "merge", "refuse"] = Field(
        description="What ctxd does about it in a request it makes; `refuse`: an append with it is refused."
    )


class Edit(Wire):
    """One change that repairs a message list."""

    rule: str
    index: Count = Field(description="Position in the `messages` given.")
    action: str
    detail: str


class ContextValidateParams(Input):
    """Parameters of `context/validate`."""

    dialect: str = Field(description="Message format.")
    messages: list[NativeObject]
    repair: bool = Field(default=False, description="Also answer a list that can be sent.")


class ContextValidateResult(Wire):
    """What is broken, and the repaired list if asked for."""

    ok: bool
    violations: list[Violation]
    repaired: list[NativeOut] | None = None
    edits: list[Edit] | None = None


class ContextUndoResult(Wire):
    """The session with the earlier view."""

    revision: Count
    generation: Count
    projection: Projection
