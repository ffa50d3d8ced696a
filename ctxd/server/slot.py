"""The place of the daemon behind the handlers: built once, when first needed, and closed once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ctxd.model.settings import Settings
from ctxd.server.calls import Daemon, Factory, Host
from ctxd.server.faults import describe

_log = logging.getLogger("ctxd")


class Slot:
    """Holds the daemon. Without a factory there is none, and handlers get None."""

    def __init__(self, factory: Factory | None, host: Host, settings: Callable[[], Settings]) -> None:
        self._factory = factory
        self._host = host
        self._settings = settings
        self._building: asyncio.Task[Daemon] | None = None

    async def get(self) -> Daemon | None:
        """The daemon, built if need be. Raises what building it raised; the next call tries again."""
        if self._factory is None:
            return None
        if self._building is None:
            self._building = asyncio.create_task(self._build(self._factory))
        building = self._building
        try:
            return await asyncio.shield(building)
        except BaseException:
            if building.done() and self._building is building:
                self._building = None
            raise

    def configure(self, settings: Settings) -> None:
        """Give new settings to the daemon, if it stands; one being built gets them when it is."""
        building = self._building
        if building is not None and building.done() and building.exception() is None:
            building.result().configure(settings)

    async def close(self, within: float) -> None:
        """Close the daemon, waiting at most `within` seconds. Errors are logged: this is the end."""
        building, self._building, self._factory = self._building, None, None
        if building is None:
            return
        try:
            async with asyncio.timeout(within):
                await (await building).close()
        except TimeoutError:
            _log.error("closing took longer than %.0f s and was given up", within)
        except Exception as error:  # noqa: BLE001 - whatever it is, the process ends next
            _log.error("closing failed: %s", describe(error, method="close")["data"])

    async def _build(self, factory: Factory) -> Daemon:
        settings = self._settings()
        daemon = await factory(settings, self._host)
        if self._settings() is not settings:
            daemon.configure(self._settings())
        return daemon
