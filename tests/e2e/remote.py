"""A session in a daemon of its own process, which can be killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.peer import Peer


class Remote:
    """A session in a daemon that can be killed; the calls are those of `tests.service.host.Session`."""

    def __init__(self, root: Path, options: dict[str, Any] | None = None) -> None:
        self.root = root
        self.options = {"storage": {"root": str(root / "state")}, **(options or {})}
        self.workspace = root.as_uri()
        self.id = "s1"
        self.peer = self._start()

    def open(self, **fields: Any) -> Any:
        return self.call("session/open", workspace=self.workspace, **fields)

    def call(self, method: str, **params: Any) -> Any:
        return self.peer.request(method, {"sessionId": self.id, **params})

    def append(self, *messages: Any, **fields: Any) -> Any:
        return self.call("session/append", messages=list(messages), **fields)

    def prepare(self, phase: str = "turnStart", **fields: Any) -> Any:
        return self.call("context/prepare", phase=phase, **fields)

    def report(self, request_id: str, *messages: Any, **fields: Any) -> Any:
        fields = {"outcome": "ok", **fields}
        return self.call("context/report", requestId=request_id, messages=list(messages), **fields)

    def kill(self) -> None:
        """End the daemon as a crash would, and start another."""
        self.peer.process.kill()
        self.peer.wait_exit()
        self.leave()
        self.peer = self._start()

    def leave(self) -> None:
        self.peer.inbox.clear()
        self.peer.__exit__(None, None, None)

    def standing(self) -> tuple[bytes, bytes, Any]:
        """Both histories as they go over the wire, and the projection."""
        view = self._bytes("session/history", view="model")
        return view, self._bytes("session/history"), self.call("context/project", detail="items")

    def _bytes(self, method: str, **params: Any) -> bytes:
        asked = self.peer.ask(method, {"sessionId": self.id, **params})
        self.peer.wait(asked)
        _, _, result = self.peer.bodies[asked].partition(b'"result":')
        return result

    def _start(self) -> Peer:
        peer = Peer.start()
        peer.initialize(options=self.options, folders=[self.root])
        return peer


@contextmanager
def remote(root: Path, options: dict[str, Any] | None = None) -> Iterator[Remote]:
    root.mkdir(exist_ok=True)
    made = Remote(root, options)
    try:
        yield made
    finally:
        made.leave()
