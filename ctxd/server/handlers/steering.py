"""`steer/*`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import steering as wire
from ctxd.service.registry import Registry
from ctxd.service.requests import steering


async def push(registry: Registry, params: wire.SteerPushParams, call: Call) -> wire.SteerPushResult:
    session = registry.get(params.session_id)
    steer_id, pending = await steering.push(session, params.kind, params.content or "", params.id)
    return wire.SteerPushResult(id=steer_id, pending=pending)


async def list_waiting(
    registry: Registry, params: wire.SteerPendingParams, call: Call
) -> wire.SteerPendingResult:
    return wire.SteerPendingResult(
        items=[
            wire.SteerItem(id=steer.id, kind=steer.kind, content=steer.content or None)
            for steer in steering.waiting(registry.get(params.session_id))
        ]
    )
