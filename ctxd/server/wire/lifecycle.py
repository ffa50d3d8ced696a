"""LSP's own messages, as far as this daemon reads them. Members of LSP it does not use are ignored."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ctxd.server.wire.base import Empty, Input, Wire

TraceValue = Literal["off", "messages", "verbose"]


class WorkspaceFolder(Input):
    """An announced workspace."""

    uri: str = Field(min_length=1)
    name: str = ""


class ClientInfo(Input):
    """The host, as it names itself."""

    name: str
    version: str | None = None


class InitializeParams(Input):
    """Parameters of `initialize`."""

    process_id: int | None = Field(
        default=None, description="The host's process; the daemon ends when it does."
    )
    client_info: ClientInfo | None = None
    root_path: str | None = None
    root_uri: str | None = None
    workspace_folders: list[WorkspaceFolder] | None = None
    capabilities: dict[str, Any] = Field(default_factory=dict)
    initialization_options: Any = Field(default=None, description="Options (protocol.md, section 9).")
    trace: TraceValue = "off"


class SetTraceParams(Input):
    """Parameters of `$/setTrace`."""

    value: TraceValue


class FoldersEvent(Input):
    """What changed."""

    added: list[WorkspaceFolder] = Field(default_factory=list)
    removed: list[WorkspaceFolder] = Field(default_factory=list)


class DidChangeWorkspaceFoldersParams(Input):
    """Parameters of `workspace/didChangeWorkspaceFolders`."""

    event: FoldersEvent


class DidChangeConfigurationParams(Input):
    """Parameters of `workspace/didChangeConfiguration`."""

    settings: Any = Field(default=None, description="`{ctxd: Options}`, or Options alone.")


class CancelParams(Input):
    """Parameters of `$/cancelRequest`."""

    id: int | str


class WorkDoneProgressCancelParams(Input):
    """Parameters of `window/workDoneProgress/cancel`."""

    token: int | str


BUILTINS: dict[str, type[Wire]] = {
    "initialize": InitializeParams,
    "initialized": Empty,
    "$/setTrace": SetTraceParams,
    "$/cancelRequest": CancelParams,
    "window/workDoneProgress/cancel": WorkDoneProgressCancelParams,
    "workspace/didChangeConfiguration": DidChangeConfigurationParams,
    "workspace/didChangeWorkspaceFolders": DidChangeWorkspaceFoldersParams,
}
"""LSP's methods whose parameters are read; `shutdown` and `exit` have none."""
