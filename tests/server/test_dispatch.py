"""The dispatcher in memory: limits, the daemon's slot, progress under congestion. More: test_pitfalls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from ctxd.model.errors import StorageFailed
from ctxd.model.settings import Settings
from ctxd.server.calls import Daemon as DaemonLike
from ctxd.server.calls import Host
from ctxd.server.codec import Id, Notification, Request, decode
from ctxd.server.dispatch import Dispatcher
from ctxd.server.outbound import Outbound
from ctxd.server.slot import Slot
from ctxd.server.wire.lifecycle import BUILTINS, InitializeParams
from tests.support.echo_server import TABLE, Daemon, EchoParams, Params, build

Factory = Callable[[Settings, Host], Awaitable[DaemonLike]]


class Line:
    """The host's end in memory: what was sent, and whether it is read."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.congested = False
        self._news = asyncio.Event()

    def send(self, *parts: bytes) -> None:
        self.messages.append(json.loads(b"".join(parts).partition(b"\r\n\r\n")[2]))
        self._news.set()

    async def wait_for(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            for message in self.messages:
                if wanted(message):
                    return message
            self._news.clear()
            await self._news.wait()


class Plain:
    """LSP's side without LSP."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def initialize(self, given: InitializeParams) -> dict[str, Any]:
        return {}

    def notice(self, params: Any) -> None:
        self.said.append(type(params).__name__)

    def trace(self, method: str, identity: Id, outcome: str, milliseconds: float) -> None:
        self.said.append(f"{method} {outcome}")

    def complain(self, message: str) -> None:
        self.said.append(message)


class Rig:
    """A dispatcher, initialized, with its ends in reach."""

    def __init__(self, factory: Factory | None = build) -> None:
        self.line = Line()
        self.plain = Plain()
        self.settings = Settings()
        self.outbound = Outbound(self.line)
        host = Host(TABLE, self.outbound)
        self.slot = Slot(factory, host, lambda: self.settings)
        self.left: list[int] = []
        self.dispatcher = Dispatcher(
            table=TABLE,
            outbound=self.outbound,
            host=host,
            lsp=self.plain,
            slot=self.slot,
            leave=self.left.append,
        )
        self.dispatcher.feed(Request("init", "initialize", InitializeParams()))
        self.line.messages.clear()

    async def answer(self, identity: Id) -> dict[str, Any]:
        return await self.line.wait_for(lambda m: m.get("id") == identity and "method" not in m)


def test_more_work_than_fits_is_refused_as_busy_until_some_is_answered() -> None:
    async def check() -> None:
        rig = Rig()
        rig.dispatcher.feed(Request(1, "test/wait", Params(), size=257 * 1024 * 1024))
        rig.dispatcher.feed(Request(2, "test/echo", EchoParams()))
        refusal = (await rig.answer(2))["error"]
        assert (refusal["code"], refusal["data"]["kind"]) == (-32803, "busy")
        cancel = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}'
        rig.dispatcher.feed(decode(cancel, TABLE, BUILTINS))
        assert (await rig.answer(1))["error"]["data"]["kind"] == "cancelled"
        rig.dispatcher.feed(Request(3, "test/echo", EchoParams()))
        assert (await rig.answer(3))["result"] == {"text": "nothing"}

    asyncio.run(check())


def test_a_daemon_that_cannot_be_built_is_an_error_of_each_request_and_is_tried_again() -> None:
    tries: list[int] = []

    async def build_later(settings: Settings, host: Host) -> DaemonLike:
        tries.append(1)
        if len(tries) < 3:
            raise StorageFailed("no room", hint="make some")
        return Daemon(settings, host)

    async def check() -> None:
        rig = Rig(build_later)
        for identity in (1, 2):
            rig.dispatcher.feed(Request(identity, "test/echo", EchoParams()))
            assert (await rig.answer(identity))["error"]["data"]["kind"] == "storageFailed"
        rig.dispatcher.feed(Request(3, "test/echo", EchoParams()))
        assert (await rig.answer(3))["result"] == {"text": "nothing"}
        await rig.dispatcher.close()

    asyncio.run(check())
    assert len(tries) == 3


def test_settings_that_change_while_the_daemon_is_built_reach_it() -> None:
    async def check() -> None:
        start = asyncio.Event()

        async def build_slowly(settings: Settings, host: Host) -> DaemonLike:
            await start.wait()
            return Daemon(settings, host)

        rig = Rig(build_slowly)
        rig.dispatcher.feed(Notification("initialized", None))
        await asyncio.sleep(0)
        rig.settings = Settings()
        rig.slot.configure(rig.settings)
        start.set()
        built = await rig.slot.get()
        assert isinstance(built, Daemon)
        assert built.settings is rig.settings

    asyncio.run(check())


def test_a_request_that_waits_for_the_daemon_can_be_cancelled_without_ending_its_building() -> None:
    async def check() -> None:
        start = asyncio.Event()

        async def build_slowly(settings: Settings, host: Host) -> DaemonLike:
            await start.wait()
            return Daemon(settings, host)

        rig = Rig(build_slowly)
        for identity in (1, 2):
            rig.dispatcher.feed(Request(identity, "test/echo", EchoParams()))
        await asyncio.sleep(0)
        cancel = b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}'
        rig.dispatcher.feed(decode(cancel, TABLE, BUILTINS))
        assert (await rig.answer(1))["error"]["data"]["kind"] == "cancelled"
        start.set()
        assert (await rig.answer(2))["result"] == {"text": "nothing"}

    asyncio.run(check())


def test_after_the_end_has_begun_nothing_new_is_started() -> None:
    async def check() -> None:
        rig = Rig()
        await rig.dispatcher.close()
        await rig.dispatcher.close()
        rig.dispatcher.feed(Request(1, "test/echo", EchoParams()))
        assert (await rig.answer(1))["error"]["data"]["kind"] == "invalidRequest"
        rig.dispatcher.feed(Notification("test/drop", Params()))
        rig.dispatcher.feed(Notification("exit", None))
        assert rig.left == [1]

    asyncio.run(check())


def test_while_the_host_does_not_read_only_the_newest_report_of_a_token_is_kept() -> None:
    line = Line()
    outbound = Outbound(line)

    def report(token: str, message: str) -> None:
        outbound.progress(token, {"kind": "report", "message": message})

    def seen() -> list[tuple[str, str]]:
        taken, line.messages = line.messages, []
        return [(m["params"]["token"], m["params"]["value"].get("message", "end")) for m in taken]

    report("a", "1")
    line.congested = True
    for message in ("2", "3"):
        report("a", message)
        report("b", message)
    outbound.progress("b", {"kind": "end"})
    assert seen() == [("a", "1"), ("b", "end")]
    line.congested = False
    outbound.resume()
    assert seen() == [("a", "3")]
    outbound.resume()
    assert seen() == []


def test_a_host_that_is_gone_answers_nothing_and_nobody_waits() -> None:
    async def check() -> None:
        rig = Rig()
        rig.dispatcher.feed(Request(1, "test/askHost", Params()))
        await rig.line.wait_for(lambda m: m.get("method") == "test/host")
        rig.outbound.abandon()
        assert (await rig.answer(1))["result"]["text"] == "host error 0"
        rig.dispatcher.feed(Request(2, "test/askHost", Params()))
        assert (await rig.answer(2))["result"]["text"] == "host error 0"

    asyncio.run(check())
