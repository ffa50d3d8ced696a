"""What the daemon asks and tells the host."""

from __future__ import annotations

from ctxd.server.method import Method

METHODS = (
    Method(
        "sampling/createMessage",
        "hosts.SamplingCreateMessageParams",
        "hosts.SamplingCreateMessageResult",
        "Ask the host's model for a summary; only of hosts that say they can.",
        direction="toHost",
    ),
    Method(
        "hook/preCompact",
        "hosts.HookPreCompactParams",
        "hosts.HookPreCompactResult",
        "Ask the host whether a compaction may happen; only of hosts that have this hook.",
        direction="toHost",
    ),
    Method(
        "context/event",
        "hosts.ContextEventParams",
        None,
        "A compaction began or ended, with its numbers.",
        kind="notification",
        direction="toHost",
    ),
    Method(
        "context/didChange",
        "context.ContextDidChangeParams",
        None,
        "The model view changed other than by an append of the host.",
        kind="notification",
        direction="toHost",
    ),
    Method(
        "session/didChange",
        "sessions.SessionDidChangeParams",
        None,
        "What the daemon may do with a session, or its health, is another now.",
        kind="notification",
        direction="toHost",
    ),
    Method(
        "workspace/didChangeFiles",
        "workspace.WorkspaceDidChangeFilesParams",
        None,
        "Files that some session touched were changed, moved or deleted.",
        kind="notification",
        direction="toHost",
    ),
)
