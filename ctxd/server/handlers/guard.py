"""`guard/*`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import guard as wire
from ctxd.service.guarding import examine
from ctxd.service.registry import Registry


async def sanitize(
    registry: Registry, params: wire.GuardSanitizeParams, call: Call
) -> wire.GuardSanitizeResult:
    made = await examine(registry.environment, params.text, refuse=params.kind == "memory")
    return wire.GuardSanitizeResult(
        text=made.text,
        findings=[
            wire.GuardFinding(
                kind=found.kind,
                severity=found.severity,
                span=wire.Passage(start=found.start, end=found.end),
                action=found.action,
            )
            for found in made.findings
        ],
    )
