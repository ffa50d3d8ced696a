"""The process's pipes: who owns stdin and stdout, a thread that reads frames, a thread that writes them.

Imports nothing heavy, so that stdout can be claimed before anything else is loaded. Knows no JSON.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import BinaryIO

from ctxd.server.framing import Frame, FramingError, Oversized, read_frame

_INBOX_BYTES = 8 * 1024 * 1024
_HIGH_WATER = 16 * 1024 * 1024
_LOW_WATER = 1024 * 1024
_BATCH = 64 * 1024
_PIPE_BYTES = 1024 * 1024
"""What Linux lets anybody have."""


def claim() -> tuple[int, int]:
    """Take stdin and stdout away from the rest of the process; their new descriptors, in that order.

    Afterwards whatever is printed, by a library or by a child process, lands on stderr, and whoever
    reads stdin finds it empty.
    """
    _ensure_stderr()
    source, sink = os.dup(0), os.dup(1)
    _widen(source)
    _widen(sink)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source, sink


def _widen(pipe: int) -> None:
    """Let a pipe hold much at once, where it is one and can: a large frame takes a quarter of the time."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _ensure_stderr() -> None:
    try:
        os.fstat(2)
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != 2:
            os.dup2(nothing, 2)
            os.close(nothing)


class Reader:
    """Reads frames in its own thread and hands each to `deliver`, on that thread, in order.

    It waits while more than 8 MiB of frames are delivered and not yet `release`d, and before each
    frame while `may_read` blocks. `ended` is called once: with None at the end of the stream, else
    with what broke it. `limit` is the largest body, bytes; it may be changed at any time.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        limit: int,
        deliver: Callable[[Frame | Oversized], None],
        ended: Callable[[Exception | None], None],
        may_read: Callable[[], None],
    ) -> None:
        self.limit = limit
        self._stream = stream
        self._deliver = deliver
        self._ended = ended
        self._may_read = may_read
        self._room = threading.Condition()
        self._held = 0
        self._thread = threading.Thread(target=self._run, name="ctxd-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def release(self, size: int) -> None:
        """So many delivered bytes are dealt with. From any thread."""
        with self._room:
            self._held -= size
            self._room.notify()

    def _run(self) -> None:
        broken: Exception | None = None
        try:
            while (got := read_frame(self._stream, lambda: self.limit)) is not None:
                size = len(got.body) if isinstance(got, Frame) else 0
                with self._room:
                    self._room.wait_for(lambda: self._held <= _INBOX_BYTES)
                    self._held += size
                self._deliver(got)
                self._may_read()
        except (FramingError, OSError) as error:
            broken = error
        self._ended(broken)


class Writer:
    """Writes in its own thread, so that a host that does not read never stops the daemon.

    `broke` is called once, on the writing thread, when the other end is gone; everything sent
    after that is dropped. `drained` is called there each time a congestion is over.
    """

    def __init__(self, sink: int, *, broke: Callable[[], None], drained: Callable[[], None]) -> None:
        self._sink = sink
        self._broke = broke
        self._drained = drained
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._congested = False
        self._dead = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="ctxd-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def congested(self) -> bool:
        """True from 16 MiB of unwritten bytes on, until less than 1 MiB is left."""
        return self._congested

    def send(self, *parts: bytes) -> None:
        """Queue bytes, one part after the other. Never blocks."""
        with self._change:
            if self._dead:
                return
            self._queue.extend(parts)
            self._queued += sum(map(len, parts))
            if self._queued > _HIGH_WATER:
                self._congested = True
            self._change.notify_all()

    def wait_clear(self) -> None:
        """Block while congested."""
        with self._change:
            self._change.wait_for(lambda: not self._congested or self._dead)

    def flush(self, timeout: float) -> bool:
        """Block until everything is written; False when that took longer than `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._change:
            return self._change.wait_for(
                lambda: self._queued == 0 or self._dead, max(0.0, deadline - time.monotonic())
            )

    def _run(self) -> None:
        while True:
            batch = self._take()
            try:
                view = memoryview(batch)
                while view:
                    view = view[os.write(self._sink, view) :]
            except OSError:
                self._die()
                return
            self._settle(len(batch))

    def _take(self) -> bytes:
        with self._change:
            self._change.wait_for(lambda: self._queue)
            first = self._queue.popleft()
            parts, size = [first], len(first)
            while self._queue and size + len(self._queue[0]) <= _BATCH:
                parts.append(self._queue.popleft())
                size += len(parts[-1])
        return first if len(parts) == 1 else b"".join(parts)

    def _settle(self, size: int) -> None:
        with self._change:
            self._queued -= size
            over = self._congested and self._queued < _LOW_WATER
            if over:
                self._congested = False
            self._change.notify_all()
        if over:
            self._drained()

    def _die(self) -> None:
        with self._change:
            self._dead = True
            self._queue.clear()
            self._queued = 0
            self._congested = False
            self._change.notify_all()
        self._broke()
