"""The `ctxd` command: `serve` starts at once, every other verb through the command line's library."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `ctxd` script and of `python -m ctxd`.

    A daemon never needs what draws help pages and tables (10 MB and 90 ms), so `serve` with plain
    options goes around it; anything else, `serve --help` included, does not.
    """
    from ctxd.cli import serve

    if (level := serve.plain_level(sys.argv[1:])) is not None:
        serve.run(level)
    from ctxd.cli.verbs import app

    app(prog_name="ctxd", args=sys.argv[1:])
