"""Replaying transcript files: which passes over which file, in which daemon.

Owns the order of passes and the temporary state they leave nothing of. Shows nothing itself;
`tables` does, and progress goes to whoever passes a `Progress`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Format, Note, Response, Transcript
from ctxd.report.figures import Accuracy, Comparison, FileReport, Managed, ReplayReport
from ctxd.report.host import Host
from ctxd.report.managed_run import ManagedRun
from ctxd.report.recorded_run import OPTIONS, run_recorded

RECORDED_WINDOW = 200_000
"""Window of the pass as recorded, tokens; it only has to be above what was recorded."""


class Progress(Protocol):
    """Told how far a replay is. `steps` are responses."""

    def begin(self, title: str, steps: int) -> None:
        """A pass over a file begins."""
        ...

    def advance(self) -> None:
        """One response was replayed."""
        ...


async def replay_files(
    paths: Sequence[Path],
    windows: Sequence[int],
    *,
    format: Format | None = None,
    fast: bool = False,
    progress: Progress,
) -> ReplayReport:
    """Replay every file: once as recorded, then managed under each window.

    `fast` leaves out the pass as recorded and the daemon's own validation of each request.
    Raises UnknownFormat, OSError, ClientError.
    """
    read = [(path, read_transcripts(path, format=format)) for path in paths]
    files = []
    for path, transcripts in read:
        responses = _count_responses(transcripts)
        comparisons: list[Comparison] = []
        violations: list[str] = []
        if not fast:
            progress.begin(f"{path.name} as recorded", responses)
            comparisons, violations = await _replay_recorded(transcripts, progress)
        managed = await _replay_managed(path.name, transcripts, windows, fast=fast, progress=progress)
        files.append(
            FileReport(
                file=path.name,
                format=transcripts[0].format,
                dialect=transcripts[0].dialect,
                sessions=len(transcripts),
                responses=responses,
                notes=_sum_notes(transcripts),
                accuracy=Accuracy.of(comparisons) if comparisons else None,
                recorded_violations=tuple(violations),
                managed=tuple(managed),
            )
        )
    return ReplayReport(ok=all(file.ok for file in files), files=tuple(files))


async def _replay_recorded(
    transcripts: Sequence[Transcript], progress: Progress
) -> tuple[list[Comparison], list[str]]:
    comparisons: list[Comparison] = []
    violations: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ctxd-replay-") as folder:
        async with Host.start(Path(folder), OPTIONS) as host:
            for transcript in transcripts:
                compared, faults = await run_recorded(host, transcript, RECORDED_WINDOW, progress.advance)
                comparisons += compared
                violations += faults
    return comparisons, violations


async def _replay_managed(
    name: str, transcripts: Sequence[Transcript], windows: Sequence[int], *, fast: bool, progress: Progress
) -> list[Managed]:
    managed: list[Managed] = []
    with tempfile.TemporaryDirectory(prefix="ctxd-replay-") as folder:
        async with Host.start(Path(folder), {}) as host:
            for window in windows:
                progress.begin(f"{name} in {window:,} tokens", _count_responses(transcripts))
                run = ManagedRun(host, window, cross_check=not fast)
                for transcript in transcripts:
                    await run.replay(transcript, progress.advance)
                managed.append(run.figures())
    return managed


def _count_responses(transcripts: Sequence[Transcript]) -> int:
    return sum(isinstance(step, Response) for transcript in transcripts for step in transcript.steps)


def _sum_notes(transcripts: Sequence[Transcript]) -> tuple[Note, ...]:
    """The notes of all sessions of a file, one per kind."""
    summed: dict[str, Note] = {}
    for note in (note for transcript in transcripts for note in transcript.notes):
        before = summed.get(note.kind, Note(note.kind, 0, ()))
        lines = tuple(dict.fromkeys(before.lines + note.lines))
        summed[note.kind] = Note(note.kind, before.count + note.count, lines)
    return tuple(summed.values())
