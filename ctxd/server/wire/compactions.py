"""`context/compact` and the report of a compaction (protocol.md, section 3)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, JsonObject, SessionParams, Wire
from ctxd.server.wire.hosts import SamplingCreateMessageParams
from ctxd.server.wire.sessions import Fidelity

Trigger = Literal["manual", "auto"]
CompactionReason = Literal["threshold", "contextLimit", "turnLimit", "manual", "modelChange"]
CompactionOutcome = Literal["applied", "planned", "inputRequired", "noop", "blocked", "failed", "cannotReach"]
ProgressToken = str | int


class Size(Wire):
    """A size of the model view."""

    tokens: Count
    messages: Count
    bytes: Count


class UnitReport(Wire):
    """What became of a message unit (a message, or a tool turn)."""

    message_ids: list[str]
    fidelity: Fidelity
    handle: str | None = Field(default=None, description="Fetches what is no longer shown.")


class Quote(Wire):
    """The user's own words."""

    text: str
    message_id: str = Field(description="Where they were said.")
    superseded_by: str | None = Field(
        default=None, description="Message id of a newer statement on the same subject."
    )
    about: str | None = Field(
        default=None, description="The earlier statement that words like `make that 12` are about."
    )


class Decision(Wire):
    """A decision of the session."""

    at_turn: Count = Field(description="0 is the first user turn.")
    summary: str
    rationale: str | None = None
    stale: bool | None = Field(default=None, description="True once it no longer holds.")


class Mutation(Wire):
    """A file the session changed."""

    path: str
    role: str = Field(description="How: `edited`, `written`.")


class ExactRecord(Wire):
    """A line that is to be carried on word for word."""

    heading: str = Field(description="One of the seven headings of a summary.")
    payload: str


class PlanStep(Wire):
    """A step of the agent's plan."""

    text: str
    status: Literal["pending", "inProgress", "completed", "cancelled"]


class PlanSnapshot(Wire):
    """The agent's plan as its todo or plan tool last set it: steps, or prose that was agreed on."""

    message_id: str = Field(description="The message with that call.")
    steps: list[PlanStep]
    text: str | None = None


class SessionSummary(Wire):
    """Typed task state that a compaction carries on."""

    schema_version: Literal[1]
    goal: str
    constraints: list[Quote]
    decisions: list[Decision]
    mutations: list[Mutation]
    evidence: list[str] = Field(description="What was verified, and how.")
    progress_done: list[str]
    progress_in_progress: list[str]
    risks: list[str]
    next_steps: list[str]
    exact_records: list[ExactRecord]
    plan: PlanSnapshot | None = None


class ConstraintAudit(Wire):
    """Counts of constraint quotes."""

    total: Count
    verbatim: Count = Field(description="Still word for word in the view.")
    reinjected: Count = Field(description="Put back by the daemon.")


class RecordAudit(Wire):
    """Counts of exact records."""

    total: Count
    verbatim: Count


class ArtifactAudit(Wire):
    """Counts of artifacts declared by contract."""

    total: Count
    referenced: Count
    reinjected: Count


class InvariantAudit(Wire):
    """Counts of invariants declared by contract."""

    total: Count
    held: Count
    reinjected: Count


class ToolOutputAudit(Wire):
    """Counts of tool outputs that left the view."""

    evicted: Count
    recoverable: Count = Field(description="Can be fetched back byte for byte.")


class FileAudit(Wire):
    """Counts of file paths mentioned."""

    before: Count
    after: Count
    recoverable: Count


class Audit(Wire):
    """What a compaction kept, counted."""

    constraints: ConstraintAudit
    exact_records: RecordAudit
    artifacts: ArtifactAudit
    invariants: InvariantAudit
    tool_outputs: ToolOutputAudit
    files_mentioned: FileAudit


class CacheCost(Wire):
    """What rewriting the cached prefix costs, in tokens of plain input."""

    write_tokens: Count
    saved_tokens: Count = Field(description="Saved by each later call.")
    break_even_calls: Count = Field(description="Calls after which it has paid off.")
    write_usd: float | None = Field(
        default=None, description="What writing it costs, US dollars, where the catalog knows the price."
    )
    saved_usd: float | None = Field(default=None, description="What each later call saves, US dollars.")


