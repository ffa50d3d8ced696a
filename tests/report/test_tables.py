"""What a person reads holds the figures, and faults are named."""

from __future__ import annotations

import io

from rich.console import Console

from ctxd.importers.steps import Note
from ctxd.report.figures import (
    Accuracy,
    Compaction,
    Comparison,
    FileReport,
    Managed,
    ReplayReport,
    Simulation,
    Spread,
)
from ctxd.report.tables import print_report
from ctxd.report.tool_outputs import Recovery


def managed(**changed: object) -> Managed:
    fields: dict[str, object] = {
        "window": 60_000,
        "requests": 225,
        "largest": 47_111,
        "elisions": 31,
        "stages": {"elision: stale": 7},
        "compactions": (Compaction("long", 12, 48_000, 21_000),),
        "outputs": Recovery(206, 150, 150, ()),
        "violations": (),
        "overflows": (),
        "over_budget": 0,
        "simulations": (Simulation(1.25, 42_404, 15_000),),
        "calls": {"context/prepare": Spread(225, 1.25, 9.5)},
        "thresholds": None,
        "timeline": (),
    }
    return Managed(**{**fields, **changed})


def render(run: Managed) -> str:
    comparison = Comparison(
        line=1,
        anchored=True,
        predicted=101,
        low=90,
        high=110,
        source="provider",
        reported=100,
        baseline=103,
    )
    file = FileReport(
        file="long.jsonl",
        format="claude-code",
        dialect="anthropic",
        managed_as="anthropic",
        left_behind={},
        sessions=1,
        responses=225,
        notes=(Note("fusedLine", 1, (128,)),),
        accuracy=Accuracy.of([comparison]),
        recorded=(comparison,),
        recorded_violations=(),
        managed=(run,),
    )
    console = Console(file=io.StringIO(), width=160)
    print_report(console, ReplayReport(ok=file.ok, files=(file,)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_clean_replay_shows_every_figure() -> None:
    shown = render(managed())
    for expected in (
        "long.jsonl",
        "1 x fusedLine (line 128)",
        "1.00 %",
        "3.00 %",
        "100.0%",
        "47,111",
        "15,000 (42,404)",
        "48,000 -> 21,000 tokens",
        "1.2 / 9.5",
        "by elision: stale",
    ):
        assert expected in shown
    assert shown.rstrip().endswith("\nclean")


def test_faults_are_named_and_the_verdict_follows() -> None:
    shown = render(
        managed(
            violations=tuple(f"long, line {n}: [bold] blank text" for n in range(12)),
            overflows=("long, line 9: 61000 tokens",),
            outputs=Recovery(206, 150, 149, ("toolu_1",)),
        )
    )
    assert "wire violations in 60,000: 12" in shown
    assert "line 3: [bold] blank text" in shown
    assert "line 11:" not in shown
    assert "line 9: 61000 tokens" in shown
    assert "toolu_1" in shown
    assert shown.rstrip().endswith("not clean")
