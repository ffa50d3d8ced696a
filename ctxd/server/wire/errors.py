"""The `data` of errors (protocol.md, sections 1 and 10): every kind with the facts it carries."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, Wire
from ctxd.server.wire.context import Violation
from ctxd.server.wire.recall import RecallCandidate
from ctxd.server.wire.sessions import Holder

Kind = Literal[
    "parseError",
    "invalidRequest",
    "unknownMethod",
    "notInitialized",
    "cancelled",
    "internal",
    "invalidParams",
    "sessionNotFound",
    "sessionLocked",
    "readOnly",
    "revisionConflict",
    "invalidMessages",
    "unknownDialect",
    "blocked",
    "busy",
    "cannotReach",
    "checkpointFailed",
    "storageFull",
    "storageFailed",
    "damaged",
    "notFound",
    "ambiguous",
    "corrupt",
    "expired",
    "outsideWorkspace",
    "symlinkRefused",
    "notRegularFile",
    "tooLarge",
    "sensitive",
    "noSampler",
    "timeout",
]


class FieldError(Wire):
    """One field that is wrong."""

    path: str = Field(description="Dotted: `messages.3.content.0.text`; empty for the parameters as a whole.")
    message: str = Field(description="What is wrong with it; never its value.")


class ErrorData(Wire):
    """The `data` of an error. Hosts switch on `kind`; the other members are facts of some kinds."""

    kind: Kind
    hint: str | None = Field(default=None, description="What to do about it.")
    errors: list[FieldError] | None = Field(default=None, description="`invalidParams`.")
    violations: list[Violation] | None = Field(default=None, description="`invalidMessages`.")
    holder: Holder | None = Field(default=None, description="`sessionLocked`.")
    expected: Count | str | None = Field(
        default=None, description="`revisionConflict`: what the caller sent."
    )
    actual: Count | str | None = Field(
        default=None, description="`revisionConflict`: the session's revision, or the topic's digest."
    )
    paths: list[str] | None = Field(
        default=None, description="`revisionConflict` of files: those the session did not edit, at most 50."
    )
    floor: Count | None = Field(default=None, description="`cannotReach`, tokens.")
    target: Count | None = Field(default=None, description="`cannotReach`, tokens.")
    candidates: list[RecallCandidate] | None = Field(default=None, description="`ambiguous`.")
    rule: str | None = Field(
        default=None, description="`sensitive`: the rule that matched, never the secret."
    )
    bytes: Count | None = Field(default=None, description="`tooLarge`: size given.")
    limit: Count | None = Field(default=None, description="`tooLarge`: size allowed, bytes.")
    tokens: Count | None = Field(None, description="`tooLarge`: size given, of a pin.")
    budget: Count | None = Field(None, description="`tooLarge`: tokens that pins may have together.")
    dialects: list[str] | None = Field(None, description="`unknownDialect`: those there are.")
    id: int | str | None = Field(None, description="`invalidRequest`: the id of a request that still runs.")
    session_id: str | None = Field(None, description="`sessionNotFound`: the id given.")
    request_id: str | None = Field(None, description="`notFound`: the request nobody prepared last.")
    plan_id: str | None = Field(None, description="`notFound`: the plan that is not kept.")
    pin_id: str | None = Field(None, description="`notFound`: the pin there is not.")
    field: str | None = Field(None, description="`notFound`: the parameter that names nothing.")
    topics: list[str] | None = Field(None, description="`notFound`: the topics there are.")
    digest: str | None = Field(None, description="`corrupt`, `notFound`: `sha256:<hex>` of the bytes.")
    segment: Count | None = Field(None, description="`corrupt`: number of the log's segment.")
    offset: Count | None = Field(None, description="`corrupt`: where in the segment, bytes.")
    errno: int | None = Field(None, description="`storageFull`, `storageFailed`: the system's error number.")
    cause: str | None = Field(None, description="`checkpointFailed`: the error kind behind it.")
    error_id: str | None = Field(default=None, description="`internal`: names the entry in the daemon's log.")


class ResponseError(Wire):
    """An error object of JSON-RPC."""

    code: int
    message: str = Field(description="For people. No content, no traceback.")
    data: ErrorData
