"""The one table of methods: what exists, with which models, and who handles it.

Nothing dispatches, advertises or documents a method that is not here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from ctxd.server.wire import (
    compactions,
    context,
    contracts,
    hosts,
    pins,
    projections,
    recall,
    sessions,
    status,
    tokens,
)
from ctxd.server.wire.base import Empty, Wire

Noun = Literal["context", "contracts", "pins", "recall", "sessions", "status", "tokens"]

Handler = Callable[[Any, Any, Any], Awaitable[Wire | None]]
"""`async def handler(daemon, params, call) -> result`: the app's daemon, the model, a `calls.Call`."""


class Method(msgspec.Struct, frozen=True):
    """One method of the protocol.

    `errors` are the kinds it may answer beside those every request may (`invalidParams`,
    `cancelled`, `internal` and the kinds of the lifecycle). Without `handler` a request is answered
    `unknownMethod`, and the method is not advertised.
    """

    name: str
    params: type[Wire]
    result: type[Wire] | None
    doc: str
    handler: Handler | None = None
    kind: Literal["request", "notification"] = "request"
    direction: Literal["toDaemon", "toHost"] = "toDaemon"
    since: str = "0.1"
    errors: tuple[str, ...] = ()


Table = Mapping[str, Method]


def tabulate(methods: Iterable[Method]) -> Table:
    """The methods by name. Raises ValueError on a name given twice."""
    table: dict[str, Method] = {}
    for method in methods:
        if method.name in table:
            raise ValueError(f"two methods named {method.name}")
        table[method.name] = method
    return table


def advertised(table: Table) -> list[str]:
    """Names a host may call, in the table's order."""
    return [m.name for m in table.values() if m.direction == "toDaemon" and m.handler is not None]


def load_handlers() -> dict[Noun, Any]:
    """The modules of handlers by noun. Their first import is heavy and belongs in a thread."""
    from ctxd.server.handlers import context, contracts, pins, recall, sessions, status, tokens

    return {
        "context": context,
        "contracts": contracts,
        "pins": pins,
        "recall": recall,
        "sessions": sessions,
        "status": status,
        "tokens": tokens,
    }


def _handled_by(noun: Noun, name: str) -> Handler:
    """A handler that is imported when it is first called: `initialize` must not wait for what it needs."""

    async def handle(daemon: Any, params: Any, call: Any) -> Wire | None:
        found: Handler = getattr(load_handlers()[noun], name)
        return await found(daemon, params, call)

    return handle


_STORE = ("storageFull", "storageFailed", "damaged")
_READ = ("sessionNotFound", *_STORE)
_WRITE = (*_READ, "sessionLocked", "readOnly")

