"""The daemon itself."""

from __future__ import annotations

from ctxd.server.method import Method, handled_by

METHODS = (
    Method(
        "ctxd/status",
        "status.StatusParams",
        "status.StatusResult",
        "How the daemon is.",
        handler=handled_by("status", "read"),
    ),
)
