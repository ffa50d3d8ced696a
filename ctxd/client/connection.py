"""The connection to one daemon: its process, its lifecycle, requests both ways.

Owns the process from start to exit. Must not know what a session is; see `session`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from ctxd import __version__
from ctxd.client.frames import BrokenFrame, encode_frame, read_frame

OnRequest: TypeAlias = Callable[[Any], Awaitable[Any]]
OnNotification: TypeAlias = Callable[[str, Any], None]

_UNKNOWN_METHOD = -32601
_INTERNAL = -32603
_CANCELLED = -32800
_SHUTDOWN_SECONDS = 10.0


class ClientError(Exception):
    """The daemon answered with an error, or is gone.

    `code` is JSON-RPC's, `kind` ctxd's stable word for it (protocol.md, section 1), `hint` what to
    do, `data` the error's own facts. A daemon that ended has the kind `connectionClosed`.
    """

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data: dict[str, Any] = dict(data or {})
        self.kind: str = str(self.data.get("kind", ""))
        self.hint: str | None = self.data.get("hint")

    @classmethod
    def closed(cls, reason: str) -> ClientError:
        """The connection is no more."""
        return cls(_INTERNAL, reason, {"kind": "connectionClosed"})

    def __str__(self) -> str:
        return f"{self.kind or self.code}: {self.args[0]}" + (f" ({self.hint})" if self.hint else "")


def folder_uri(folder: Path) -> str:
    """A folder as the wire names it."""
    return folder.absolute().as_uri()


class Client:
    """A started daemon. Make one with `Client.start`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        on_request: Mapping[str, OnRequest],
        on_notification: OnNotification | None,
    ) -> None:
        self._process = process
        self._on_request = on_request
        self._on_notification = on_notification
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._serving: dict[Any, asyncio.Task[None]] = {}
        self._gone: ClientError | None = None
        self.server_info: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        workspace: Path | Sequence[Path],
        *,
        command: Sequence[str] = (sys.executable, "-m", "ctxd", "serve"),
        options: Mapping[str, Any] | None = None,
        on_request: Mapping[str, OnRequest] | None = None,
        on_notification: OnNotification | None = None,
        env: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Client]:
        """Start a daemon for one or more workspace folders and say hello; shut it down at the end.

        `options` are `initializationOptions` (protocol.md, section 9). `on_request` answers what the
        daemon asks (`sampling/createMessage`, `hook/preCompact`); what it can ask is announced from
        its keys. `env` replaces the environment. Raises ClientError, and OSError when the command
        cannot be started.
        """
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=env
        )
        client = cls(process, on_request or {}, on_notification)
        reading = asyncio.create_task(client._read())
        try:
            folders = [workspace] if isinstance(workspace, Path) else list(workspace)
            await client._initialize(folders, options or {})
            yield client
        finally:
            await client._end()
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reading

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The daemon's exit code, None while it runs."""
        return self._process.returncode

    async def request(self, method: str, params: Mapping[str, Any] | bytes | None = None) -> Any:
        """Ask and wait for the result. Cancelling the caller cancels the request in the daemon.

        `params` may be JSON text of an object, for those who have it. Raises ClientError.
        """
        if self._gone is not None:
            raise self._gone
        self._next_id += 1
        request_id = self._next_id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            await self._send({"id": request_id, "method": method, "params": _plain(params)})
            return await answer
        except asyncio.CancelledError:
            self._write({"method": "$/cancelRequest", "params": {"id": request_id}})
            raise
        finally:
            del self._waiting[request_id]
            if answer.done() and not answer.cancelled():
                answer.exception()

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification. Raises ClientError when the daemon is gone."""
        await self._send({"method": method, "params": dict(params or {})})

    def kill(self) -> None:
        """End the daemon at once, as a crash would."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def wait(self) -> int:
        """Wait until the daemon has ended; its exit code."""
        return await self._process.wait()

    async def _initialize(self, folders: Sequence[Path], options: Mapping[str, Any]) -> None:
        can = {
            "sampling": "sampling/createMessage" in self._on_request,
            "compactHook": "hook/preCompact" in self._on_request,
        }
        result = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "clientInfo": {"name": "ctxd.client", "version": __version__},
                "capabilities": {"experimental": {"ctxd": can}},
                "workspaceFolders": [{"uri": folder_uri(f), "name": f.name} for f in folders],
                "initializationOptions": dict(options),
            },
        )
        self.server_info = result.get("serverInfo") or {}
        self.capabilities = result.get("capabilities", {}).get("experimental", {}).get("ctxd", {})
        await self.notify("initialized")

    async def _end(self) -> None:
        """Shut down politely; kill what does not end in time (`returncode` then says so)."""
        try:
            async with asyncio.timeout(_SHUTDOWN_SECONDS):
                with contextlib.suppress(ClientError):
                    await self.request("shutdown")
                    await self.notify("exit")
                if self._process.stdin is not None:
                    self._process.stdin.close()
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            for task in self._serving.values():
                task.cancel()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        reason = "the daemon has ended"
        try:
            while (message := await read_frame(self._process.stdout)) is not None:
                self._dispatch(message)
        except BrokenFrame as error:
            reason = f"the daemon sent no frame: {error}"
        finally:
            self._gone = ClientError.closed(reason)
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._gone)

    def _dispatch(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._settle(message)
        elif "id" in message:
            identity = message["id"]
            task = asyncio.create_task(self._serve(identity, message["method"], message.get("params")))
            self._serving[identity] = task
            task.add_done_callback(lambda done: self._served(identity, done))
        elif message["method"] == "$/cancelRequest":
            asked = self._serving.get((message.get("params") or {}).get("id"))
            if asked is not None:
                asked.cancel()
        elif self._on_notification is not None:
            self._on_notification(message["method"], message.get("params"))

    def _settle(self, message: dict[str, Any]) -> None:
        answer = self._waiting.get(message.get("id", 0))
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
        else:
            answer.set_exception(
                ClientError(error.get("code", _INTERNAL), error.get("message", ""), error.get("data"))
            )

    async def _serve(self, identity: Any, method: str, params: Any) -> None:
        handler = self._on_request.get(method)
        try:
            if handler is None:
                raise ClientError(_UNKNOWN_METHOD, f"{method} is not served here")
            answer: dict[str, Any] = {"result": await handler(params)}
        except ClientError as error:
            answer = {"error": {"code": error.code, "message": str(error.args[0]), "data": error.data}}
        except Exception as error:  # noqa: BLE001 - whatever the host's callback raises, the daemon is answered
            answer = {"error": {"code": _INTERNAL, "message": type(error).__name__}}
        self._write({"id": identity, **answer})

    def _served(self, identity: Any, task: asyncio.Task[None]) -> None:
        """Forget a request that was answered. One cancelled, even before it began, is answered here."""
        self._serving.pop(identity, None)
        if task.cancelled():
            self._write({"id": identity, "error": {"code": _CANCELLED, "message": "cancelled"}})

    async def _send(self, message: dict[str, Any]) -> None:
        if self._gone is not None:
            raise self._gone
        self._write(message)
        assert self._process.stdin is not None
        try:
            await self._process.stdin.drain()
        except ConnectionError as error:
            raise ClientError.closed("the daemon has ended") from error

    def _write(self, message: dict[str, Any]) -> None:
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(encode_frame({"jsonrpc": "2.0", **message}))


def _plain(params: Mapping[str, Any] | bytes | None) -> dict[str, Any] | bytes:
    return params if isinstance(params, bytes) else dict(params or {})
