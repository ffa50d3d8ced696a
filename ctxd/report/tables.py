"""A replay's figures as tables for people.

Owns wording and layout. Computes nothing that `figures` does not hold.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ctxd.report.figures import Accuracy, FileReport, Managed, ReplayReport

_MOST_FAULTS = 10
_MOST_COMPACTIONS = 5


def print_report(console: Console, report: ReplayReport) -> None:
    """Everything that was replayed, then one line of verdict."""
    for file in report.files:
        _print_file(console, file)
    if report.skipped:
        console.print(f"[dim]no session in: {', '.join(report.skipped)}[/]", highlight=False)
    console.print("[green]clean[/]" if report.ok else "[bold red]not clean[/]")


def _print_file(console: Console, file: FileReport) -> None:
    console.rule(
        f"[bold]{file.file}[/]  {file.format}, {file.sessions} session(s), {file.responses} responses"
    )
    for note in file.notes:
        lines = ", ".join(map(str, note.lines)) + (", ..." if note.count > len(note.lines) else "")
        console.print(f"[dim]import: {note.count} x {note.kind} (line {lines})[/]", highlight=False)
    if file.accuracy is not None:
        console.print("\nPredicted against reported prompt size, as recorded")
        console.print(_accuracy_table(file.accuracy))
        if file.format == "claude-code":
            console.print("[dim]first of an epoch: system prompt and tools are not in the recording[/]")
    _print_faults(console, "wire violations as recorded", file.recorded_violations)
    if file.managed:
        if file.managed_as != file.dialect:
            left = ", ".join(f"{count} x {kind}" for kind, count in file.left_behind.items()) or "nothing"
            console.print(f"\nTranslated to {file.managed_as}; left behind: {left}", highlight=False)
        console.print("\nManaged by ctxd; prompt sizes are simulated from what was sent")
        console.print(_managed_table(file.managed))
        console.print("[dim]fixed: what a prompt holds beside messages, at most a quarter of the window[/]")
        console.print("\nTime per call as the host waits, ms: p50 / p95", highlight=False)
        console.print(_calls_table(file.managed))
    for run in file.managed:
        _print_compactions(console, run)
        _print_faults(console, f"wire violations in {run.window:,}", run.violations)
        _print_faults(console, f"silently above {run.window:,}", run.overflows)
        _print_faults(console, f"tool outputs lost in {run.window:,}", run.outputs.lost)


def _accuracy_table(accuracy: Accuracy) -> Table:
    table = _table("|error|", "requests", "median", "p95", "inside low..high")
    rows = (
        ("ctxd, usage known", accuracy.anchored, f"{accuracy.inside_anchored:.1%}"),
        ("baseline: last usage + o200k", accuracy.baseline, "-"),
        ("ctxd, first of an epoch", accuracy.unanchored, f"{accuracy.inside_unanchored:.1%}"),
    )
    for name, spread, inside in rows:
        table.add_row(name, str(spread.count), f"{spread.median:.2f} %", f"{spread.p95:.2f} %", inside)
    table.add_section()
    table.add_row("all", str(accuracy.requests), "", "", f"{accuracy.inside:.1%}")
    return table


def _managed_table(runs: tuple[Managed, ...]) -> Table:
    table = _table("window", *(f"{run.window:,}" for run in runs))
    rows = {
        "requests": [f"{run.requests:,}" for run in runs],
        "largest prompt": [f"{run.largest:,}" for run in runs],
        "  of it fixed (recorded)": [_fixed(run) for run in runs],
        "elisions": [f"{run.elisions:,}" for run in runs],
        "compactions": [str(len(run.compactions)) for run in runs],
        "tool outputs": [f"{run.outputs.outputs:,}" for run in runs],
        "  evicted from the view": [f"{run.outputs.evicted:,}" for run in runs],
        "  of these back, all bytes": [f"{run.outputs.recovered:,}" for run in runs],
        "wire violations": [str(len(run.violations)) for run in runs],
        "above window, announced": [str(run.over_budget) for run in runs],
        "above window, silently": [str(len(run.overflows)) for run in runs],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    stages = sorted({stage for run in runs for stage in run.stages})
    if stages:
        table.add_section()
    for stage in stages:
        table.add_row(f"by {stage}", *(f"{run.stages.get(stage, 0):,}" for run in runs))
    return table


def _calls_table(runs: tuple[Managed, ...]) -> Table:
    table = _table("method", *(f"{run.window:,}" for run in runs))
    for method in sorted({method for run in runs for method in run.calls}):
        cells = []
        for run in runs:
            times = run.calls.get(method)
            cells.append(f"{times.median:.1f} / {times.p95:.1f}" if times else "-")
        table.add_row(method, *cells)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _print_compactions(console: Console, run: Managed) -> None:
    for compaction in run.compactions[:_MOST_COMPACTIONS]:
        console.print(
            f"compaction in {run.window:,} before request {compaction.request + 1}: "
            f"{compaction.before:,} -> {compaction.after:,} tokens",
            highlight=False,
        )
    if (rest := len(run.compactions) - _MOST_COMPACTIONS) > 0:
        console.print(f"... and {rest} more in {run.window:,}", highlight=False)


def _print_faults(console: Console, title: str, faults: tuple[str, ...]) -> None:
    if not faults:
        return
    console.print(f"[bold red]{title}: {len(faults)}[/]")
    for fault in faults[:_MOST_FAULTS]:
        console.print(f"  {fault}", markup=False, highlight=False)


def _fixed(run: Managed) -> str:
    """Fixed part as simulated, and as recorded, of the middle session."""
    if not run.simulations:
        return "-"
    ranked = sorted(run.simulations, key=lambda simulation: simulation.fixed_recorded)
    middle = ranked[len(ranked) // 2]
    return f"{middle.fixed:,} ({middle.fixed_recorded:,})"
