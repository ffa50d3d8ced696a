"""`contract/*`: what a session must preserve and deliver, and how far it is (protocol.md, section 7)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ctxd.server.wire.base import Count, Input, SessionParams, Wire


class Artifact(Input):
    """Files to deliver."""

    name: str = Field(min_length=1, max_length=200)
    pattern: str = Field(
        min_length=1, max_length=1000, description="Path pattern; `*`, `?`, and `**` across folders."
    )


class Validator(Input):
    """A check whose outcomes the host records."""

    id: str = Field(min_length=1, max_length=200)
    required: bool = Field(default=True, description="False: it only warns.")
    phase: str = Field(default="completion", max_length=64, description="When the host runs it.")


class ContractDeclareParams(SessionParams):
    """Parameters of `contract/declare`; replaces the contract before it."""

    artifacts: list[Artifact] = Field(description="What is to be delivered.")
    invariants: list[Annotated[str, Field(min_length=1)]] = Field(
        description="Sentences to keep word for word once they were said."
    )
    validators: list[Validator] = Field(default_factory=list)


class ContractRecordParams(SessionParams):
    """Parameters of `contract/record`: how a run of a declared validator ended."""

    validator_id: str = Field(min_length=1, max_length=200)
    status: Literal["pass", "fail", "timeout", "error"]
    reason: str | None = Field(default=None, max_length=4000, description="The host's words, for people.")
    evidence_path: str | None = Field(
        default=None, min_length=1, max_length=1000, description="A file of the workspace with the evidence."
    )
    tool_call_id: str | None = Field(
        default=None, min_length=1, description="The call whose output is the evidence; it is not elided."
    )
    duration_ms: Count | None = Field(default=None, description="How long the run took, milliseconds.")


class ContractRecordResult(Wire):
    """The outcome is on disk, bound to the workspace's files as they are."""

    revision: Count


class ContractStatusParams(SessionParams):
    """Parameters of `contract/status`."""


class ContractLack(Wire):
    """Something that is missing, or a warning."""

    kind: Literal["contract", "workspace", "artifact", "validator"]
    reason: str = Field(
        description="`undeclared`; of an artifact `noFile` or an error kind; of a validator `notRun`, "
        "`fail`, `timeout`, `error`, or `stale`: it passed, and files it was about have changed."
    )
    name: str | None = Field(default=None, description="The artifact's name or the validator's id.")
    pattern: str | None = Field(default=None, description="An artifact's pattern.")
    phase: str | None = Field(default=None, description="A validator's phase.")
    detail: str | None = Field(default=None, description="The reason the host gave with the outcome.")


class ContractStatusResult(Wire):
    """Whether all that is required is there."""

    ready: bool = Field(description="Whether nothing is missing.")
    missing: list[ContractLack]
    warnings: list[ContractLack] = Field(description="What is optional and not there.")
