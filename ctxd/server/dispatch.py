"""Who may ask what when, and that every request is answered exactly once.

Lifecycle gate, running requests, cancellation, shutdown. Knows the table and the codec's messages;
pygls, pipes and what handlers do are other modules' business. Loop thread only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, assert_never

import msgspec

from ctxd.model.errors import Busy, CtxdError
from ctxd.server.calls import Call, Host
from ctxd.server.codec import Broken, Id, Inbound, Notification, Request, Response
from ctxd.server.faults import Fault, describe
from ctxd.server.method import Method, Table
from ctxd.server.outbound import Outbound
from ctxd.server.slot import Slot
from ctxd.server.wire.lifecycle import InitializeParams

_NAME_SHOWN = 100
_GRACE = 2.0
_CLOSE_TIMEOUT = 10.0
_MAX_RUNNING_BYTES = 256 * 1024 * 1024


class Lsp(Protocol):
    """LSP's own messages, as the dispatcher needs them."""

    def initialize(self, given: InitializeParams) -> dict[str, Any]:
        """Result of `initialize`. Raises Fault or CtxdError and changes nothing then."""
        ...

    def notice(self, params: Any) -> None:
        """Take a notification of LSP's own; what is none is ignored. Raises CtxdError."""
        ...

    def trace(self, method: str, identity: Id, outcome: str, milliseconds: float) -> None:
        """A request was answered."""
        ...

    def complain(self, message: str) -> None:
        """Tell the host's log what cannot be answered. No content."""
        ...


class _Running(msgspec.Struct):
    task: asyncio.Task[Any]
    request: Request
    call: Call
    since: float


