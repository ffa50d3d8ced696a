"""Starting the daemon with as little as possible in memory."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from typing import NoReturn

DEFAULT_LEVEL = "WARNING"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def plain_level(args: Sequence[str]) -> str | None:
    """The log level when `args` are `serve` and nothing that needs parsing, else None."""
    match list(args):
        case ["serve"]:
            level = os.environ.get("CTXD_LOG", DEFAULT_LEVEL).upper()
        case ["serve", "--log-level", given]:
            level = given.upper()
        case _:
            return None
    return level if level in LEVELS else None


def run(log_level: str) -> NoReturn:
    """Serve one host over stdin and stdout; ends the process."""
    from ctxd.server.stdio import claim

    pipes = claim()
    # Imports make garbage that would stay as holes in the heap (10 MB); rare collections cost little.
    gc.set_threshold(10_000, 10, 10)

    from ctxd.server.app import serve

    serve(pipes=pipes, log_level=log_level)
