"""The verbs of `ctxd`. Each imports what it needs when it runs; `--version` and `--help` stay light."""

from __future__ import annotations

from typing import Annotated

import typer

import ctxd
from ctxd.cli.doctor import doctor
from ctxd.cli.importing import import_sessions
from ctxd.cli.replay import replay

app = typer.Typer(
    name="ctxd",
    help="A daemon that owns agent sessions and manages what the model sees.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ctxd {ctxd.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    log_level: Annotated[
        str, typer.Option(envvar="CTXD_LOG", help="What goes to stderr: DEBUG, INFO, WARNING or ERROR.")
    ] = "WARNING",
) -> None:
    """Serve one host over stdin and stdout (JSON-RPC, framed as LSP does)."""
    from ctxd.cli import serve as starting

    starting.run(log_level.upper())


app.command()(replay)
app.command("import")(import_sessions)
app.command()(doctor)
