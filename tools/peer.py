"""A synchronous peer of the daemon: frames over pipes, nothing hidden, nothing clever.

For benches and for replaying golden transcripts, where every frame matters. Hosts use `ctxd.client`.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

DAEMON = (sys.executable, "-m", "ctxd", "serve")
"""How a host starts the daemon."""

PATIENCE = 60.0
"""Seconds without a byte from the daemon after which it counts as hanging."""


class PeerError(Exception):
    """The daemon answered with an error; `error` is the JSON-RPC error object."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.error = error


class Hangup(Exception):
    """The daemon closed its stdout, or said nothing for `PATIENCE` seconds."""


class Peer:
    """One daemon process. Leaving the context kills it if it is still there."""

    def __init__(
        self,
        argv: Sequence[str] = DAEMON,
    ) -> None:
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin = self.process.stdin
        self._stdout = self.process.stdout
        self._buffer = bytearray()
        self._last_id = 0
        self.aside: list[dict[str, Any]] = []
        """Messages that `request` read while it waited for its answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._stdin.close()
        self._stdout.close()

    def send(self, message: object) -> None:
        """Write one message as a frame."""
        self.send_body(msgspec.json.encode(message))

    def send_body(self, body: bytes) -> None:
        """Write `body` as a frame, whatever it is."""
        data = memoryview(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        while data:
            data = data[self._stdin.write(data) :]

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object) -> Any:
        """Send a request and wait for its result. Raises PeerError with the daemon's error."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self.answer(self._last_id)

    def answers_after(self, method: str, params: object) -> float:
        """Seconds from a request to the first byte of its answer, which is then read."""
        self._last_id += 1
        body = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        start = time.perf_counter()
        self.send(body)
        self._is_readable()
        seconds = time.perf_counter() - start
        self.answer(self._last_id)
        return seconds

    def answer(self, request_id: object) -> Any:
        """The result of the request with that id. Raises PeerError with the daemon's error."""
        while True:
            message = self.receive()
            if message.get("id") == request_id and "method" not in message:
                break
            self.aside.append(message)
        if "error" in message:
            raise PeerError(message["error"])
        return message["result"]

    def receive(self) -> dict[str, Any]:
        """The next message from the daemon. Raises Hangup."""
        while (head := self._buffer.find(b"\r\n\r\n")) < 0:
            self._fill()
        length = next(
            int(line.split(b":")[1])
            for line in self._buffer[:head].split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        while len(self._buffer) < head + 4 + length:
            self._fill()
        message: dict[str, Any] = msgspec.json.decode(self._buffer[head + 4 : head + 4 + length])
        del self._buffer[: head + 4 + length]
        return message

    def rest(self) -> list[dict[str, Any]]:
        """Every message until the daemon closes its stdout."""
        messages = []
        while True:
            try:
                messages.append(self.receive())
            except Hangup:
                return messages

    def initialize(self, workspace: Path, options: object = None) -> Any:
        """The handshake; `options` are initializationOptions."""
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": workspace.as_uri(),
                "capabilities": {},
                "initializationOptions": options or {},
            },
        )
        self.notify("initialized", {})
        return result

    def shutdown(self) -> int:
        """Leave in order; the exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(PATIENCE)

    def resident_bytes(self) -> int:
        """Resident memory of the daemon, bytes (Linux)."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _fill(self) -> None:
        readable = self._is_readable()
        chunk = os.read(self._stdout.fileno(), 1 << 20) if readable else b""
        if not chunk:
            raise Hangup("the daemon hung up" if readable else "the daemon is silent")
        self._buffer += chunk

    def _is_readable(self) -> bool:
        """Wait until the daemon says something, hangs up, or has been silent for too long."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            return bool(selector.select(PATIENCE))