METHODS: Table = tabulate(
    [
        Method(
            "session/open",
            sessions.SessionOpenParams,
            sessions.SessionInfo,
            "Open a session, or create it; become its writer unless another process is.",
            handler=_handled_by("sessions", "open_session"),
            errors=(*_READ, "unknownDialect", "sessionLocked", "busy"),
        ),
        Method(
            "session/update",
            sessions.SessionUpdateParams,
            sessions.SessionInfo,
            "Change model, system prompt or tools.",
            handler=_handled_by("sessions", "update_session"),
            errors=_WRITE,
        ),
        Method(
            "session/append",
            sessions.SessionAppendParams,
            sessions.SessionAppendResult,
            "Append native messages; answered when they are on disk, all or none.",
            handler=_handled_by("sessions", "append_messages"),
            errors=(*_WRITE, "revisionConflict", "invalidMessages", "tooLarge"),
        ),
        Method(
            "session/history",
            sessions.SessionHistoryParams,
            sessions.SessionHistoryResult,
            "Read the history for people, or the model view.",
            handler=_handled_by("sessions", "read_history"),
            errors=(*_READ, "notFound", "corrupt"),
        ),
        Method(
            "session/list",
            sessions.SessionListParams,
            sessions.SessionListResult,
            "List sessions, the most recently updated first.",
            handler=_handled_by("sessions", "list_sessions"),
            errors=_STORE,
        ),
        Method(
            "session/search",
            sessions.SessionSearchParams,
            sessions.SessionSearchResult,
            "Search what was said, in one session or in all that are open in a workspace.",
            handler=_handled_by("sessions", "search_messages"),
            errors=(*_READ, "corrupt"),
        ),
        Method(
            "session/fork",
            sessions.SessionForkParams,
            sessions.SessionInfo,
            "Begin a new session with the past of another, up to a message.",
            handler=_handled_by("sessions", "fork_session"),
            errors=(*_READ, "notFound"),
        ),
        Method(
            "session/rewind",
            sessions.SessionRewindParams,
            sessions.RewindReport,
            "Go on from before something the user said; what followed stays in the log.",
            handler=_handled_by("sessions", "rewind_session"),
            errors=(*_WRITE, "notFound"),
        ),
        Method(
            "session/export",
            sessions.SessionExportParams,
            sessions.SessionExportResult,
            "Export the transcript for people or for other programs.",
            handler=_handled_by("sessions", "export_session"),
            errors=(*_READ, "corrupt"),
        ),
        Method(
            "session/health",
            sessions.SessionHealthParams,
            sessions.Health,
            "How a session's log is: what did not verify, who holds it.",
            handler=_handled_by("sessions", "check_health"),
            errors=_READ,
        ),
        Method(
            "session/delete",
            sessions.SessionDeleteParams,
            Empty,
            "Delete a session for good.",
            handler=_handled_by("sessions", "delete_session"),
            errors=_WRITE,
        ),
        Method(
            "session/close",
            sessions.SessionCloseParams,
            Empty,
            "Close a session and let go of its lease.",
            handler=_handled_by("sessions", "close_session"),
            errors=_READ,
        ),
        Method(
            "context/prepare",
            context.ContextPrepareParams,
            context.ContextPrepareResult,
            "Make the next request: elide and compact as needed, and say what was done.",
            handler=_handled_by("context", "prepare"),
            errors=(*_WRITE, "invalidMessages", "corrupt"),
        ),
        Method(
            "context/report",
            context.ContextReportParams,
            context.ContextReportResult,
            "Say how a prepared request went; append its answer, anchor on its usage, recover from overflow.",
            handler=_handled_by("context", "report"),
            errors=(*_WRITE, "notFound", "invalidMessages"),
        ),
        Method(
            "context/project",
            projections.ContextProjectParams,
            projections.Projection,
            "Predict the size of the next request.",
            handler=_handled_by("context", "project"),
            errors=(*_READ, "invalidMessages"),
        ),
        Method(
            "context/compact",
            compactions.ContextCompactParams,
            compactions.CompactionReport,
            "Compact the model view now, or plan it.",
            handler=_handled_by("context", "compact"),
            errors=(*_WRITE, "notFound", "busy", "checkpointFailed", "noSampler", "timeout"),
        ),
        Method(
            "context/commit",
            compactions.ContextCommitParams,
            compactions.CompactionReport,
            "Apply a plan made before, while the session still stands where it was made.",
            handler=_handled_by("context", "commit"),
            errors=(*_WRITE, "notFound", "busy", "revisionConflict", "checkpointFailed"),
        ),
        Method(
            "context/undo",
            compactions.ContextUndoParams,
            context.ContextUndoResult,
            "Bring back the model view before a checkpoint; messages since then stay.",
            handler=_handled_by("context", "undo"),
            errors=(*_WRITE, "notFound"),
        ),
        Method(
            "context/pin",
            pins.ContextPinParams,
            pins.ContextPinResult,
            "Keep a text or a message, word for word, in every model view.",
            handler=_handled_by("pins", "pin"),
            errors=(*_WRITE, "notFound", "tooLarge"),
        ),
        Method(
            "context/unpin",
            pins.ContextUnpinParams,
            Empty,
            "Let a pin go.",
            handler=_handled_by("pins", "unpin"),
            errors=(*_WRITE, "notFound"),
        ),
        Method(
            "context/pins",
            pins.ContextPinsParams,
            pins.ContextPinsResult,
            "List the pins and what they cost.",
            handler=_handled_by("pins", "list_pins"),
            errors=_READ,
        ),
        Method(
            "context/contains",
            pins.ContextContainsParams,
            pins.ContextContainsResult,
            "Whether the model view shows an output, a message or a file's newest read whole.",
            handler=_handled_by("pins", "look_for"),
            errors=(*_READ, "notFound"),
        ),
        Method(
            "context/validate",
            context.ContextValidateParams,
            context.ContextValidateResult,
            "Check a message list against the rules of its provider, and repair it.",
            handler=_handled_by("context", "validate_messages"),
            errors=("unknownDialect",),
        ),
        Method(
            "tokens/count",
            tokens.TokensCountParams,
            tokens.TokensCountResult,
            "Count the tokens of a text or of messages.",
            handler=_handled_by("tokens", "count"),
            errors=("unknownDialect",),
        ),
        Method(
            "recall/fetch",
            recall.RecallFetchParams,
            recall.RecallFetchResult,
            "Fetch a tool output or a message back, byte for byte, page by page.",
            handler=_handled_by("recall", "fetch"),
            errors=(*_READ, "notFound", "ambiguous", "corrupt", "expired"),
        ),
        Method(
            "recall/list",
            recall.RecallListParams,
            recall.RecallListResult,
            "List what can be fetched.",
            handler=_handled_by("recall", "list_outputs"),
            errors=(*_READ, "notFound"),
        ),
        Method(
            "recall/search",
            recall.RecallSearchParams,
            recall.RecallSearchResult,
            "Search all tool outputs ever stored, by words of what they printed and what they were about.",
            handler=_handled_by("recall", "search"),
            errors=(*_READ, "corrupt"),
        ),
        Method(
            "contract/declare",
            contracts.ContractDeclareParams,
            Empty,
            "Say what must be preserved through every compaction, and what is to be delivered.",
            handler=_handled_by("contracts", "declare"),
            errors=_WRITE,
        ),
        Method(
            "ctxd/status",
            status.StatusParams,
            status.StatusResult,
            "How the daemon is.",
            handler=_handled_by("status", "read"),
        ),
        Method(
            "sampling/createMessage",
            hosts.SamplingCreateMessageParams,
            hosts.SamplingCreateMessageResult,
            "Ask the host's model for a summary; only of hosts that say they can.",
            direction="toHost",
        ),
        Method(
            "hook/preCompact",
            hosts.HookPreCompactParams,
            hosts.HookPreCompactResult,
            "Ask the host whether a compaction may happen; only of hosts that have this hook.",
            direction="toHost",
        ),
        Method(
            "context/event",
            hosts.ContextEventParams,
            None,
            "A compaction began or ended, with its numbers.",
            kind="notification",
            direction="toHost",
        ),
        Method(
            "context/didChange",
            context.ContextDidChangeParams,
            None,
            "The model view changed other than by an append of the host.",
            kind="notification",
            direction="toHost",
        ),
        Method(
            "session/didChange",
            sessions.SessionDidChangeParams,
            None,
            "What the daemon may do with a session, or its health, is another now.",
            kind="notification",
            direction="toHost",
        ),
    ]
)
"""Version 1 of the protocol, as far as it is built."""
