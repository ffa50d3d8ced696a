"""What verbs that bring recordings to a daemon say when that fails, and the exit code they end with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def ending(errors: Console, paths: list[Path]) -> Iterator[None]:
    """Ends the verb with 2 when a file of `paths` cannot be read, with 1 when the daemon fails."""
    from ctxd.client import ClientError
    from ctxd.importers.detect import UnknownFormat

    try:
        yield
    except UnknownFormat as error:
        errors.print(f"{error}\n{error.hint}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from error
    except OSError as error:
        errors.print(f"{error.filename or paths[0]}: {error.strerror}", markup=False, soft_wrap=True)
        raise typer.Exit(2) from error
    except ClientError as error:
        errors.print(f"the daemon failed: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
