"""`tools/*`."""

from __future__ import annotations

import msgspec

from ctxd.server.calls import Call
from ctxd.server.wire import tools as wire
from ctxd.service.registry import Registry


async def list_tools(registry: Registry, params: wire.ToolsListParams, call: Call) -> wire.ToolsListResult:
    if params.session_id is not None:
        registry.get(params.session_id)
    declared = registry.toolbox.declared(params.dialect)
    return wire.ToolsListResult(tools=[msgspec.json.encode(tool) for tool in declared])


async def call_tool(registry: Registry, params: wire.ToolsCallParams, call: Call) -> wire.ToolsCallResult:
    session = registry.get(params.session_id)
    session.refresh()
    answer = await registry.toolbox.call(session, params.name, params.arguments)
    return wire.ToolsCallResult(content=answer.content, is_error=answer.is_error)
