"""`ctxd replay`: recorded sessions through a real daemon, with numbers.

Owns options, progress on screen and the exit code. Heavy imports wait until the verb runs, since
every start of `ctxd` reads this module.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxd.cli.failures import ending
from ctxd.importers.steps import DialectName, Format

if TYPE_CHECKING:
    from rich.progress import Progress

    from ctxd.report.replay import Advance

DEMO = Path("../shared/transcripts/claude-code/long-three-compactions.jsonl")
"""Replayed when no file is named and it is there; else the bundled sample."""

SAMPLE = Path(__file__).parent.parent / "importers/samples/session.jsonl"


def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Transcripts, or folders of them; a bundled session when none is given.", show_default=False
        ),
    ] = None,
    window: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Context window in tokens; repeatable. [200000 and 60000]", show_default=False
        ),
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="Read the files as this format instead of telling from content.")
    ] = None,
    dialect: Annotated[
        DialectName | None,
        typer.Option(help="Manage the sessions in this dialect, translated, instead of their own."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Files at once, each with a daemon of its own.")] = 1,
    sidechains: Annotated[
        bool, typer.Option("--sidechains", help="Conversations beside the main one, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Leave out the pass as recorded and the daemon's own validation.")
    ] = False,
) -> None:
    """Replay recorded sessions through a daemon, as recorded and managed under each window.

    Takes sessions of Claude Code, Codex, Gemini CLI, pi, Copilot CLI and SWE-agent, request bodies and lists
    of messages, in any mix. In a folder, files of other content are passed over.

    Exits 1 when a provider would refuse a request, a byte is lost, or a window is exceeded in silence;
    2 when a file cannot be read.
    """
    import asyncio

    import msgspec
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ctxd.report.replay import Plan, replay_files
    from ctxd.report.tables import print_report

    paths = files or [DEMO if DEMO.exists() else SAMPLE]
    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    plan = Plan(
        paths=tuple(paths),
        windows=tuple(window or (200_000, 60_000)),
        format=format,
        dialect=dialect,
        fast=fast,
        sidechains=sidechains,
        jobs=jobs,
    )
    with ending(errors, paths), Progress(*columns, console=errors, transient=True) as bars:
        report = asyncio.run(replay_files(plan, _Bars(bars)))
    if as_json:
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    else:
        print_report(Console(), report)
    if not report.ok:
        raise typer.Exit(1)


class _Bars:
    """Progress as bars, one for each pass that is under way."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars

    def begin(self, title: str, steps: int) -> Advance:
        task = self._bars.add_task(title, total=steps)
        left = steps

        def advance() -> None:
            nonlocal left
            left -= 1
            self._bars.advance(task)
            if not left:
                self._bars.update(task, visible=False)

        return advance
