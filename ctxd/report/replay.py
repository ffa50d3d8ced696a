"""Replaying transcript files: which passes over which file, in which daemon.

Owns the order of passes, how many daemons work at once, and the temporary state they leave nothing of.
Shows nothing itself; `tables` does, and progress goes to whoever passes a `Progress`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from ctxd.importers.detect import UnknownFormat, detect_format, find_files, read_transcripts
from ctxd.importers.steps import DialectName, Format, Response, Transcript, sum_notes
from ctxd.report.crossing import cross
from ctxd.report.figures import Accuracy, Comparison, FileReport, Managed, ReplayReport
from ctxd.report.host import Host
from ctxd.report.managed_run import ManagedRun
from ctxd.report.recorded_run import OPTIONS, run_recorded

RECORDED_WINDOW = 200_000
"""Window of the pass as recorded where the recording names none, tokens; above what was recorded."""

Advance: TypeAlias = Callable[[], None]


class Progress(Protocol):
    """Told how far a replay is."""

    def begin(self, title: str, steps: int) -> Advance:
        """A pass over a file begins; what is returned is called once per response."""
        ...


class Plan(msgspec.Struct, frozen=True):
    """What is replayed, and how. `fast` leaves out the pass as recorded and the daemon's own validation.

    `dialect`: the managed pass speaks it instead of the recording's own. `sidechains`: conversations
    beside the main one, too. `jobs`: files at once, each with its daemon.
    """

    paths: tuple[Path, ...]
    windows: tuple[int, ...]
    format: Format | None = None
    dialect: DialectName | None = None
    fast: bool = False
    sidechains: bool = False
    jobs: int = 1


class _File(msgspec.Struct, frozen=True):
    path: Path
    title: str
    format: Format


async def replay_files(plan: Plan, progress: Progress) -> ReplayReport:
    """Replay every file: once as recorded, then managed under each window; reports in the files' order.

    A folder stands for the transcripts below it; its other files are skipped. Raises UnknownFormat for
    a named file, OSError, ClientError.
    """
    files, skipped = _choose(plan)
    lanes = asyncio.Semaphore(plan.jobs)

    async def replay(file: _File) -> FileReport:
        async with lanes:
            return await _replay_file(file, plan, progress)

    tasks = [asyncio.create_task(replay(file)) for file in files]
    try:
        reports = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return ReplayReport(ok=all(r.ok for r in reports), files=tuple(reports), skipped=tuple(skipped))


def _choose(plan: Plan) -> tuple[list[_File], list[str]]:
    """The files to replay, and the names of those in folders that hold no session."""
    named, found = find_files(plan.paths)
    files = [_File(path, path.name, plan.format or detect_format(path)) for path in named]
    skipped: list[str] = []
    for path in found:
        try:
            files.append(_File(path, f"{path.parent.name}/{path.name}", plan.format or detect_format(path)))
        except UnknownFormat:
            skipped.append(f"{path.parent.name}/{path.name}")
    return files, skipped


async def _replay_file(file: _File, plan: Plan, progress: Progress) -> FileReport:
    transcripts = read_transcripts(file.path, format=file.format, sidechains=plan.sidechains)
    comparisons: list[Comparison] = []
    violations: list[str] = []
    responses = _count_responses(transcripts)
    if not plan.fast:
        advance = progress.begin(f"{file.title} as recorded", responses)
        comparisons, violations = await _replay_recorded(transcripts, advance)
    left: Counter[str] = Counter()
    crossed: list[Transcript] = []
    for transcript in transcripts:
        other, losses = cross(transcript, plan.dialect or transcript.dialect)
        crossed.append(other)
        left += losses
    managed = await _replay_managed(file.title, crossed, plan, progress)
    return FileReport(
        file=file.title,
        format=file.format,
        dialect=transcripts[0].dialect,
        managed_as=crossed[0].dialect,
        left_behind=dict(sorted(left.items())),
        sessions=len(transcripts),
        responses=_count_responses(crossed),
        notes=sum_notes(note for transcript in transcripts for note in transcript.notes),
        accuracy=Accuracy.of(comparisons) if comparisons else None,
        recorded=tuple(comparisons),
        recorded_violations=tuple(violations),
        managed=tuple(managed),
    )


async def _replay_recorded(
    transcripts: Sequence[Transcript], advance: Advance
) -> tuple[list[Comparison], list[str]]:
    comparisons: list[Comparison] = []
    violations: list[str] = []
    with tempfile.TemporaryDirectory(prefix="ctxd-replay-") as folder:
        async with Host.start(Path(folder), OPTIONS) as host:
            for transcript in transcripts:
                compared, faults = await run_recorded(host, transcript, RECORDED_WINDOW, advance)
                comparisons += compared
                violations += faults
    return comparisons, violations


async def _replay_managed(
    name: str, transcripts: Sequence[Transcript], plan: Plan, progress: Progress
) -> list[Managed]:
    managed: list[Managed] = []
    with tempfile.TemporaryDirectory(prefix="ctxd-replay-") as folder:
        async with Host.start(Path(folder), {}) as host:
            for window in plan.windows:
                advance = progress.begin(f"{name} in {window:,} tokens", _count_responses(transcripts))
                run = ManagedRun(host, window, cross_check=not plan.fast)
                for transcript in transcripts:
                    await run.replay(transcript, advance)
                managed.append(run.figures())
    return managed


def _count_responses(transcripts: Sequence[Transcript]) -> int:
    return sum(isinstance(step, Response) for transcript in transcripts for step in transcript.steps)