class Dispatcher:
    """Takes messages in order, runs handlers as tasks, answers."""

    def __init__(
        self,
        *,
        table: Table,
        outbound: Outbound,
        host: Host,
        lsp: Lsp,
        slot: Slot,
        leave: Callable[[int], None],
    ) -> None:
        self._table = table
        self._outbound = outbound
        self._host = host
        self._lsp = lsp
        self._slot = slot
        self._leave = leave
        self._initialized = False
        self._shut = False
        self._running: dict[Id, _Running] = {}
        self._running_bytes = 0
        self._background: set[asyncio.Task[Any]] = set()
        self._closing: asyncio.Task[None] | None = None

    @property
    def exit_code(self) -> int:
        """What the process ends with when the host leaves now: 0 after `shutdown`, else 1."""
        return 0 if self._shut else 1

    def feed(self, message: Inbound) -> None:
        """Take the next message. Never raises for anything a host can send."""
        match message:
            case Request():
                self._take_request(message)
            case Notification(method=method, params=params):
                self._take_notification(method, params)
            case Response():
                self._outbound.settle(message)
            case Broken(id=identity, fault=fault):
                self._fail(identity, fault, "a frame")
            case _:
                assert_never(message)

    async def close(self) -> None:
        """End everything: running requests get a moment, then are cancelled; then the daemon closes.

        What was begun on disk is finished. May be called again; it happens once.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    def _take_request(self, request: Request) -> None:
        if request.id in self._running:
            # Under its own id this would answer the request that still runs.
            fault = Fault("invalidRequest", "a request with this id is still running", id=request.id)
            self._fail(None, fault, request.method)
            return
        try:
            self._check_lifecycle(request.method)
            if request.method == "initialize":
                self._initialize(request)
            elif request.method == "shutdown":
                self._shut = True
                self._start(request, self._shut_down(), self._call(request))
            else:
                call = self._call(request)
                self._start(request, self._perform(self._find(request), request.params, call), call)
        except (Fault, CtxdError) as error:
            self._fail(request.id, error, request.method)

    def _check_lifecycle(self, method: str) -> None:
        if self._shut or self._closing is not None:
            raise Fault("invalidRequest", "the daemon was shut down")
        if method == "initialize":
            if self._initialized:
                raise Fault("invalidRequest", "the daemon is initialized already")
        elif not self._initialized:
            raise Fault("notInitialized", "the daemon is not initialized", hint="send initialize first")

    def _initialize(self, request: Request) -> None:
        if isinstance(request.params, CtxdError):
            raise request.params
        self._outbound.answer(request.id, self._lsp.initialize(request.params))
        self._initialized = True

    def _find(self, request: Request) -> Method:
        """The method a request calls. Raises what forbids calling it."""
        method = self._table.get(request.method)
        if (
            method is None
            or method.handler is None
            or (method.kind, method.direction) != ("request", "toDaemon")
        ):
            name = request.method[:_NAME_SHOWN]
            hint = "initialize lists the methods of this build"
            raise Fault("unknownMethod", f"unknown method: {name}", hint=hint)
        if isinstance(request.params, CtxdError):
            raise request.params
        if self._running_bytes > _MAX_RUNNING_BYTES:
            raise Busy("too much is being worked on", hint="wait for answers before sending more")
        return method

    def _call(self, request: Request) -> Call:
        return Call(request.id, request.method, request.params, self._host, self._outbound)

    def _start(self, request: Request, work: Coroutine[Any, Any, Any], call: Call) -> None:
        running = _Running(asyncio.create_task(work), request, call, time.monotonic())
        self._running[request.id] = running
        self._running_bytes += request.size
        running.task.add_done_callback(lambda _: self._finish(running))

    async def _perform(self, method: Method, params: Any, call: Call | None) -> Any:
        assert method.handler is not None
        try:
            result = await method.handler(await self._slot.get(), params, call)
        except SystemExit:
            raise RuntimeError("a handler tried to end the process") from None
        if method.result is not None and not isinstance(result, method.result):
            raise TypeError(f"{method.name} answered with {type(result).__name__}")
        return result

    def _finish(self, running: _Running) -> None:
        request = running.request
        del self._running[request.id]
        self._running_bytes -= request.size
        running.call.end_progress()
        outcome = "ok"
        try:
            self._outbound.answer(request.id, running.task.result())
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - each becomes an error answer
            outcome = self._fail(request.id, error, request.method)
        self._lsp.trace(request.method, request.id, outcome, (time.monotonic() - running.since) * 1000)

    def _fail(self, identity: Id | None, error: BaseException, method: str) -> str:
        described = describe(error, method=method)
        try:
            self._outbound.fail(identity, described)
        except (TypeError, ValueError) as unsendable:
            described = describe(unsendable, method=method)
            self._outbound.fail(identity, described)
        return str(described["data"]["kind"])

    def _take_notification(self, method: str, params: Any) -> None:
        if method == "exit":
            self._leave(self.exit_code)
            return
        if not self._initialized or self._closing is not None:
            return
        if isinstance(params, CtxdError):
            self._lsp.complain(f"{method} was ignored: {params.message}")
            return
        match method:
            case "initialized":
                self._run_aside(self._slot.get(), method)
            case "$/cancelRequest":
                self._cancel(lambda r: r.request.id == params.id)
            case "window/workDoneProgress/cancel":
                self._cancel(lambda r: r.call.token == params.token)
            case _:
                entry = self._table.get(method)
                if entry is not None and entry.handler is not None and entry.kind == "notification":
                    self._run_aside(self._perform(entry, params, None), method)
                else:
                    self._notice(method, params)

    def _notice(self, method: str, params: Any) -> None:
        try:
            self._lsp.notice(params)
        except CtxdError as error:
            self._lsp.complain(f"{method} was ignored: {error.message}")

    def _cancel(self, is_meant: Callable[[_Running], bool]) -> None:
        for running in list(self._running.values()):
            if is_meant(running) and running.request.method != "shutdown":
                running.call.cancelled = True
                running.task.cancel()

    def _run_aside(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        """Run what nobody waits for; a failure goes to the host's log."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(lambda _: self._finish_aside(task, name))

    def _finish_aside(self, task: asyncio.Task[Any], name: str) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            described = describe(error, method=name)
            self._lsp.complain(f"{name}: {described['message']} ({described['data']['kind']})")

    async def _shut_down(self) -> None:
        await self.close()

    async def _close(self) -> None:
        tasks = {r.task for r in self._running.values() if r.request.method != "shutdown"} | self._background
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_GRACE)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=_CLOSE_TIMEOUT)
        await self._slot.close(_CLOSE_TIMEOUT)
