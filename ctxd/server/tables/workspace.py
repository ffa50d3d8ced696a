"""Files of a session's workspace."""

from __future__ import annotations

from ctxd.server.method import READ, Method, handled_by

METHODS = (
    Method(
        "workspace/touch",
        "workspace.WorkspaceTouchParams",
        None,
        "A file was read or changed, apart from any message.",
        handler=handled_by("workspace", "touch_file"),
        kind="notification",
    ),
    Method(
        "workspace/recentFiles",
        "workspace.WorkspaceRecentFilesParams",
        "workspace.WorkspaceRecentFilesResult",
        "The files the session touched last that a compaction would show, and why others may not be shown.",
        handler=handled_by("workspace", "list_recent_files"),
        errors=READ,
    ),
    Method(
        "workspace/readFile",
        "workspace.WorkspaceReadFileParams",
        "workspace.WorkspaceReadFileResult",
        "Read lines of a file of the workspace, as many as a tool result may hold.",
        handler=handled_by("workspace", "read_lines"),
        errors=(
            *READ,
            "notFound",
            "outsideWorkspace",
            "symlinkRefused",
            "notRegularFile",
            "tooLarge",
            "sensitive",
            "busy",
            "timeout",
        ),
    ),
)