class CacheReport(Wire):
    """What the request does to a provider's prompt cache, against the session's previous `prepare`."""

    stable_prefix_messages: Count = Field(description="Leading messages that are byte-equal to last time.")
    invalidated_at: Count | None = Field(default=None, description="Index of the first message that is not.")
    reason: str | None = Field(default=None, description="Why the prefix changed.")
    cost: CacheCost | None = None


class RestoredFile(Wire):
    """A recently touched file put back after a checkpoint."""

    path: str
    bytes: Count
    changed: bool = Field(description="Whether it is known to have changed since the session last saw it.")
    changed_since: Literal["changed", "unchanged", "unknown"] | None = Field(
        default=None, description="The same, with what cannot be told said."
    )
    lines: Count | None = Field(default=None, description="Leading lines that are shown.")
    digest: str | None = Field(default=None, description="`sha256:<hex>` of the whole file.")


class RejectedFile(Wire):
    """A recently touched file that is not put back."""

    path: str
    reason: str = Field(
        description="An error kind (`outsideWorkspace`, `sensitive`, …), `binary`, `generated`, `empty`, "
        "`inView` or `noRoom`."
    )


class RememberedReport(Wire):
    """What a compaction left in the workspace's memory."""

    outcome: Literal["written", "nothing", "disabled", "failed"]
    entries: Count = Field(description="Entries added, in the user's own words.")
    topics: list[str] = Field(description="Where they were added.")
    rejected: Count = Field(description="Entries that hold secrets, or whose topic is full.")
    duplicates: Count = Field(description="Entries that were there already.")
    episodes: Count = Field(description="Episodes kept for `memory/search`.")
    failure: str | None = Field(default=None, description="With `failed`: an error kind.")


class CompactionReport(Wire):
    """What a compaction did, would do, or could not do."""

    outcome: CompactionOutcome
    strategy: Literal["model", "deterministic", "elision"] | None = None
    trigger: Trigger
    reason: CompactionReason
    checkpoint_id: str | None = None
    plan_id: str | None = Field(default=None, description="For `context/commit`.")
    before: Size
    after: Size
    target: Count = Field(description="Tokens that were aimed at.")
    floor: Count = Field(description="What cannot be compacted, tokens.")
    units: list[UnitReport]
    ledger: SessionSummary | None = Field(default=None, description="The task state carried on.")
    audit: Audit
    restored_files: list[RestoredFile]
    rejected_files: list[RejectedFile] | None = Field(
        default=None, description="Recently touched files that are not put back, the newest of them."
    )
    memory: RememberedReport | None = Field(
        default=None, description="What was remembered after an applied checkpoint; it cannot make one fail."
    )
    pins: Count = Field(description="Pinned messages and texts kept whole.")
    attempts: Count = Field(description="Samples taken from a model.")
    input_reductions: Count = Field(description="Times the summariser's input had to shrink.")
    usage: JsonObject | None = Field(default=None, description="Usage the summariser reported, native.")
    failure_reason: str | None = None
    cache: CacheReport
    sampling: SamplingCreateMessageParams | None = Field(
        default=None, description="With `inputRequired`: what the host should ask its model."
    )


class ContextCompactParams(SessionParams):
    """Parameters of `context/compact`."""

    trigger: Trigger = "manual"
    strategy: Literal["auto", "model", "deterministic"] = Field(
        default="auto",
        description="`model` always asks for a summary, `deterministic` never; `auto` may stop at elision.",
    )
    instructions: str | None = Field(default=None, description="What the summary is to look after.")
    up_to: str | None = Field(default=None, description="Message id; what is newer stays as it is.")
    target_tokens: int | None = Field(default=None, ge=1, description="Size to aim at, tokens.")
    dry_run: bool = Field(default=False, description="Answer the plan, change nothing.")
    delivery: Literal["request", "inline"] = Field(
        default="request",
        description="How the host gives a summary: asked by the daemon, or with `context/commit`.",
    )
    work_done_token: ProgressToken | None = Field(default=None, description="Token for `$/progress`.")


class ContextCommitParams(SessionParams):
    """Parameters of `context/commit`."""

    plan_id: str = Field(min_length=1, description="From a dry run, or from a report that asks for input.")
    summary: str | None = Field(default=None, description="The model's text, where the plan asked for one.")


class ContextUndoParams(SessionParams):
    """Parameters of `context/undo`."""

    checkpoint_id: str | None = Field(default=None, description="The newest that stands, when absent.")
