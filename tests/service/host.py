"""A daemon in this process: the wire's own decoding, method table, handlers and encoding, without pipes.

`LocalHost.call` is what a host does over stdio. `reopen` ends the daemon and starts another on the same
state folder; `copy` is what a crash at this moment would leave on disk.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from ctxd.model.errors import CtxdError
from ctxd.server import codec, faults
from ctxd.server.calls import Call
from ctxd.server.methods import METHODS
from ctxd.server.options import Options
from ctxd.service.counting import Counting
from ctxd.service.environment import Environment, wall_clock
from ctxd.service.host import Host
from ctxd.service.registry import Registry

Answer = dict[str, Any]
T = TypeVar("T")

WORKSPACE = "file:///somewhere/project"

_counting = Counting()
for method in METHODS.values():
    method.load()


class Refused(Exception):
    """The daemon answered with an error."""

    def __init__(self, error: Answer) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Answer = error["data"]
        self.kind: str = error["data"]["kind"]

    @property
    def paths(self) -> list[str]:
        """The paths of the fields that are wrong."""
        return [str(e["path"]) for e in self.data.get("errors", [])]

    @property
    def rules(self) -> list[tuple[str, int]]:
        """(rule, index) of the violations."""
        return [(v["rule"], v["index"]) for v in self.data.get("violations", [])]


class LocalHost:
    """One daemon and the state folder it owns. Use as a context manager."""

    def __init__(
        self, root: Path, options: Mapping[str, Any] | None = None, *, answers: Host | None = None
    ) -> None:
        """`answers` is the host as the daemon sees it, for those that are asked and told things."""
        self.root = root
        self.answers = answers
        self.later = 0
        """Milliseconds by which the daemon's clock is ahead of the wall's."""
        self.bodies: dict[str, bytes] = {}
        """The newest answer of each method, as bytes."""
        self._options = dict(options or {})
        self._ids = itertools.count(1)
        self._runner = asyncio.Runner()
        self.registry = self._start()

    def call(self, method: str, **params: Any) -> Any:
        """One request; None members stay. Raises Refused."""
        return self._runner.run(self.ask(method, params))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """The same inside a coroutine, for calls that overlap."""
        return await self._answer(method, self._frame(method, params))

    def send(self, method: str, frame: bytes) -> Any:
        """One request as these bytes, the frame's header apart. Raises Refused."""
        return self._runner.run(self._answer(method, frame))

    def notify(self, method: str, **params: Any) -> None:
        """One notification, handled to its end. Raises the CtxdError it ends with."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        given = codec.decode(json.dumps(message).encode(), METHODS, {})
        assert isinstance(given, codec.Notification), given
        if isinstance(given.params, CtxdError):
            raise given.params
        handler = METHODS[method].handler
        assert handler is not None
        self._runner.run(handler(self.registry, given.params, None))  # type: ignore[arg-type]  # a coroutine

    async def _answer(self, method: str, frame: bytes) -> Any:
        request = codec.decode(frame, METHODS, {})
        assert isinstance(request, codec.Request), request
        try:
            if isinstance(request.params, CtxdError):
                raise request.params
            handler = METHODS[method].handler
            assert handler is not None
            result = await handler(self.registry, request.params, _call(request))
            body = codec.encode(result)
        except CtxdError as error:
            described = json.loads(codec.encode(faults.describe(error, method=method)))
            raise Refused(described) from error
        self.bodies[method] = body
        return json.loads(body)

    def together(self, *asked: tuple[str, Mapping[str, Any]]) -> list[Any]:
        """Requests that overlap; results and Refused in their order."""

        async def gather() -> list[Any]:
            return await asyncio.gather(*(self.ask(*one) for one in asked), return_exceptions=True)

        return self.run(gather)

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the daemon's loop."""
        return self._runner.run(work())

    def open(self, session_id: str = "s1", dialect: str | None = "anthropic", **fields: Any) -> Session:
        """`session/open`; what is None is not sent."""
        fields = {"workspace": WORKSPACE, "sessionId": session_id, "dialect": dialect, **fields}
        info = self.call("session/open", **{k: v for k, v in fields.items() if v is not None})
        return Session(self, info)

    def reopen(self, options: Mapping[str, Any] | None = None) -> Self:
        """End the daemon and start another on the same folder."""
        self.close()
        if options is not None:
            self._options = dict(options)
        self.start_again()
        return self

    def start_again(self) -> None:
        """Start a daemon on the folder of one that was closed."""
        self._runner = asyncio.Runner()
        self.registry = self._start()

    def configure(self, options: Mapping[str, Any]) -> None:
        """Change options while the daemon runs."""
        self._options = dict(options)
        self.registry.configure(self._settings().settings)

    def copy(self, root: Path) -> LocalHost:
        """A second daemon on what lies on disk at this moment: the first one crashed, so to say."""
        shutil.copytree(self.root, root)
        return LocalHost(root, self._options)

    def close(self) -> None:
        """End the daemon in order."""
        self._runner.run(self.registry.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> Registry:
        settings = self._settings().settings
        environment = Environment(
            settings, _counting, now=lambda: wall_clock() + self.later, host=self.answers
        )
        return Registry(settings, client="tests", environment=environment)

    def _settings(self) -> Options:
        options = Options()
        storage = {"root": str(self.root), **self._options.get("storage", {})}
        assert options.set("init", {**self._options, "storage": storage}) == []
        return options

    def _frame(self, method: str, params: Mapping[str, Any]) -> bytes:
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        try:
            return json.dumps(message, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return json.dumps(message).encode()


class Session:
    """One open session: the calls of protocol.md sections 2 to 4 without repeating its id."""

    def __init__(self, host: LocalHost, info: Answer) -> None:
        self.host = host
        self.info = info
        self.id: str = info["sessionId"]

    def call(self, method: str, **params: Any) -> Any:
        return self.host.call(method, sessionId=self.id, **params)

    def append(self, *messages: Answer, **fields: Any) -> Answer:
        answer: Answer = self.call("session/append", messages=list(messages), **fields)
        return answer

    def prepare(self, phase: str = "turnStart", **fields: Any) -> Answer:
        answer: Answer = self.call("context/prepare", phase=phase, **fields)
        return answer

    def report(self, request_id: str, *messages: Answer, **fields: Any) -> Answer:
        fields = {"outcome": "ok", **fields}
        answer: Answer = self.call("context/report", requestId=request_id, messages=list(messages), **fields)
        return answer

    def project(self, **fields: Any) -> Answer:
        answer: Answer = self.call("context/project", **fields)
        return answer

    def compact(self, **fields: Any) -> Answer:
        answer: Answer = self.call("context/compact", **fields)
        return answer

    def fetch(self, call_id: str | None = None, **fields: Any) -> Answer:
        if call_id is not None:
            fields["toolCallId"] = call_id
        answer: Answer = self.call("recall/fetch", **fields)
        return answer

    def lines(self, view: str = "transcript", **fields: Any) -> list[Answer]:
        """A page of history."""
        found: list[Answer] = self.call("session/history", view=view, **fields)["messages"]
        return found

    def messages(self, view: str = "transcript") -> list[Answer]:
        """The native messages of a view."""
        return [line["message"] for line in self.lines(view)]

    def history_bytes(self, view: str = "model") -> bytes:
        """The answer of `session/history` as it goes over the wire."""
        self.lines(view)
        return self.host.bodies["session/history"]

    @property
    def revision(self) -> int:
        """As the daemon says now, without changing anything."""
        return int(self.project()["revision"])


def _call(request: codec.Request) -> Call:
    return Call(request.id, request.method, request.params, None, None)  # type: ignore[arg-type]  # no handler talks to the host
