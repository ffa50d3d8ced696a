"""What a compaction is asked for and what it answers."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from ctxd.compaction.audit import Audit
from ctxd.compaction.preservation import Preserved
from ctxd.compaction.restoration import Restored
from ctxd.compaction.sampling import Sampling
from ctxd.core.fold import Entry
from ctxd.core.projection import Projection
from ctxd.model.events import CompactionReason, Strategy, Trigger, UnitFate
from ctxd.model.messages import Native
from ctxd.model.summary import SessionSummary
from ctxd.service.compacting.replacing import Drafted
from ctxd.service.host import SampleRequest

Outcome: TypeAlias = Literal[
    "applied", "planned", "inputRequired", "noop", "blocked", "failed", "cannotReach"
]
Asked: TypeAlias = Literal["auto", "model", "deterministic"]

CHECKPOINT_VERSION = 1


class Size(msgspec.Struct, frozen=True):
    """A view or its beginning: calibrated tokens of its messages, how many, and their bytes."""

    tokens: int
    messages: int
    bytes: int


class Job(msgspec.Struct, frozen=True):
    """One request for a compaction. `requested` is a target in tokens, `up_to` a message id.

    `hook_failure` says why the host's hook had no word in it.
    """

    trigger: Trigger
    reason: CompactionReason
    strategy: Asked = "auto"
    requested: int | None = None
    up_to: str | None = None
    instructions: str = ""
    dry_run: bool = False
    delivery: Literal["request", "inline"] = "request"
    hook_failure: str = ""


class Remembered(msgspec.Struct, frozen=True):
    """What a compaction left in the workspace's memory. `failure` is an error kind.

    `rejected` entries held secrets or found their topic full, `duplicates` were there already.
    """

    outcome: Literal["written", "nothing", "disabled", "failed"]
    entries: int = 0
    topics: tuple[str, ...] = ()
    rejected: int = 0
    duplicates: int = 0
    episodes: int = 0
    failure: str = ""


class Compaction(msgspec.Struct, frozen=True):
    """The outcome of one attempt.

    `failure` names a reason when the outcome is no success, or when it is one without the summary
    that was wanted. `attempts` are samples taken from a model, `reductions` steps by which its input
    had to shrink, `usage` what all samples reported together.
    """

    outcome: Outcome
    trigger: Trigger
    reason: CompactionReason
    before: Size
    after: Size
    target: int
    floor: int
    strategy: Strategy | None = None
    checkpoint_id: str = ""
    plan_id: str = ""
    units: tuple[UnitFate, ...] = ()
    summary: SessionSummary | None = None
    audit: Audit | None = None
    preserved: Preserved | None = None
    failure: str = ""
    attempts: int = 0
    reductions: int = 0
    usage: dict[str, Any] | None = None
    sampling: SampleRequest | None = None
    files: Restored = Restored()
    remembered: Remembered | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """The part of a view that is to be replaced, as it stood. `end` is exclusive.

    `entries` are copies: whatever happens to the view meanwhile, a plan is made of what was read.
    """

    entries: tuple[Entry, ...]
    natives: tuple[Native, ...]
    end: int
    generation: int
    revision: int
    before: Size
    goal: int
    projection: Projection


class Waiting(msgspec.Struct, frozen=True):
    """A compaction that waits for the host's text: `request` is what its model should be asked.

    `plain` is what is done without one.
    """

    job: Job
    snapshot: Snapshot
    sampling: Sampling
    plain: Drafted
    request: SampleRequest


class Planned(msgspec.Struct, frozen=True):
    """A plan that can be committed while the session stands at `revision`."""

    report: Compaction
    drafted: Drafted
    covers: int
    revision: int
