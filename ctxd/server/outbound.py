"""Everything the daemon sends: answers, notifications, progress, and requests to the host.

Requests to the host have an id space of their own; each ends in its answer, a timeout or a
cancellation, and the host is told of the last two. Loop thread only.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, Protocol

from ctxd.model.errors import Timeout
from ctxd.server.codec import Id, Response, encode, encode_parts
from ctxd.server.framing import frame


class Outlet(Protocol):
    """Where frames go."""

    @property
    def congested(self) -> bool:
        """True while the host does not read what it is sent."""
        ...

    def send(self, *parts: bytes) -> None:
        """Queue bytes, at once and in order."""
        ...


class HostError(Exception):
    """The host answered a request of ours with an error, or nonsense, or is gone.

    `code`, `message` and `data` are the host's own; none of it is ever logged.
    """

    def __init__(self, code: int, message: str = "", data: Any = None) -> None:
        super().__init__(f"the host answered with error {code}")
        self.code = code
        self.message = message
        self.data = data


GONE = 0
"""Code of a HostError when no answer will ever come."""

NONSENSE = 1
"""Code of a HostError for an answer that is none."""


class Outbound:
    """The sending side of the connection."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._reports: dict[Id, bytes] = {}
        self._gone = False

    def send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises TypeError or ValueError, and sends nothing, when it is not JSON."""
        self._outlet.send(*frame(*encode_parts({"jsonrpc": "2.0", **message})))

    def answer(self, identity: Id | None, result: Any) -> None:
        self.send({"id": identity, "result": result})

    def fail(self, identity: Id | None, error: dict[str, Any]) -> None:
        self.send({"id": identity, "error": error})

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def progress(self, token: Id, value: dict[str, Any]) -> None:
        """Send `$/progress`. While the host does not read, only the newest report of a token is kept."""
        body = encode({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": value}})
        match value["kind"]:
            case "report" if self._outlet.congested:
                self._reports[token] = body
            case "end":
                self._reports.pop(token, None)
                self._outlet.send(*frame(body))
            case _:
                self._outlet.send(*frame(body))

    def resume(self) -> None:
        """The host reads again: send the reports that were held back."""
        reports, self._reports = self._reports, {}
        for body in reports.values():
            self._outlet.send(*frame(body))

    async def request(self, method: str, params: Any, *, within: float) -> Any:
        """Ask the host; its plain result.

        Raises Timeout after `within` seconds, HostError when the host answers with an error or
        is gone.
        """
        if self._gone:
            raise HostError(GONE)
        identity = f"s{next(self._ids)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.send({"id": identity, "method": method, "params": params})
        self._waiting[identity] = future
        try:
            async with asyncio.timeout(within):
                return await future
        except TimeoutError:
            self.notify("$/cancelRequest", {"id": identity})
            raise Timeout(
                f"the host did not answer {method} in time", hint="is the host still serving it?"
            ) from None
        except asyncio.CancelledError:
            self.notify("$/cancelRequest", {"id": identity})
            raise
        finally:
            del self._waiting[identity]

    def settle(self, response: Response) -> None:
        """Give an answer of the host to whoever waits for it; late and unknown ones are dropped."""
        future = self._waiting.get(response.id) if isinstance(response.id, str) else None
        if future is None or future.done():
            return
        if response.error is None:
            future.set_result(response.result)
            return
        error = response.error if isinstance(response.error, dict) else {}
        code, message = error.get("code"), error.get("message")
        future.set_exception(
            HostError(
                code if isinstance(code, int) else NONSENSE,
                message if isinstance(message, str) else "",
                error.get("data"),
            )
        )

    def abandon(self) -> None:
        """The host is gone: nothing it was asked will be answered."""
        self._gone = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(HostError(GONE))
