"""Typed task state: what a compaction carries on, as data and never as prose to be read back."""

from __future__ import annotations

from typing import Literal

import msgspec

Topic = Literal[
    "Objective and constraints",
    "Decisions and rationale",
    "Workspace mutations",
    "Verification evidence",
    "Active tasks and background work",
    "Open risks or blockers",
    "Exact next action",
]


class Quote(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The user's own words. `message_id` is where they were said.

    `superseded_by` is the id of a newer message that replaced them. `about` is the earlier statement,
    its old value left out, without which words like "make that 12" say nothing.
    """

    text: str
    message_id: str
    superseded_by: str | None = None
    about: str = ""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A decision of the session; `at_turn` 0 is the first user turn."""

    at_turn: int
    summary: str
    rationale: str | None = None
    stale: bool = False


class Mutation(msgspec.Struct, frozen=True, rename="camel"):
    """A file the session changed. `role` says how (`edited`, `written`)."""

    path: str
    role: str


class ExactRecord(msgspec.Struct, frozen=True, rename="camel"):
    """An `EXACT CONTINUATION RECORD` line (E §6.7), from a user or host message only."""

    heading: Topic
    payload: str


StepStatus = Literal["pending", "inProgress", "completed", "cancelled"]


class PlanStep(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One step of an agent's plan. `id` is the host's, where it gives steps ids."""

    title: str
    status: StepStatus
    id: str = ""


class PlanSnapshot(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The agent's plan as the call in message `message_id` set it: steps, or prose that was agreed on."""

    message_id: str
    steps: tuple[PlanStep, ...] = ()
    text: str = ""


class SessionSummary(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Task state, schema version 1 (protocol.md, section 3)."""

    schema_version: int = 1
    goal: str = ""
    constraints: tuple[Quote, ...] = ()
    decisions: tuple[Decision, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    evidence: tuple[str, ...] = ()
    progress_done: tuple[str, ...] = ()
    progress_in_progress: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    exact_records: tuple[ExactRecord, ...] = ()
    plan: PlanSnapshot | None = None
