"""Text from outside."""

from __future__ import annotations

from ctxd.server.method import Method, handled_by

METHODS = (
    Method(
        "guard/sanitize",
        "guard.GuardSanitizeParams",
        "guard.GuardSanitizeResult",
        "Cut secrets out of a text, shorten bulk, mark what reads like orders. No security boundary.",
        handler=handled_by("guard", "sanitize"),
        errors=("timeout",),
    ),
)
