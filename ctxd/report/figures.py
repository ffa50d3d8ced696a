"""What a replay measured, as frozen data. The JSON output is exactly this."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxd.importers.steps import Note
from ctxd.report.tool_outputs import Recovery


class _Figures(msgspec.Struct, frozen=True, rename="camel"):
    """Base: camelCase in JSON."""


class Spread(_Figures, frozen=True):
    """How a list of numbers lies. All 0 when `count` is 0."""

    count: int
    median: float
    p95: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Nearest-rank median and 95th percentile."""
        if not values:
            return cls(0, 0.0, 0.0)
        ranked = sorted(values)
        return cls(
            len(ranked), ranked[(len(ranked) - 1) // 2], ranked[min(len(ranked) - 1, len(ranked) * 95 // 100)]
        )


class Comparison(_Figures, frozen=True):
    """One request as recorded: what was predicted and what the provider reported, tokens.

    `anchored`: usage had been reported earlier in the epoch. `baseline` is the usage before plus the
    o200k count of what came after it, None where there was none. `source` is the projection's own word.
    """

    line: int
    anchored: bool
    predicted: int
    low: int
    high: int
    source: str
    reported: int
    baseline: int | None

    @property
    def error(self) -> float:
        """|predicted - reported|, percent of the reported size."""
        return 100 * abs(self.predicted - self.reported) / self.reported

    @property
    def baseline_error(self) -> float:
        """The same for the baseline; 0 without one."""
        return 0.0 if self.baseline is None else 100 * abs(self.baseline - self.reported) / self.reported


class Accuracy(_Figures, frozen=True):
    """Prediction against report over all requests. Errors in percent, shares 0 to 1."""

    requests: int
    anchored: Spread
    baseline: Spread
    unanchored: Spread
    inside: float
    inside_anchored: float
    inside_unanchored: float

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> Accuracy:
        """Sum up single comparisons."""
        anchored = [c for c in comparisons if c.anchored]
        first = [c for c in comparisons if not c.anchored]
        return cls(
            requests=len(comparisons),
            anchored=Spread.of([c.error for c in anchored]),
            baseline=Spread.of([c.baseline_error for c in anchored]),
            unanchored=Spread.of([c.error for c in first]),
            inside=_share_inside(comparisons),
            inside_anchored=_share_inside(anchored),
            inside_unanchored=_share_inside(first),
        )


class Compaction(_Figures, frozen=True):
    """One compaction: the request in front of which it happened (0-based), tokens before and after."""

    session: str
    request: int
    before: int
    after: int


class Moment(_Figures, frozen=True):
    """One request as it was sent, tokens. `tokens` is its simulated size, `predicted` what ctxd foresaw.

    `line` is where its answer stands in the recording. `elisions` and `freed` are of the edits made just
    before it; with `compacted`, they made room by a compaction, from `before` to `after`.
    """

    session: str
    line: int
    tokens: int
    predicted: int
    low: int
    high: int
    phase: str
    elisions: int
    freed: int
    compacted: bool
    before: int
    after: int


class Thresholds(_Figures, frozen=True):
    """Where a window's bands begin, tokens: what input may fill, the handoff, the compaction."""

    available: int
    handoff: int
    compaction: int


class Simulation(_Figures, frozen=True):
    """How prompt sizes are simulated: `fixed` + `density` x o200k of what was sent, tokens.

    `fixed_recorded` is what the first recorded prompt held beside its messages (system, tools).
    """

    density: float
    fixed_recorded: int
    fixed: int


class Managed(_Figures, frozen=True):
    """Sessions replayed under a window, ctxd deciding what is sent.

    `largest` is the biggest simulated prompt. `elisions` counts edits of the view, `stages` what
    `context/prepare` reported, with its reason. `over_budget`: requests above the window that ctxd had
    announced as such; `overflows`: those it had not. `calls`: milliseconds by method. `timeline`: every
    request in order.
    """

    window: int
    requests: int
    largest: int
    elisions: int
    stages: dict[str, int]
    compactions: tuple[Compaction, ...]
    outputs: Recovery
    violations: tuple[str, ...]
    overflows: tuple[str, ...]
    over_budget: int
    simulations: tuple[Simulation, ...]
    calls: dict[str, Spread]
    thresholds: Thresholds | None
    timeline: tuple[Moment, ...]

    @property
    def ok(self) -> bool:
        """Nothing a provider would refuse, no byte lost, no window exceeded in silence."""
        return not (self.violations or self.overflows or self.outputs.lost)


class FileReport(_Figures, frozen=True):
    """One file. `accuracy` is None where nothing was reported in it or the pass was left out.

    `managed_as` is the dialect of the managed pass; `left_behind` counts, by kind, what cannot cross into
    it, and `responses` those that are left there. `recorded`: the requests as they were really sent, where
    their size was reported.
    """

    file: str
    format: str
    dialect: str
    managed_as: str
    left_behind: dict[str, int]
    sessions: int
    responses: int
    notes: tuple[Note, ...]
    accuracy: Accuracy | None
    recorded: tuple[Comparison, ...]
    recorded_violations: tuple[str, ...]
    managed: tuple[Managed, ...]

    @property
    def ok(self) -> bool:
        """Whether every pass over it is clean."""
        return not self.recorded_violations and all(run.ok for run in self.managed)


class ReplayReport(_Figures, frozen=True):
    """Everything that was replayed. `skipped`: files of the folders that hold no session."""

    ok: bool
    files: tuple[FileReport, ...]
    skipped: tuple[str, ...] = ()


def _share_inside(comparisons: Sequence[Comparison]) -> float:
    inside = sum(c.low <= c.reported <= c.high for c in comparisons)
    return inside / len(comparisons) if comparisons else 0.0
