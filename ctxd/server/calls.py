"""What a handler and the daemon behind it see of the connection: the host, and the call being served."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from pydantic import ValidationError

from ctxd.model.settings import Settings
from ctxd.server.codec import Id
from ctxd.server.method import Table
from ctxd.server.outbound import NONSENSE, HostError, Outbound
from ctxd.server.wire.base import Wire


class Daemon(Protocol):
    """What the server needs of the object that handlers work on."""

    def configure(self, settings: Settings) -> None:
        """New settings, already checked. Takes effect for later calls."""
        ...

    async def close(self) -> None:
        """Finish what was begun, keep what was acknowledged, let go of everything. Called once."""
        ...


class Host:
    """The program at the other end. Its facts are those of `initialize`, kept up to date."""

    def __init__(self, table: Table, outbound: Outbound) -> None:
        self.client = ""
        """Name and version of the host, as it gave them; may be empty."""
        self.folders: tuple[str, ...] = ()
        """URIs of the announced workspaces."""
        self.sampling = False
        """Whether it answers `sampling/createMessage`."""
        self.compact_hook = False
        """Whether it answers `hook/preCompact`."""
        self._table = table
        self._outbound = outbound

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification of the method table. Never blocks."""
        self._outbound.notify(method, params)

    def warn(self, sentence: str) -> None:
        """A warning in the host's log. No content. Never blocks."""
        self._outbound.notify("window/logMessage", {"type": 2, "message": sentence})

    async def request(self, method: str, params: Wire, *, within: float) -> Wire:
        """Ask the host something of the method table; `within` in seconds.

        Raises `ctxd.model.errors.Timeout`, and `outbound.HostError` when it answers with an error
        or with what is not the method's result.
        """
        result_type = self._table[method].result
        if result_type is None:
            raise ValueError(f"{method} is a notification")
        result = await self._outbound.request(method, params, within=within)
        try:
            return result_type.model_validate(result)
        except ValidationError:
            raise HostError(NONSENSE) from None


Factory = Callable[[Settings, Host], Awaitable[Daemon]]
"""Builds the daemon. Called after `initialize` was answered, on the loop; heavy imports go to a thread."""


class Call:
    """One request being served."""

    def __init__(self, identity: Id | None, method: str, params: Any, host: Host, outbound: Outbound) -> None:
        self.id = identity
        self.method = method
        self.host = host
        self.cancelled = False
        """Set when the host cancels; the handler's task is cancelled too. For worker threads to look at."""
        self.token: Id | None = getattr(params, "work_done_token", None)
        self._outbound = outbound
        self._begun = False
        self._ended = False

    def progress(self, message: str | None = None, *, percentage: int | None = None) -> None:
        """Tell a host that gave a `workDoneToken` how far it is, 0 to 100. Nothing otherwise."""
        if self.token is None or self._ended:
            return
        value: dict[str, Any] = {"kind": "report" if self._begun else "begin"}
        if not self._begun:
            value |= {"title": self.method, "cancellable": True}
        if message is not None:
            value["message"] = message
        if percentage is not None:
            value["percentage"] = min(100, max(0, percentage))
        self._begun = True
        self._outbound.progress(self.token, value)

    def end_progress(self) -> None:
        """Close the progress, if it was begun. The server does this before it answers."""
        if self.token is not None and self._begun and not self._ended:
            self._ended = True
            self._outbound.progress(self.token, {"kind": "end"})

    def notify(self, method: str, params: Wire) -> None:
        """Send the host a notification."""
        self.host.notify(method, params)

    async def request(self, method: str, params: Wire, *, within: float) -> Wire:
        """Ask the host something, as `Host.request`."""
        return await self.host.request(method, params, within=within)
