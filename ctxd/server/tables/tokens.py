"""Counting."""

from __future__ import annotations

from ctxd.server.method import Method, handled_by

METHODS = (
    Method(
        "tokens/count",
        "tokens.TokensCountParams",
        "tokens.TokensCountResult",
        "Count the tokens of a text or of messages.",
        handler=handled_by("tokens", "count"),
        errors=("unknownDialect",),
    ),
)
