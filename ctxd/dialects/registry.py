"""The dialects that are served, by the name hosts use on the wire."""

from __future__ import annotations

from ctxd.dialects.anthropic import Anthropic
from ctxd.dialects.base import Dialect
from ctxd.dialects.gemini import Gemini
from ctxd.dialects.openai_chat import OpenAIChat
from ctxd.dialects.openai_responses import OpenAIResponses
from ctxd.model.errors import UnknownDialect

_DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())
}

NAMES: tuple[str, ...] = tuple(_DIALECTS)
"""Names of all dialects served, as `capabilities.experimental.ctxd.dialects` lists them."""


def get(name: str) -> Dialect:
    """The dialect of that name. Raises UnknownDialect with the names there are."""
    dialect = _DIALECTS.get(name)
    if dialect is None:
        raise UnknownDialect(
            f"unknown dialect: {name}", hint=f"one of: {', '.join(NAMES)}", dialects=list(NAMES)
        )
    return dialect
