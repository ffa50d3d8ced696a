"""`contract/*`."""

from __future__ import annotations

from ctxd.model.events import Artifact, ContractDeclared, Validator
from ctxd.server.calls import Call
from ctxd.server.wire import contracts as wire
from ctxd.server.wire.base import Empty
from ctxd.service.registry import Registry
from ctxd.service.session import Written


async def declare(registry: Registry, params: wire.ContractDeclareParams, call: Call) -> Empty:
    session = registry.get(params.session_id)
    event = ContractDeclared(
        artifacts=tuple(Artifact(a.name, a.pattern) for a in params.artifacts),
        invariants=tuple(params.invariants),
        validators=tuple(Validator(v.id, v.required, v.phase) for v in params.validators),
    )
    async with session.lane:
        await session.commit([Written(event)])
    return Empty()
