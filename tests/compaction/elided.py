"""Short sessions to elide in, and what a pass makes of them."""

from __future__ import annotations

from ctxd.compaction import elision
from ctxd.compaction.elision import Batch, Pressure, candidates
from ctxd.core.budget import Limits
from ctxd.model.settings import CacheOptions, ElisionOptions
from tests.support.session import Session, count

OPTIONS = ElisionOptions()
NOTHING_RECENT = ElisionOptions(recent_files=0)
LIMITS = Limits(window=110_000, reserve=10_000, available=100_000, handoff=70_000, compaction=80_000)


def turn(number: int, tool: str = "Bash", size: int = 2_000, mark: str = "", path: str = "") -> str:
    """One tool turn with a result of `size` bytes."""
    about = f"path={path}" if path else f"command=run{number}"
    return f"call c{number} {tool} {about}\nresult{mark} c{number} {size}: out{number}"


def chat(*parts: str) -> str:
    return "\n\n".join(parts)


def asks(number: int) -> str:
    return chat(*(f"user: ask {n}\n\nassistant: yes" for n in range(number)))


def named(
    session: Session,
    options: ElisionOptions = NOTHING_RECENT,
    kind: elision.Pass = "full",
    *,
    expired: bool = False,
    protected: tuple[str, ...] = (),
) -> dict[str, str]:
    """Call id to reason of every candidate."""
    found = candidates(session.state, kind, options, count=count, expired=expired, protected=protected)
    return {c.elision.call_id: c.elision.reason for c in found}


def planned(
    session: Session,
    tokens: int,
    options: ElisionOptions = NOTHING_RECENT,
    *,
    kind: elision.Pass = "full",
    limits: Limits | None = LIMITS,
    calls: int = 0,
    expired: bool = True,
    cache: CacheOptions | None = None,
) -> Batch | None:
    return elision.plan(
        session.state,
        kind,
        Pressure(tokens, 1.0, limits, calls),
        options,
        cache or CacheOptions(),
        count=count,
        expired=expired,
    )


def ids(batch: Batch | None) -> list[str]:
    return [] if batch is None else [e.call_id for e in batch.elisions]
