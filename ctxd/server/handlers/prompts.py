"""`prompt/build`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import prompts as wire
from ctxd.service.files import prompting
from ctxd.service.homes import workspace_path
from ctxd.service.memory import access
from ctxd.service.registry import Registry


async def build(registry: Registry, params: wire.PromptBuildParams, call: Call) -> wire.PromptBuildResult:
    asked = prompting.Given(
        base=params.base or "",
        project_instructions=params.project_instructions,
        agents=params.agents,
        extras=tuple((extra.title or "", extra.text) for extra in params.extras or []),
    )
    workspace = workspace_path(params.workspace)
    known = await access.layer(registry.environment, workspace)
    made = await prompting.build(workspace, asked, memory=known)
    return wire.PromptBuildResult(
        text=made.stable,
        volatile=made.volatile or None,
        layers=[
            wire.PromptLayer(
                kind=layer.kind,
                path=layer.path or None,
                title=layer.title or None,
                bytes=layer.size,
                skipped=layer.skipped or None,
                volatile=layer.kind == "memory" or None,
            )
            for layer in made.layers
        ],
    )
