"""`ctxd/status`."""

from __future__ import annotations

import os
from pathlib import Path

from ctxd import __version__
from ctxd.server.calls import Call
from ctxd.server.handlers.guard import state_of
from ctxd.server.wire import status as wire
from ctxd.service.registry import Registry, status


async def read(registry: Registry, params: wire.StatusParams, call: Call) -> wire.StatusResult:
    found = status(registry)
    environment = registry.environment
    return wire.StatusResult(
        version=__version__,
        uptime=found.uptime,
        sessions=found.sessions,
        rss_bytes=_rss(),
        store={"root": found.root, "encodings": list(environment.counting.loaded)},
        guard=state_of(environment),
        counters=found.counters,
    )


def _rss() -> int:
    """Resident memory of this process, bytes; 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return 0
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
