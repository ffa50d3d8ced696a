"""`tools/*`: what a model may call itself (protocol.md, section 5)."""

from __future__ import annotations

from pydantic import Field, JsonValue

from ctxd.server.wire.base import Input, NativesOut, SessionId, SessionParams, Wire


class ToolsListParams(Input):
    """Parameters of `tools/list`."""

    session_id: SessionId | None = Field(default=None, description="The session the tools are for.")
    dialect: str = Field(description="The dialect to declare them in.")


class ToolsListResult(Wire):
    """Tools to add to the request's own, as they are."""

    tools: NativesOut


class ToolsCallParams(SessionParams):
    """Parameters of `tools/call`."""

    name: str = Field(description="Name of the tool.")
    arguments: JsonValue = Field(
        default=None, description="An object, as the model gave it; its JSON text is taken too."
    )


class ToolsCallResult(Wire):
    """What to give the model as the call's result."""

    content: str = Field(description="At most about a recall page, and never more than one result may show.")
    is_error: bool
