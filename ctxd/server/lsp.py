"""LSP as far as this daemon speaks it, on pygls: initialize, folders, configuration, trace, log messages.

The only module that knows pygls. Its dispatcher, its I/O and its text features are not used: bytes
come and go through `codec` and `outbound`, requests through `dispatch`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import Workspace

import ctxd
from ctxd.model.errors import CtxdError
from ctxd.model.settings import Settings
from ctxd.server.calls import Host
from ctxd.server.codec import Id
from ctxd.server.method import Table, advertised
from ctxd.server.options import FILE_NAME, Options, read_file, unwrap
from ctxd.server.outbound import Outbound
from ctxd.server.wire import lifecycle

if TYPE_CHECKING:
    from cattrs import Converter

_log = logging.getLogger("ctxd")

PROTOCOL_VERSION = 1


class _LateConverter:
    """pygls' converter, built when it is first used: it takes longer than all the rest of a start."""

    @cached_property
    def _converter(self) -> Converter:
        made: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls says no type
        return made

    def unstructure(self, value: Any) -> Any:
        return self._converter.unstructure(value)


class CtxdProtocol(LanguageServerProtocol):
    """pygls' protocol state (folders, trace) with our sending side."""

    outbound: Outbound

    def _register_builtin_features(self) -> None:
        """None: `dispatch` decides who is called, and text documents are nobody's business here."""

    def _send_data(self, data: Any) -> None:
        message = self._converter.unstructure(data)
        self.outbound.send({name: value for name, value in message.items() if name != "jsonrpc"})

    def open_workspace(self, root: str | None, folders: list[types.WorkspaceFolder]) -> None:
        """Take the folders of `initialize`.

        pygls' own handler of it would also derive capabilities for text features, at a third of the
        time that answering takes.
        """
        self._workspace = Workspace(root, types.TextDocumentSyncKind.None_, folders)


class CtxdServer(LanguageServer):
    """The language server, without any language."""

    protocol: CtxdProtocol

    def __init__(self, outbound: Outbound) -> None:
        super().__init__(
            "ctxd",
            ctxd.__version__,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=CtxdProtocol,
            converter_factory=lambda: cast("Converter", _LateConverter()),
        )
        self.protocol.outbound = outbound

    def report_server_error(
        self, error: Exception, source: type[PyglsError] | type[JsonRpcException]
    ) -> None:
        """To the log; pygls would show it to the user."""
        _log.error("pygls: %s in %s", type(error).__name__, source.__name__)


class LspSide:
    """Implements `dispatch.Lsp`."""

    def __init__(
        self,
        *,
        table: Table,
        outbound: Outbound,
        host: Host,
        options: Options,
        dialects: tuple[str, ...],
        summarizers: tuple[str, ...],
        configured: Callable[[Settings], None],
        watch_parent: Callable[[int], None],
    ) -> None:
        self._table = table
        self._host = host
        self._options = options
        self._dialects = dialects
        self._summarizers = summarizers
        self._configured = configured
        self._watch_parent = watch_parent
        self._server = CtxdServer(outbound)

    def initialize(self, given: lifecycle.InitializeParams) -> dict[str, Any]:
        """Result of `initialize`. Raises InvalidParams for bad options, and keeps nothing then."""
        unknown = self._options.set("init", given.initialization_options)
        self._learn_host(given)
        protocol = self._server.protocol
        root = given.root_uri or (from_fs_path(given.root_path) if given.root_path else None)
        protocol.open_workspace(root, _folders(given.workspace_folders or []))
        protocol.trace = types.TraceValue(given.trace)
        self._warn_unknown("initializationOptions", unknown)
        self._follow_folders()
        self._configured(self._options.settings)
        if given.process_id is not None:
            self._watch_parent(given.process_id)
        return {
            "serverInfo": {"name": self._server.name, "version": self._server.version},
            "capabilities": {
                "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
                "experimental": {
                    "ctxd": {
                        "protocolVersion": PROTOCOL_VERSION,
                        "methods": advertised(self._table),
                        "dialects": self._dialects,
                        "summarizers": self._summarizers,
                        "maxMessageBytes": self._options.settings.wire.max_message_bytes,
                    }
                },
            },
        }

    def notice(self, params: Any) -> None:
        """Take one of LSP's notifications; others are ignored. Raises InvalidParams for bad options."""
        protocol = self._server.protocol
        match params:
            case lifecycle.SetTraceParams(value=value):
                protocol.trace = types.TraceValue(value)
            case lifecycle.DidChangeConfigurationParams(settings=settings):
                unknown = self._options.set("change", unwrap(settings))
                self._warn_unknown("workspace/didChangeConfiguration", unknown)
                self._configured(self._options.settings)
            case lifecycle.DidChangeWorkspaceFoldersParams(event=event):
                change = types.WorkspaceFoldersChangeEvent(
                    added=_folders(event.added), removed=_folders(event.removed)
                )
                _drive(
                    protocol.lsp_workspace__did_change_workspace_folders(
                        types.DidChangeWorkspaceFoldersParams(change)
                    )
                )
                self._follow_folders()
                self._configured(self._options.settings)

    def trace(self, method: str, identity: Id, outcome: str, milliseconds: float) -> None:
        """Send `$/logTrace` if the host asked for it."""
        if self._server.protocol.trace == types.TraceValue.Off:
            return
        verbose = f"{outcome} after {milliseconds:.1f} ms"
        self._server.protocol.notify(
            "$/logTrace",
            types.LogTraceParams(
                message=f"{method} - ({identity})",
                verbose=verbose if self._server.protocol.trace == types.TraceValue.Verbose else None,
            ),
        )

    def complain(self, message: str) -> None:
        """A warning in the host's log and in ours."""
        _log.warning("%s", message)
        self._server.window_log_message(
            types.LogMessageParams(type=types.MessageType.Warning, message=message)
        )

    def _learn_host(self, given: lifecycle.InitializeParams) -> None:
        if given.client_info is not None:
            version = given.client_info.version
            self._host.client = f"{given.client_info.name} {version}" if version else given.client_info.name
        experimental = given.capabilities.get("experimental")
        ours = experimental.get("ctxd") if isinstance(experimental, dict) else None
        if isinstance(ours, dict):
            self._host.sampling = ours.get("sampling") is True
            self._host.compact_hook = ours.get("compactHook") is True

    def _follow_folders(self) -> None:
        """Tell the host object the folders, and read the first one's file of options."""
        workspace = self._server.workspace
        uris = list(workspace.folders) or [uri for uri in [workspace.root_uri] if uri]
        self._host.folders = tuple(uris)
        path = to_fs_path(uris[0]) if uris else None
        try:
            unknown = self._options.set("file", read_file(Path(path)) if path else None)
        except CtxdError as error:
            self.complain(f"{FILE_NAME} was ignored: {error.message}")
        else:
            self._warn_unknown(FILE_NAME, unknown)

    def _warn_unknown(self, source: str, names: list[str]) -> None:
        if names:
            self.complain(f"{source}: unknown options {', '.join(names)}")


def _drive(generator: Generator[Any, Any, Any]) -> Any:
    """Run one of pygls' builtin handlers. With no user feature registered they yield to nobody."""
    try:
        next(generator)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a pygls builtin yielded to a feature that was never registered")


def _folders(folders: list[lifecycle.WorkspaceFolder]) -> list[types.WorkspaceFolder]:
    return [types.WorkspaceFolder(uri=f.uri, name=f.name) for f in folders]
