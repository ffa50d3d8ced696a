"""`ctxd doctor`: whether this machine is fit for ctxd, and what to do where it is not.

Owns options, how findings look and the exit code. Heavy imports wait until the verb runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def doctor(
    state: Annotated[
        Path | None,
        typer.Option(help="State folder to look at. [where the daemon keeps it]", show_default=False),
    ] = None,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Start a daemon, as a host would.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """Look at the state folder, permissions, versions, encodings, indexes and the disk; start a daemon.

    Changes nothing. Exits 1 when something failed; warnings do not count.
    """
    import asyncio

    import msgspec
    from rich.console import Console
    from rich.table import Table

    from ctxd.report.checkup import examine
    from ctxd.store.layout import state_root

    findings = asyncio.run(examine(state_root(str(state) if state else ""), start=start))
    if as_json:
        sys.stdout.write(msgspec.json.encode(findings).decode() + "\n")
    else:
        table = Table(show_header=False, box=None)
        for finding in findings:
            colour = _COLOURS[finding.verdict]
            table.add_row(finding.name, f"[{colour}]{finding.verdict}[/]", finding.detail)
            if finding.hint:
                table.add_row("", "", f"[dim]{finding.hint}[/]")
        Console().print(table)
    if any(finding.verdict == "failed" for finding in findings):
        raise typer.Exit(1)
