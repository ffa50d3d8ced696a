"""What is taken for a secret in real sessions: every finding is a false positive until somebody looked.

usage: python -m bench.false_positives [FOLDER]

Scans the outputs of the tools in every recording, then the recordings' files whole (words, arguments and
copies of the outputs included). Prints megabytes, time and findings by rule; of a finding its place alone.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.recordings import FOLDER, recordings
from ctxd.dialects.outputs import spots
from ctxd.guard.scanner import Scanner, load

PATIENT = 600.0


def main() -> int:
    """Scan, print, and end with 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    console = Console()
    if not folder.is_dir():
        console.print(f"no recordings at {folder}")
        return 0
    scanner = load(None)
    table = Table("scanned", "MB", "ms per MB", "findings", "per MB")
    places: list[str] = []
    for name, texts in (("tool outputs", _outputs(folder)), ("whole files", _files(folder))):
        size, seconds, found = _scan(scanner, texts, places)
        per_mb = f"{seconds * 1e9 / max(1, size):.0f}"
        rules = ", ".join(f"{rule} {count}" for rule, count in found.most_common()) or "none"
        table.add_row(name, f"{size / 1e6:.2f}", per_mb, rules, f"{found.total() / max(1, size) * 1e6:.2f}")
    console.print(table, *places, sep="\n")
    return 1 if places else 0


def _scan(
    scanner: Scanner, texts: Iterator[tuple[str, bytes]], places: list[str]
) -> tuple[int, float, Counter[str]]:
    size, seconds = 0, 0.0
    found: Counter[str] = Counter()
    for name, data in texts:
        start = time.perf_counter()
        spans = scanner.find(data, PATIENT)
        seconds += time.perf_counter() - start
        size += len(data)
        found.update(span.rule for span in spans)
        places += [
            f"{name}: {span.rule} at byte {span.start}, {span.end - span.start} bytes" for span in spans
        ]
    return size, seconds, found


def _outputs(folder: Path) -> Iterator[tuple[str, bytes]]:
    for recording in recordings(folder):
        for number, message in enumerate(recording.messages):
            for spot in spots(recording.dialect, message):
                yield f"{recording.name} message {number}", spot.text.encode("utf-8", "surrogatepass")


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()


if __name__ == "__main__":
    raise SystemExit(main())
