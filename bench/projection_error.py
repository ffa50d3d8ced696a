"""How far predicted prompt sizes are from reported ones, by the tool that recorded, beside the baseline.

usage: python -m bench.projection_error [--json FILE] [FILE or FOLDER...]

The baseline is what a host can do by itself: the last usage plus the o200k count of what came after it.
Every recorded request with a reported size counts; those of Claude Code hold no system prompt and no tools,
so that the first of an epoch cannot be predicted and stands apart.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench.recordings import FOLDER
from ctxd.importers.detect import UnknownFormat, find_files, read_transcripts
from ctxd.importers.steps import Response, Transcript
from ctxd.report.figures import Accuracy, Comparison
from ctxd.report.host import Host
from ctxd.report.recorded_run import OPTIONS, run_recorded
from ctxd.report.replay import RECORDED_WINDOW


def main() -> int:
    """Measure, print a table, write the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[FOLDER], metavar="FILE")
    parser.add_argument("--json", type=Path, default=Path("build/projection-error.json"))
    arguments = parser.parse_args()
    console = Console(width=130)
    with console.status("replaying"):
        found = asyncio.run(_compare(arguments.paths))
    accuracies = {name: Accuracy.of(comparisons) for name, comparisons in sorted(found.items())}
    console.print(_table(accuracies))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(accuracies)))
    console.print(f"as JSON: {arguments.json}")
    return 0


async def _compare(paths: Sequence[Path]) -> dict[str, list[Comparison]]:
    """Comparisons by format and dialect, of all sessions that report sizes."""
    found: dict[str, list[Comparison]] = {}
    for path in (path for group in find_files(paths) for path in group):
        try:
            transcripts = [t for t in read_transcripts(path) if _reports(t)]
        except UnknownFormat:
            continue
        for transcript in transcripts:
            with tempfile.TemporaryDirectory(prefix="ctxd-bench-") as folder:
                async with Host.start(Path(folder), OPTIONS) as host:
                    comparisons, _ = await run_recorded(host, transcript, RECORDED_WINDOW, lambda: None)
            found.setdefault(f"{transcript.format}, {transcript.dialect}", []).extend(comparisons)
    return found


def _reports(transcript: Transcript) -> bool:
    return any(isinstance(step, Response) and step.prompt_reported for step in transcript.steps)


def _table(accuracies: dict[str, Accuracy]) -> Table:
    columns = ("requests", "ctxd median", "p95", "baseline median", "p95", "inside", "first of an epoch")
    table = Table("recorded by", *columns)
    for name, accuracy in accuracies.items():
        table.add_row(
            name,
            str(accuracy.anchored.count),
            f"{accuracy.anchored.median:.2f} %",
            f"{accuracy.anchored.p95:.2f} %",
            f"{accuracy.baseline.median:.2f} %",
            f"{accuracy.baseline.p95:.2f} %",
            f"{accuracy.inside_anchored:.1%}",
            f"{accuracy.unanchored.count}: {accuracy.unanchored.median:.0f} %",
        )
    return table


if __name__ == "__main__":
    raise SystemExit(main())
