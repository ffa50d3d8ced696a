"""`ctxd import`: recorded sessions of other tools as sessions of a workspace.

Owns options, session ids, progress on screen and the exit code. Heavy imports wait until the verb runs,
since every start of `ctxd` reads this module.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxd.cli.failures import ending
from ctxd.importers.steps import Format

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ctxd.importers.steps import Source
    from ctxd.report.intake import Intake

_MOST_ID_CHARS = 128


def import_sessions(
    files: Annotated[list[Path], typer.Argument(help="Transcripts, or folders of them.")],
    workspace: Annotated[
        Path | None, typer.Option(help="Folder the sessions belong to. [the current one]", show_default=False)
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            help="Id of the new session; of several: ID, ID-2, … [the recording's name]", show_default=False
        ),
    ] = None,
    format: Annotated[
        Format | None, typer.Option(help="Read the files as this format instead of telling from content.")
    ] = None,
    sidechains: Annotated[
        bool, typer.Option("--sidechains", help="Conversations beside the main one, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Import recorded sessions of other tools into the daemon's state.

    Each becomes a session of the workspace, with every message and the usage that was reported. What was
    skipped or repaired is said, with line numbers. Exits 1 when a session was not imported whole, 2 when a
    file cannot be read.
    """
    import asyncio

    import msgspec
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with ending(errors, files), Progress(*columns, console=errors, transient=True) as bars:
        work = _import(files, workspace or Path.cwd(), session, format, sidechains, bars)
        intakes, skipped = asyncio.run(work)
    if as_json:
        sys.stdout.write(msgspec.json.encode(intakes).decode() + "\n")
    else:
        for intake in intakes:
            _print(Console(), intake)
        if skipped:
            Console().print(f"[dim]no session in: {', '.join(skipped)}[/]", highlight=False)
    if any(intake.error for intake in intakes):
        raise typer.Exit(1)


async def _import(
    files: list[Path],
    workspace: Path,
    session: str | None,
    format: Format | None,
    sidechains: bool,
    bars: Progress,
) -> tuple[list[Intake], list[str]]:
    """What became of every recording, and the files of folders that hold none."""
    from ctxd.client import Client
    from ctxd.importers.detect import UnknownFormat, detect_format, find_files, open_sources
    from ctxd.report.intake import take_in

    named, found = find_files(files)
    chosen = [(path, format or detect_format(path)) for path in named]
    skipped: list[str] = []
    for path in found:
        try:
            chosen.append((path, format or detect_format(path)))
        except UnknownFormat:
            skipped.append(path.name)
    intakes: list[Intake] = []
    async with Client.start(workspace) as client:
        for path, known in chosen:
            meter = _Meter(bars, path.name)
            for source in open_sources(path, format=known, sidechains=sidechains, meter=meter):
                identity = _identify(source, path, session, len(intakes))
                intakes.append(await take_in(client, workspace, source, path.name, identity))
            meter.end()
    return intakes, skipped


def _identify(source: Source, path: Path, session: str | None, before: int) -> str:
    if session is not None:
        return session if before == 0 else f"{session}-{before + 1}"
    own = source.format == "copilot-cli" or path.stem in source.name
    name = source.name if own else f"{path.stem}, {source.name}"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:_MOST_ID_CHARS] or "imported"


def _print(console: Console, intake: Intake) -> None:
    verdict = f"[bold red]{intake.error}[/]" if intake.error else "[green]imported[/]"
    console.print(
        f"{intake.file}  {intake.format}, {intake.dialect}: {intake.messages:,} messages, "
        f"{intake.responses:,} responses, {intake.usages:,} with usage "
        f"→ [bold]{intake.session_id}[/]  {verdict}",
        highlight=False,
    )
    for note in intake.notes:
        lines = ", ".join(map(str, note.lines)) + (", …" if note.count > len(note.lines) else "")
        console.print(f"[dim]  {note.count} x {note.kind} (line {lines})[/]", highlight=False)


class _Meter:
    """How far a file is read, as a bar for each pass over it."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars = bars
        self._name = name
        self._task = bars.add_task(name, total=None)

    def begin(self, title: str, size: int) -> None:
        self.end()
        self._task = self._bars.add_task(f"{self._name}: {title}", total=size)

    def advance(self, count: int) -> None:
        self._bars.advance(self._task, count)

    def end(self) -> None:
        """Take the bar away."""
        self._bars.update(self._task, visible=False)
