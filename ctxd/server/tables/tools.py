"""What a model may call itself."""

from __future__ import annotations

from ctxd.server.method import READ, Method, handled_by

METHODS = (
    Method(
        "tools/list",
        "tools.ToolsListParams",
        "tools.ToolsListResult",
        "Declarations of the tools a model may call through the daemon, native to a dialect.",
        handler=handled_by("tools", "list_tools"),
        errors=("sessionNotFound", "unknownDialect"),
    ),
    Method(
        "tools/call",
        "tools.ToolsCallParams",
        "tools.ToolsCallResult",
        "Call one of them for a session. What the model gets wrong is an answer with `isError`.",
        handler=handled_by("tools", "call_tool"),
        errors=READ,
    ),
)
