"""The running process: pipes, threads, loop, signals, parent watch, and how it all ends.

The answer to `initialize` must not wait for anything heavy; the daemon behind the handlers is
built after it.
"""

from __future__ import annotations

import asyncio
import gc
import linecache
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ctxd.model.settings import Settings
from ctxd.server.calls import Daemon, Factory, Host
from ctxd.server.codec import Broken, Inbound, decode, reject
from ctxd.server.dispatch import Dispatcher
from ctxd.server.framing import Frame, Oversized, sniff_id
from ctxd.server.lsp import LspSide
from ctxd.server.method import Table, load_handlers
from ctxd.server.methods import METHODS
from ctxd.server.options import Options
from ctxd.server.outbound import Outbound
from ctxd.server.slot import Slot
from ctxd.server.stdio import Reader, Writer, claim
from ctxd.server.wire.lifecycle import BUILTINS

if TYPE_CHECKING:
    from ctxd.service.registry import Registry

_log = logging.getLogger("ctxd")

_FLUSH_TIMEOUT = 2.0
_PARENT_POLL = 2.0
_COMMON = ("session/open", "session/append", "context/project", "context/prepare", "context/report")
"""What every host calls: its models are built while the daemon starts, others' when they are called."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SUMMARIZERS = ("host", "provider", "extractive")


async def build_daemon(settings: Settings, host: Host) -> Daemon:
    """The daemon behind the real method table. What it imports is imported in a thread."""

    def load() -> Callable[[], Registry]:
        load_handlers()
        for method in METHODS.values():
            if method.direction == "toHost" or method.name in _COMMON:
                method.load()
        from ctxd.server.handlers.host import WireHost
        from ctxd.service.registry import Registry

        return lambda: Registry(settings, client=host.client, host=WireHost(host))

    registry = (await asyncio.to_thread(load))()
    registry.warm_up()
    return registry


def serve(
    *,
    table: Table = METHODS,
    factory: Factory | None = build_daemon,
    dialects: tuple[str, ...] = DIALECTS,
    summarizers: tuple[str, ...] = SUMMARIZERS,
    pipes: tuple[int, int] | None = None,
    log_level: str = "WARNING",
) -> NoReturn:
    """Serve one host over stdio until it leaves; ends the process.

    `pipes` are descriptors from `stdio.claim`, where the caller has claimed them already. `factory`
    builds what handlers work on. Exit codes: 0 after `shutdown`, 1 without, on a broken stream or a
    dead parent, 128 + n for signal n.
    """
    source, sink = pipes or claim()
    # Looking for plugins of pydantic reads the metadata of every installed distribution.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    _set_up_logging(log_level)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    app = App(loop, source, sink, table=table, factory=factory, dialects=dialects, summarizers=summarizers)
    # attrs keeps the source it generated for the methods of lsprotocol's classes: 5 MB of small strings.
    linecache.clearcache()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    code = loop.run_until_complete(app.run())
    logging.shutdown()
    # Threads of a pool, or one blocked on stdin, must not hold the process.
    os._exit(code)


class App:
    """One connection and everything around it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        source: int,
        sink: int,
        *,
        table: Table,
        factory: Factory | None,
        dialects: tuple[str, ...],
        summarizers: tuple[str, ...],
    ) -> None:
        self._loop = loop
        self._table = table
        self._left: asyncio.Future[int] = loop.create_future()
        self._options = Options()
        self._writer = Writer(
            sink,
            broke=lambda: self._post(self._lose_host),
            drained=lambda: self._post(self._outbound.resume),
        )
        self._outbound = Outbound(self._writer)
        self._host = Host(table, self._outbound)
        self._slot = Slot(factory, self._host, lambda: self._options.settings)
        self._dispatcher = Dispatcher(
            table=table,
            outbound=self._outbound,
            host=self._host,
            lsp=LspSide(
                table=table,
                outbound=self._outbound,
                host=self._host,
                options=self._options,
                dialects=dialects,
                summarizers=summarizers,
                configured=self._configure,
                watch_parent=self._watch_parent,
            ),
            slot=self._slot,
            leave=self._leave,
        )
        self._reader = Reader(
            os.fdopen(source, "rb"),
            limit=self._options.settings.wire.max_message_bytes,
            deliver=self._deliver,
            ended=lambda error: self._post(self._end_of_input, error),
            may_read=self._writer.wait_clear,
        )

    async def run(self) -> int:
        """Serve until somebody leaves; the exit code."""
        for number in _SIGNALS:
            self._loop.add_signal_handler(number, self._leave, 128 + number)
        self._writer.start()
        self._reader.start()
        code = await self._left
        await self._dispatcher.close()
        await asyncio.to_thread(self._writer.flush, _FLUSH_TIMEOUT)
        return code

    def _deliver(self, got: Frame | Oversized) -> None:
        """On the reader's thread: decode there, so that the loop never waits for a large body."""
        match got:
            case Frame(body=body):
                message = self._decode(body)
                self._post(self._feed, message, len(body))
            case Oversized():
                self._post(self._feed, reject(got, self._reader.limit), 0)

    def _decode(self, body: bytes) -> Inbound:
        try:
            return decode(body, self._table, BUILTINS)
        except Exception as error:  # noqa: BLE001 - a defect of ours must not end the reader
            return Broken(sniff_id(body[:4096], body[-4096:]), error)

    def _feed(self, message: Inbound, size: int) -> None:
        self._reader.release(size)
        self._dispatcher.feed(message)

    def _post(self, call: Callable[..., object], *args: object) -> None:
        self._loop.call_soon_threadsafe(call, *args)

    def _leave(self, code: int) -> None:
        if not self._left.done():
            self._left.set_result(code)

    def _lose_host(self) -> None:
        self._outbound.abandon()
        self._leave(self._dispatcher.exit_code)

    def _end_of_input(self, error: Exception | None) -> None:
        self._outbound.abandon()
        if error is None:
            self._leave(self._dispatcher.exit_code)
            return
        _log.error("the input stream broke: %s", error)
        self._leave(1)

    def _configure(self, settings: Settings) -> None:
        self._reader.limit = settings.wire.max_message_bytes
        self._slot.configure(settings)

    def _watch_parent(self, pid: int) -> None:
        """Leave when process `pid` ends. One that cannot be seen (another namespace) is not watched."""
        if sys.platform == "linux":
            try:
                descriptor = os.pidfd_open(pid)
            except OSError:
                return
            self._loop.add_reader(descriptor, self._lose_host)
        else:
            self._poll_parent(pid)

    def _poll_parent(self, pid: int) -> None:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            self._lose_host()
        except OSError:
            return
        else:
            self._loop.call_later(_PARENT_POLL, self._poll_parent, pid)


def _set_up_logging(level: str) -> None:
    logging.basicConfig(
        level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # pygls logs bodies and parameters of messages.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
