"""`contract/declare`: what a session must preserve and deliver (protocol.md, section 7)."""

from __future__ import annotations

from pydantic import Field

from ctxd.server.wire.base import Input, SessionParams


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
    invariants: list[str] = Field(description="Sentences to keep word for word once they were said.")
    validators: list[Validator] = Field(default_factory=list)
