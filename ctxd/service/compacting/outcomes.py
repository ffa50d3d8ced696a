"""What came of a compaction, in the words of its report: counted from results, never from intents."""

from __future__ import annotations

from ctxd.compaction.audit import audit
from ctxd.model.events import Kept, Placed
from ctxd.service.compacting.compactions import Compaction, Job, Outcome, Size, Snapshot
from ctxd.service.compacting.replacing import Drafted
from ctxd.service.compacting.summaries import Summarised
from ctxd.service.session import Session

_NOBODYS_FAULT = ("noSampler", "nothingToSummarise")


def ended(
    job: Job, snapshot: Snapshot, outcome: Outcome, summary: Summarised, failure: str = ""
) -> Compaction:
    """An attempt that left the view as it was. `failure` is why; else why there is no summary."""
    return Compaction(
        outcome,
        job.trigger,
        job.reason,
        snapshot.before,
        snapshot.before,
        snapshot.goal,
        snapshot.projection.floor,
        failure=failure or _why_plain(job, summary),
        attempts=summary.attempts,
        reductions=summary.reductions,
        usage=summary.usage,
    )


def planned(session: Session, job: Job, snapshot: Snapshot, made: Drafted, summary: Summarised) -> Compaction:
    """An attempt that is ready to be committed."""
    plan = made.plan
    kept = {item.message_id for item in made.replacement if isinstance(item, Kept)}
    placed = [item.facts for item in made.replacement if isinstance(item, Placed)]
    size = sum(entry.size for entry in snapshot.entries if entry.facts.id in kept)
    size += sum(facts.bytes for facts in placed)
    stored = session.state.positions.keys()
    return Compaction(
        outcome="planned",
        trigger=job.trigger,
        reason=job.reason,
        before=snapshot.before,
        after=Size(plan.after, len(made.replacement), size),
        target=plan.target,
        floor=snapshot.projection.floor,
        strategy="model" if summary.digest is not None else "deterministic",
        units=plan.units,
        summary=plan.state,
        audit=audit(snapshot.entries, kept, made.shown, plan.binding, plan.state.exact_records, stored),
        preserved=made.preserved,
        failure=_why_plain(job, summary),
        attempts=summary.attempts,
        reductions=summary.reductions,
        usage=summary.usage,
        files=plan.files,
    )


def _why_plain(job: Job, summary: Summarised) -> str:
    """Why a summary that was wanted is not in use; else what became of the hook; "" for nothing to tell.

    That there is nobody to ask, or nothing to ask about, is told only to those who asked for a model.
    """
    if summary.failure and (summary.failure not in _NOBODYS_FAULT or job.strategy == "model"):
        return summary.failure
    return job.hook_failure
