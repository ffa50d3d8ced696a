"""The one place where exceptions become JSON-RPC errors.

What leaves here carries a stable `kind` and facts; no content, no traceback, no text of an
exception that is not ours. Tracebacks go to the log, under the `errorId` the host is told.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
import uuid
from typing import Any

from ctxd.model.errors import CtxdError, InvalidParams

_log = logging.getLogger("ctxd")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
NOT_INITIALIZED = -32002
CANCELLED = -32800
REQUEST_FAILED = -32803

CODES: dict[str, int] = {
    "parseError": PARSE_ERROR,
    "invalidRequest": INVALID_REQUEST,
    "unknownMethod": UNKNOWN_METHOD,
    "invalidParams": INVALID_PARAMS,
    "invalidMessages": INVALID_PARAMS,
    "notInitialized": NOT_INITIALIZED,
    "cancelled": CANCELLED,
    "internal": INTERNAL,
}
"""Codes of the kinds that have their own; every other kind is `REQUEST_FAILED`."""


class Fault(Exception):
    """An error of the wire itself: no session and no domain rule is involved."""

    def __init__(self, kind: str, message: str, *, hint: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.facts = facts


def code_of(kind: str) -> int:
    """The JSON-RPC code of an error kind."""
    return CODES.get(kind, REQUEST_FAILED)


def describe(error: BaseException, *, method: str) -> dict[str, Any]:
    """The JSON-RPC error object. What is not meant for hosts is logged and named by an `errorId`."""
    match error:
        case Fault(kind=kind, message=message, hint=hint, facts=facts):
            pass
        case CtxdError(kind=kind, message=message, hint=hint, facts=facts) if kind != "internal":
            pass
        case asyncio.CancelledError():
            kind, message, hint, facts = "cancelled", "the request was cancelled", None, {}
        case _:
            kind, message, hint = "internal", "internal error", "the daemon's log has it under errorId"
            facts = {"errorId": _log_internal(error, method)}
    data: dict[str, Any] = {"kind": kind}
    if hint is not None:
        data["hint"] = hint
    data.update((_camel(name), value) for name, value in facts.items())
    return {"code": code_of(kind), "message": message, "data": data}


def invalid_params(errors: list[dict[str, str]], *, hint: str | None = None) -> InvalidParams:
    """The error for wrong fields, `errors` being `[{path, message}]`; its message names the first."""
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return InvalidParams(
        f"invalid params: {first['path'] or 'params'}: {first['message']}{more}", hint=hint, errors=errors
    )


def _log_internal(error: BaseException, method: str) -> str:
    error_id = uuid.uuid4().hex[:12]
    frames = "".join(traceback.format_tb(error.__traceback__))
    _log.error("internal error %s in %s: %s\n%s", error_id, method, type(error).__name__, frames)
    return error_id


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)
