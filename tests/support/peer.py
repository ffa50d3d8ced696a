"""A host in a few lines: JSON-RPC over a process's pipes, for every test that starts the daemon.

`Peer.start()` runs the daemon; `request` waits for its answer and keeps whatever else arrives in
`inbox`; `send_bytes` writes raw bytes. Nothing here sleeps; every wait has a deadline and says
what was missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

DEADLINE = 20.0
"""Seconds after which a missing message or exit is a failure."""

Message = dict[str, Any]


class PeerError(Exception):
    """The daemon answered with an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Message = error.get("data") or {}

    @property
    def kind(self) -> str:
        return str(self.data.get("kind"))


def frame(body: bytes | Message) -> bytes:
    """A frame around a body, or around a message."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


class Peer:
    """The host's end. Use as a context manager: leaving it checks that nothing was left unread."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.inbox: list[Message] = []
        """Messages that arrived and no `request` or `receive` took, oldest first."""
        self.bodies: dict[int | str, bytes] = {}
        """The bytes of the answers, by request id."""
        self._stdin: BinaryIO = process.stdin  # type: ignore[assignment]  # Popen types it as IO[bytes]
        self._incoming: queue.Queue[bytes | None] = queue.Queue()
        self._ids = iter(range(1, 1 << 30))
        self._answers: dict[str, Callable[[Message], Any]] = {}
        self._reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reader.start()

    @classmethod
    def start(
        cls,
        *arguments: str,
        program: Sequence[str] = ("-m", "ctxd", "serve"),
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        log: Path | None = None,
    ) -> Peer:
        """Run `python <program> <arguments>`; `environment` is added to this process's own.

        The daemon's stderr goes to the file `log`, else to the test's.
        """
        root = Path(__file__).parents[2]
        path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
        with contextlib.ExitStack() as stack:
            process = subprocess.Popen(
                [sys.executable, *program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stack.enter_context(log.open("wb")) if log else None,
                env={**os.environ, "PYTHONPATH": path, **(environment or {})},
                cwd=folder or root,
            )
        return cls(process)

    def answer(self, method: str, respond: Callable[[Message], Any] | None) -> None:
        """Answer the daemon's requests for `method` with what `respond(params)` returns; None stops that."""
        if respond is None:
            del self._answers[method]
        else:
            self._answers[method] = respond

    def initialize(
        self,
        *,
        options: Any = None,
        folders: Sequence[Path] = (),
        capabilities: Message | None = None,
        **members: Any,
    ) -> Message:
        """Do the handshake; the result of `initialize`."""
        params: Message = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": {"experimental": {"ctxd": capabilities or {}}},
            "workspaceFolders": [{"uri": f.as_uri(), "name": f.name} for f in folders],
            **members,
        }
        if options is not None:
            params["initializationOptions"] = options
        result: Message = self.request("initialize", params)
        self.notify("initialized", {})
        return result

    def request(self, method: str, params: Any = None) -> Any:
        """Ask and wait for the answer. Raises PeerError for an error."""
        return self.wait(self.ask(method, params))

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request without waiting; its id."""
        identity = next(self._ids)
        message: Message = {"jsonrpc": "2.0", "id": identity, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return identity

    def wait(self, identity: int | str | None) -> Any:
        """The result of the request with this id. Raises PeerError for an error."""
        answer = self.receive(lambda m: "method" not in m and m.get("id", ...) == identity)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer["result"]

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Message) -> None:
        self.send_bytes(frame(message))

    def send_bytes(self, data: bytes) -> None:
        self._stdin.write(data)
        self._stdin.flush()

    def receive(self, wanted: Callable[[Message], bool] = lambda _: True) -> Message:
        """The next message that is wanted; others stay in `inbox`."""
        for index, message in enumerate(self.inbox):
            if wanted(message):
                return self.inbox.pop(index)
        while True:
            message = self._next()
            if wanted(message):
                return message
            self.inbox.append(message)

    def notification(self, method: str) -> Message:
        """The parameters of the next notification of this method."""
        params: Message = self.receive(lambda m: m.get("method") == method and "id" not in m)["params"]
        return params

    def shutdown(self) -> int:
        """`shutdown`, `exit`; the exit code."""
        self.request("shutdown")
        self.notify("exit")
        return self.wait_exit()

    def leave(self) -> int:
        """Close stdin without a word; the exit code."""
        self._stdin.close()
        return self.wait_exit()

    def wait_exit(self) -> int:
        """The exit code, once the process has ended; what it still said goes to `inbox`."""
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        while (body := self._incoming.get(timeout=DEADLINE)) is not None:
            self.inbox.append(json.loads(body))
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                if self.process.poll() is None:
                    self.shutdown()
                assert self.inbox == [], f"left unread: {self.inbox}"
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait(DEADLINE)
            if not self._stdin.closed:
                with contextlib.suppress(BrokenPipeError):
                    self._stdin.close()
            self._reader.join(DEADLINE)
            assert self.process.stdout is not None
            self.process.stdout.close()

    def _next(self) -> Message:
        while True:
            try:
                body = self._incoming.get(timeout=DEADLINE)
            except queue.Empty:
                raise AssertionError(f"nothing came in {DEADLINE:.0f} s; unread: {self.inbox}") from None
            if body is None:
                self._incoming.put(None)
                raise AssertionError(f"the daemon closed its output; unread: {self.inbox}")
            message: Message = json.loads(body)
            if "method" not in message:
                self.bodies[message["id"]] = body
            elif "id" in message and message["method"] in self._answers:
                result = self._answers[message["method"]](message["params"])
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
                continue
            return message

    def _read(self, stdout: BinaryIO) -> None:
        while True:
            size = 0
            while line := stdout.readline().strip():
                name, _, value = line.partition(b":")
                assert name == b"Content-Length", f"not a frame: {line!r}"
                size = int(value)
            body = stdout.read(size)
            if not body:
                self._incoming.put(None)
                return
            self._incoming.put(body)
