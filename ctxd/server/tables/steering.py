"""What is said into a turn that runs."""

from __future__ import annotations

from ctxd.server.method import READ, WRITE, Method, handled_by

METHODS = (
    Method(
        "steer/push",
        "steering.SteerPushParams",
        "steering.SteerPushResult",
        "Say something into the turn that runs; the next prepared request takes it in.",
        handler=handled_by("steering", "push"),
        errors=(*WRITE, "tooLarge", "busy"),
    ),
    Method(
        "steer/pending",
        "steering.SteerPendingParams",
        "steering.SteerPendingResult",
        "List what waits for the next prepared request.",
        handler=handled_by("steering", "list_waiting"),
        errors=READ,
    ),
)
