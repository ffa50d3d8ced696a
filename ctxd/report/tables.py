"""A replay's figures as tables for people.

Owns wording and layout. Computes nothing that `figures` does not hold.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ctxd.report.figures import Accuracy, FileReport, Managed, ReplayReport

_MOST_FAULTS = 10


def print_report(console: Console, report: ReplayReport) -> None:
    """Everything that was replayed, then one line of verdict."""
    for file in report.files:
        _print_file(console, file)
    console.print("[green]clean[/]" if report.ok else "[bold red]not clean[/]")


def _print_file(console: Console, file: FileReport) -> None:
    console.rule(
        f"[bold]{file.file}[/]  {file.format}, {file.sessions} session(s), {file.responses} responses"
    )
    for note in file.notes:
        lines = ", ".join(map(str, note.lines)) + (", ..." if note.count > len(note.lines) else "")
        console.print(f"[dim]import: {note.count} x {note.kind} (line {lines})[/]", highlight=False)
    if file.accuracy is not None:
        console.print(_accuracy_table(file.accuracy))
    _print_faults(console, "wire violations as recorded", file.recorded_violations)
    if file.managed:
        console.print(_managed_table(file.managed))
        console.print(_calls_table(file.managed))
    for run in file.managed:
        _print_compactions(console, run)
        _print_faults(console, f"wire violations in {run.window:,}", run.violations)
        _print_faults(console, f"above {run.window:,} unannounced", run.overflows)
        _print_faults(console, f"tool outputs lost in {run.window:,}", run.outputs.lost)


def _accuracy_table(accuracy: Accuracy) -> Table:
    table = Table(title="Predicted against reported prompt size, as recorded", title_justify="left")
    for name in ("", "requests", "median |error|", "p95 |error|", "inside low..high"):
        table.add_column(name, justify="right" if name else "left")
    anchored, baseline, first = accuracy.anchored, accuracy.baseline, accuracy.unanchored
    table.add_row(
        "ctxd, usage known", str(anchored.count), *_errors(anchored.median, anchored.p95),
        f"{accuracy.inside_anchored:.1%}",
    )  # fmt: skip
    table.add_row(
        "last usage + o200k of the rest", str(baseline.count), *_errors(baseline.median, baseline.p95), "-"
    )
    table.add_row(
        "ctxd, first request of an epoch", str(first.count), *_errors(first.median, first.p95),
        f"{accuracy.inside_unanchored:.1%}",
    )  # fmt: skip
    table.add_section()
    table.add_row("all", str(accuracy.requests), "", "", f"{accuracy.inside:.1%}")
    return table


def _managed_table(runs: tuple[Managed, ...]) -> Table:
    table = Table(title="Managed by ctxd (prompt sizes simulated from what was sent)", title_justify="left")
    table.add_column("window")
    for run in runs:
        table.add_column(f"{run.window:,}", justify="right")
    rows = {
        "requests": [f"{run.requests:,}" for run in runs],
        "largest prompt, simulated": [f"{run.largest:,}" for run in runs],
        "  of it fixed (recorded), median": [_fixed(run) for run in runs],
        "elisions": [f"{run.elisions:,}" for run in runs],
        "compactions": [str(len(run.compactions)) for run in runs],
        "tool outputs": [f"{run.outputs.outputs:,}" for run in runs],
        "  evicted from the view": [f"{run.outputs.evicted:,}" for run in runs],
        "  of these back byte for byte": [f"{run.outputs.recovered:,}" for run in runs],
        "wire violations": [str(len(run.violations)) for run in runs],
        "above the window, announced": [str(run.over_budget) for run in runs],
        "above the window, unannounced": [str(len(run.overflows)) for run in runs],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    stages = sorted({stage for run in runs for stage in run.stages})
    if stages:
        table.add_section()
    for stage in stages:
        table.add_row(f"prepare: {stage}", *(f"{run.stages.get(stage, 0):,}" for run in runs))
    return table


def _calls_table(runs: tuple[Managed, ...]) -> Table:
    table = Table(title="Time per call as the host waits, ms (p50 / p95)", title_justify="left")
    table.add_column("method")
    for run in runs:
        table.add_column(f"{run.window:,}", justify="right")
    for method in sorted({method for run in runs for method in run.calls}):
        cells = []
        for run in runs:
            times = run.calls.get(method)
            cells.append(f"{times.median:.1f} / {times.p95:.1f}" if times else "-")
        table.add_row(method, *cells)
    return table


def _print_compactions(console: Console, run: Managed) -> None:
    for compaction in run.compactions[:_MOST_FAULTS]:
        console.print(
            f"compaction in {run.window:,} before request {compaction.request + 1}: "
            f"{compaction.before:,} -> {compaction.after:,} tokens",
            highlight=False,
        )
    if len(run.compactions) > _MOST_FAULTS:
        console.print(f"... and {len(run.compactions) - _MOST_FAULTS} more compactions in {run.window:,}")


def _print_faults(console: Console, title: str, faults: tuple[str, ...]) -> None:
    if not faults:
        return
    console.print(f"[bold red]{title}: {len(faults)}[/]")
    for fault in faults[:_MOST_FAULTS]:
        console.print(f"  {fault}", markup=False, highlight=False)


def _errors(median: float, p95: float) -> tuple[str, str]:
    return f"{median:.2f} %", f"{p95:.2f} %"


def _fixed(run: Managed) -> str:
    """Fixed part as simulated, and as recorded, of the middle session."""
    ranked = sorted(run.simulations, key=lambda simulation: simulation.fixed_recorded)
    middle = ranked[len(ranked) // 2]
    return f"{middle.fixed:,} ({middle.fixed_recorded:,})"
