"""The `ctxd` command. Each verb imports what it needs when it runs; `--version` and `--help` stay light."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import ctxd
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
    import gc

    from ctxd.server.stdio import claim

    pipes = claim()
    gc.disable()  # nothing that importing makes is garbage; the server turns it on again

    from ctxd.server.app import serve as serve_host

    serve_host(pipes=pipes, log_level=log_level.upper())


app.command()(replay)


def main() -> None:
    """Entry point of the `ctxd` script."""
    app(prog_name="ctxd", args=sys.argv[1:])
