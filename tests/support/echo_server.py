"""The real server around handlers that do nothing but what a test of the wire needs. Run as a script."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ctxd.model.errors import CtxdError, SessionLocked
from ctxd.model.settings import Settings
from ctxd.server.app import serve
from ctxd.server.calls import Call, Host
from ctxd.server.method import Method, tabulate
from ctxd.server.outbound import HostError
from ctxd.server.wire.base import Input, NativeAny, NativeObject, NativeOut, Wire


class EchoParams(Input):
    text: str = "nothing"
    number: int | None = None
    native: NativeObject | None = None
    messages: list[NativeObject] | None = None
    system: NativeAny | None = None
    tree: dict[str, Any] | None = None


class EchoResult(Wire):
    text: str
    number: int | None = None
    native: NativeOut | None = None
    messages: list[NativeOut] | None = None
    system: NativeOut | None = None
    tree: dict[str, Any] | None = None


class Params(Input):
    count: int = 1
    path: str = ""
    work_done_token: str | int | None = None


class Result(Wire):
    text: str = ""
    count: int = 0


class Daemon:
    """Remembers what it was told; `close` writes a file, so that a test sees that it ran to its end."""

    def __init__(self, settings: Settings, host: Host) -> None:
        self.settings = settings
        self.host = host
        self.gate = asyncio.Event()
        self.closed_marker: Path | None = None

    def configure(self, settings: Settings) -> None:
        self.settings = settings

    async def close(self) -> None:
        if self.closed_marker is not None:
            await asyncio.to_thread(self.closed_marker.write_text, "closed")


async def build(settings: Settings, host: Host) -> Daemon:
    return Daemon(settings, host)


async def echo(_: Daemon, params: EchoParams, __: Call) -> EchoResult:
    return EchoResult(
        text=params.text,
        number=params.number,
        native=params.native.raw if params.native else None,
        messages=[m.raw for m in params.messages] if params.messages is not None else None,
        system=params.system.raw if params.system else None,
        tree=params.tree,
    )


async def wait(daemon: Daemon, _: Params, call: Call) -> Result:
    """Answers when `open` is called; says that it has begun."""
    daemon.gate = gate = asyncio.Event()
    call.notify("test/begun", Result())
    await gate.wait()
    return Result(text="opened")


async def open_gate(daemon: Daemon, _: Params, __: Call) -> Result:
    daemon.gate.set()
    return Result()


async def fail(_: Daemon, __: Params, ___: Call) -> Result:
    raise KeyError("a secret in an exception")


async def leave(_: Daemon, __: Params, ___: Call) -> Result:
    sys.exit(3)


async def lock(_: Daemon, __: Params, ___: Call) -> Result:
    raise SessionLocked("somebody writes it", hint="ask them", holder={"pid": 7}, plan_id="p")


async def odd_error(_: Daemon, __: Params, ___: Call) -> Result:
    raise CtxdError("an error of no kind")


async def wrong_type(_: Daemon, __: Params, ___: Call) -> EchoResult:
    return Result()  # type: ignore[return-value]  # the point of the test


async def unsendable(_: Daemon, __: Params, ___: Call) -> EchoResult:
    return EchoResult(text="x", tree={"x": object()})


async def pollute(_: Daemon, __: Params, ___: Call) -> Result:
    """Write to stdout in three ways; `count` is how much a child could read from stdin."""
    sys.stdout.write("printed\n")
    sys.stdout.flush()
    os.write(1, b"written to descriptor 1\n")
    child = await asyncio.create_subprocess_exec("wc", "-c")
    reader = await asyncio.create_subprocess_exec("cat", stdout=subprocess.PIPE)
    read, _error = await reader.communicate()
    await child.wait()
    return Result(count=len(read))


async def work(_: Daemon, params: Params, call: Call) -> Result:
    for step in range(params.count):
        call.progress(f"step {step}", percentage=step)
    return Result(count=params.count)


async def ask_host(_: Daemon, params: Params, call: Call) -> Result:
    try:
        answer = await call.request("test/host", Result(count=params.count), within=30)
    except HostError as error:
        return Result(text=f"host error {error.code}")
    assert isinstance(answer, Result)
    return Result(text=answer.text)


async def ask_in_vain(_: Daemon, params: Params, call: Call) -> Result:
    await call.request("test/host", Result(count=params.count), within=0.01)
    return Result()


async def hold_thread(_: Daemon, __: Params, call: Call) -> Result:
    """A worker thread that never ends by itself."""
    call.notify("test/begun", Result())
    await asyncio.to_thread(threading.Event().wait)
    return Result()


async def slow_close(daemon: Daemon, params: Params, call: Call) -> Result:
    """An operation that finishes what it began, cancelled or not."""
    daemon.closed_marker = Path(params.path)
    call.notify("test/begun", Result())
    await asyncio.sleep(0.05)
    return Result(text="finished")


async def know_host(daemon: Daemon, _: Params, __: Call) -> EchoResult:
    host = daemon.host
    return EchoResult(
        text=host.client,
        number=daemon.settings.elision.keep_turns,
        tree={"folders": list(host.folders), "sampling": host.sampling, "hook": host.compact_hook},
    )


async def flood(daemon: Daemon, params: Params, call: Call) -> Result:
    """Send more than the host reads; say so in the file `path`; answer when `open` is called."""
    daemon.gate = gate = asyncio.Event()
    for step in range(params.count):
        call.notify("test/blob", Result(text="x" * 65_536))
        call.progress(f"{step}")
    await asyncio.to_thread(Path(params.path).write_text, "flooded")
    await gate.wait()
    return Result(count=params.count)


async def drop(daemon: Daemon, params: Params, __: Call | None) -> None:
    if params.count < 0:
        raise KeyError("a secret in an exception")
    daemon.gate.set()


def _method(name: str, handler: Any, params: type[Wire] = Params, result: type[Wire] = Result) -> Method:
    return Method(name, params, result, "For tests.", handler)


TABLE = tabulate(
    [
        _method("test/echo", echo, EchoParams, EchoResult),
        _method("test/wait", wait),
        _method("test/open", open_gate),
        _method("test/fail", fail),
        _method("test/leave", leave),
        _method("test/lock", lock),
        _method("test/oddError", odd_error),
        _method("test/wrongType", wrong_type, Params, EchoResult),
        _method("test/unsendable", unsendable, Params, EchoResult),
        _method("test/pollute", pollute),
        _method("test/work", work),
        _method("test/askHost", ask_host),
        _method("test/askInVain", ask_in_vain),
        _method("test/holdThread", hold_thread),
        _method("test/finish", slow_close),
        _method("test/host?", know_host, Params, EchoResult),
        _method("test/flood", flood),
        Method("test/unbuilt", Params, Result, "For tests."),
        Method("test/drop", Params, None, "For tests.", drop, kind="notification"),
        Method("test/host", Result, Result, "For tests.", direction="toHost"),
    ]
)

if __name__ == "__main__":
    serve(table=TABLE, factory=build, log_level=os.environ.get("CTXD_LOG", "WARNING"))
