"""`guard/*`, and what other answers say of the guard."""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.model.messages import Redacted
from ctxd.server.calls import Call
from ctxd.server.wire import guard as wire
from ctxd.server.wire import sessions
from ctxd.service.environment import Environment
from ctxd.service.intake.guarding import examine
from ctxd.service.registry import Registry
from ctxd.service.session import Session


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


def describe(session: Session) -> sessions.Guard:
    """Whether secrets are cut out of what tools say here, and what was not scanned."""
    return sessions.Guard(secrets=state_of(session.environment), unscanned=len(session.state.unscanned))


def state_of(environment: Environment) -> sessions.Secrets:
    """Whether secrets are cut out, in a daemon's settings as they are now."""
    return environment.guard.state if environment.settings.guard.secrets else "off"


def list_redacted(cut: Sequence[tuple[str, Redacted]]) -> list[sessions.Redacted]:
    """Secrets that were cut out, by message id."""
    return [
        sessions.Redacted(message_id=mid, tool_call_id=one.call_id or None, rule=one.rule, count=one.count)
        for mid, one in cut
    ]
