"""`context/pin`, `unpin`, `pins`, `contains`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import pins as wire
from ctxd.server.wire.base import Empty
from ctxd.service.compacting import pins
from ctxd.service.recall import contains
from ctxd.service.registry import Registry


async def pin(registry: Registry, params: wire.ContextPinParams, call: Call) -> wire.ContextPinResult:
    session = registry.get(params.session_id)
    made, left = await pins.pin(
        session, text=params.text, message_id=params.message_id, label=params.label or ""
    )
    return wire.ContextPinResult(pin_id=made.pin_id, tokens=made.tokens, budget_left=left)


async def unpin(registry: Registry, params: wire.ContextUnpinParams, call: Call) -> Empty:
    await pins.unpin(registry.get(params.session_id), params.pin_id)
    return Empty()


async def list_pins(registry: Registry, params: wire.ContextPinsParams, call: Call) -> wire.ContextPinsResult:
    held = pins.read(registry.get(params.session_id))
    return wire.ContextPinsResult(
        pins=[
            wire.Pin(
                pin_id=pin.pin_id,
                text=pin.text or None,
                message_id=pin.message_id or None,
                label=pin.label or None,
                tokens=pin.tokens,
            )
            for pin in held.pins
        ],
        tokens=held.tokens,
        budget=held.budget,
    )


async def look_for(
    registry: Registry, params: wire.ContextContainsParams, call: Call
) -> wire.ContextContainsResult:
    found = contains.contains(registry.get(params.session_id), handle=params.handle, path=params.path)
    return wire.ContextContainsResult(
        in_context=found.in_context, since=found.since or None, reason=found.reason or None
    )
