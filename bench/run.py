"""`make bench`: runs the benches, prints a table, writes the same numbers as JSON.

usage: python -m bench.run [--json FILE] [NAME...]; ends with 1 when a ratio is above its limit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from bench import (
    append,
    compact,
    guard,
    import_speed,
    memory,
    prepare,
    project,
    recall,
    resume,
    stalls,
    startup,
)
from bench.harness import Ratio, Workbench, workbench

BENCHES: dict[str, Callable[[Workbench], Iterator[Ratio]]] = {
    "startup": startup.bench,
    "project": project.bench,
    "prepare": prepare.bench,
    "append": append.bench,
    "compact": compact.bench,
    "memory": memory.bench,
    "resume": resume.bench,
    "stalls": stalls.bench,
    "guard": guard.bench,
    "recall": recall.bench,
    "import": import_speed.bench,
}


def main() -> int:
    """Run the named benches, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where the numbers go")
    arguments = parser.parse_args()
    cache = Path("build/bench-cache").absolute()
    console = Console(width=None if sys.stdout.isatty() else 130)
    ratios: list[Ratio] = []
    for name in arguments.names or BENCHES:
        with console.status(name), workbench(cache) as scratch:
            ratios += BENCHES[name](scratch)
    console.print(_table(ratios))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode([_row(r) for r in ratios])))
    console.print(f"as JSON: {arguments.json}")
    return 0 if all(r.holds for r in ratios) else 1


def _table(ratios: list[Ratio]) -> Table:
    table = Table("bench", "measured", "baseline", "against", "ratio", "limit", "")
    for r in ratios:
        table.add_row(
            r.name,
            _quantity(r.measured, r),
            _quantity(r.baseline, r),
            r.against,
            f"{r.value:.2f}",
            f"{r.limit:g}",
            "ok" if r.holds else "over",
        )
    return table


def _quantity(value: float, ratio: Ratio) -> str:
    if ratio.unit == "bytes":
        return f"{value / 1e6:.1f} MB"
    return f"{value * 1e3:.2f} ms"


def _row(ratio: Ratio) -> dict[str, object]:
    return {**msgspec.structs.asdict(ratio), "ratio": round(ratio.value, 4), "holds": ratio.holds}


if __name__ == "__main__":
    raise SystemExit(main())
