"""`contract/*`."""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.model.contract import Artifact, ContractDeclared, Validator
from ctxd.server.calls import Call
from ctxd.server.wire import contracts as wire
from ctxd.server.wire.base import Empty
from ctxd.service.files import contracts
from ctxd.service.registry import Registry


async def declare(registry: Registry, params: wire.ContractDeclareParams, call: Call) -> Empty:
    contract = ContractDeclared(
        artifacts=tuple(Artifact(a.name, a.pattern) for a in params.artifacts),
        invariants=tuple(params.invariants),
        validators=tuple(Validator(v.id, v.required, v.phase) for v in params.validators),
    )
    await contracts.declare(registry.get(params.session_id), contract)
    return Empty()


async def record(
    registry: Registry, params: wire.ContractRecordParams, call: Call
) -> wire.ContractRecordResult:
    revision = await contracts.record(
        registry.get(params.session_id),
        params.validator_id,
        params.status,
        reason=params.reason or "",
        evidence_path=params.evidence_path or "",
        call_id=params.tool_call_id or "",
        duration_ms=params.duration_ms,
    )
    return wire.ContractRecordResult(revision=revision)


async def status(
    registry: Registry, params: wire.ContractStatusParams, call: Call
) -> wire.ContractStatusResult:
    found = await contracts.status(registry.get(params.session_id))
    return wire.ContractStatusResult(
        ready=not found.missing, missing=_lacks(found.missing), warnings=_lacks(found.warnings)
    )


def _lacks(found: Sequence[contracts.Lack]) -> list[wire.ContractLack]:
    return [
        wire.ContractLack(
            kind=lack.kind,
            reason=lack.reason,
            name=lack.name or None,
            pattern=lack.pattern or None,
            phase=lack.phase or None,
            detail=lack.detail or None,
        )
        for lack in found
    ]
