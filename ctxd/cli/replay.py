"""`ctxd replay`: recorded sessions through a real daemon, with numbers.

Owns options, progress on screen and the exit code. Heavy imports wait until the verb runs, since
every start of `ctxd` reads this module.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.progress import Progress

    from ctxd.importers.steps import Format

DEMO = Path("../shared/transcripts/claude-code/long-three-compactions.jsonl")
"""Replayed when no file is named and it is there; else the bundled sample."""

SAMPLE = Path(__file__).parent.parent / "importers/samples/session.jsonl"

_FORMAT_OF: dict[str, Format] = {"anthropic": "claude-code", "openai-chat": "openai-chat"}


def replay(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Transcripts; a bundled session when none is given.", show_default=False),
    ] = None,
    window: Annotated[
        list[int] | None,
        typer.Option(
            min=1, help="Context window in tokens; repeatable. [200000 and 60000]", show_default=False
        ),
    ] = None,
    dialect: Annotated[
        Literal["anthropic", "openai-chat"] | None,
        typer.Option(help="Read the files as this dialect's recordings instead of telling from content."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Leave out the pass as recorded and the daemon's own validation.")
    ] = False,
) -> None:
    """Replay recorded sessions through a daemon, as recorded and managed under each window.

    Exits 1 when a provider would refuse a request, a byte is lost, or a window is exceeded in silence;
    2 when a file cannot be read.
    """
    import asyncio

    import msgspec
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ctxd.client import ClientError
    from ctxd.importers.detect import UnknownFormat
    from ctxd.report.replay import replay_files
    from ctxd.report.tables import print_report

    paths = files or [DEMO if DEMO.exists() else SAMPLE]
    errors = Console(stderr=True)
    try:
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=errors,
            transient=True,
        ) as bars:
            report = asyncio.run(
                replay_files(
                    paths,
                    window or [200_000, 60_000],
                    format=_FORMAT_OF[dialect] if dialect else None,
                    fast=fast,
                    progress=_Bars(bars),
                )
            )
    except UnknownFormat as error:
        errors.print(f"{error}\n{error.hint}", markup=False)
        raise typer.Exit(2) from error
    except OSError as error:
        errors.print(f"{error.filename or paths[0]}: {error.strerror}", markup=False)
        raise typer.Exit(2) from error
    except ClientError as error:
        errors.print(f"the daemon failed: {error}", markup=False)
        raise typer.Exit(1) from error
    if as_json:
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    else:
        print_report(Console(), report)
    if not report.ok:
        raise typer.Exit(1)


class _Bars:
    """Progress as bars, one per pass."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task = bars.add_task("reading", total=None)

    def begin(self, title: str, steps: int) -> None:
        self._bars.update(self._task, visible=False)
        self._task = self._bars.add_task(title, total=steps)

    def advance(self) -> None:
        self._bars.advance(self._task)
