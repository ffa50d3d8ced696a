"""Writing one segment: begun once, appended to until its first failure, then never again (D3, D10)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from ctxd.store.files import open_file, sync_file, sync_folder, write_all


class Segment:
    """An open segment that has never failed. `size` is the length of what is durable in it."""

    def __init__(self, fd: int, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self._fd = fd

    def append(self, pieces: Sequence[bytes]) -> None:
        """Write the pieces and make them durable.

        Raises OSError; the caller must then `close()` the segment and write to another one: after a
        failed sync the kernel may call lost pages clean, so neither a second sync nor reading back
        proves anything (D10).
        """
        write_all(self._fd, pieces)
        sync_file(self._fd)
        self.size += sum(map(len, pieces))

    def close(self) -> None:
        """Let go of the file, without syncing it."""
        with contextlib.suppress(OSError):
            os.close(self._fd)


def begin_segment(folder: int, name: str, number: int, pieces: Sequence[bytes]) -> Segment:
    """Create the segment's file with its opening batch, durable in content and name.

    Raises FileExistsError when the name is taken (another process wrote this session), OSError for
    all else. A file that failed before its content was durable is removed if that still works:
    nothing in it was acknowledged, and what it copied still lies in the older segments.
    """
    fd = open_file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder)
    segment = Segment(fd, number, 0)
    try:
        segment.append(pieces)
        sync_folder(folder)
    except BaseException:
        segment.close()
        if not segment.size:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
        raise
    return segment
