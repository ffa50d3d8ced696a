"""What a session is to deliver: declared, and how its validators' runs ended."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ctxd.model.event import Event

Verdict: TypeAlias = Literal["pass", "fail", "timeout", "error"]


class Artifact(msgspec.Struct, frozen=True):
    """Files a session is to deliver, by a path pattern."""

    name: str
    pattern: str


class Validator(msgspec.Struct, frozen=True):
    """A check whose outcomes the host records. `phase` is the host's own word for when it runs."""

    id: str
    required: bool
    phase: str


class ContractDeclared(Event, frozen=True, tag="contractDeclared", gc=False):
    """What must be preserved and delivered; replaces any contract before it."""

    artifacts: tuple[Artifact, ...]
    invariants: tuple[str, ...]
    validators: tuple[Validator, ...] = ()


class ValidatorRecorded(Event, frozen=True, tag="validatorRecorded", gc=False):
    """The outcome of a validator's run, bound to the workspace as it was then.

    `subject` is the digest of the files it speaks of (`sha256:<hex>`), "" where they could not be read.
    `evidence_path` and `call_id` name where its evidence is; `reason` is the host's. Milliseconds.
    """

    validator_id: str
    status: Verdict
    subject: str
    reason: str = ""
    evidence_path: str = ""
    call_id: str = ""
    duration_ms: int | None = None
