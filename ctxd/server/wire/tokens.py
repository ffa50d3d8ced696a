"""`tokens/count` (protocol.md, section 3)."""

from __future__ import annotations

from pydantic import Field

from ctxd.server.wire.base import Count, Input, NativeObject, Wire
from ctxd.server.wire.sessions import Model


class TokensCountParams(Input):
    """Parameters of `tokens/count`: either `text` or `messages`."""

    text: str | None = None
    messages: list[NativeObject] | None = Field(default=None, description="Native messages; needs `dialect`.")
    dialect: str | None = Field(default=None, description="Message format of `messages`.")
    model: Model | None = Field(default=None, description="Whose tokens to count.")


class TokensCountResult(Wire):
    """A count."""

    tokens: Count
    encoding: str = Field(description="The encoding counted with.")
    exact: bool = Field(description="False where the provider's own count may differ.")
