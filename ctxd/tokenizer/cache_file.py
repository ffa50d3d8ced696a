"""Files that can be made again: where they are kept and how they are replaced.

Owns the cache folder's place and the one way a file gets into it. Must not know what the files hold.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path | None:
    """`$XDG_CACHE_HOME/ctxd`, else `~/.cache/ctxd`; None where there is no home folder."""
    root = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if root.is_absolute():
        return root / "ctxd"
    try:
        return Path.home() / ".cache" / "ctxd"
    except RuntimeError:
        return None


def replace(path: Path, data: bytes) -> None:
    """Put `data` at `path`, whole or not at all, durable when it returns; file 0600, new folders 0700.

    Raises OSError, and then the file is as it was.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
