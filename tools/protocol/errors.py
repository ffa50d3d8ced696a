"""What each error kind means, in a sentence, with its code and the facts it carries."""

from __future__ import annotations

import re
from typing import Any, get_args

from ctxd.server.faults import code_of
from ctxd.server.wire.base import members
from ctxd.server.wire.errors import ErrorData, Kind

ALWAYS = ("invalidParams", "cancelled", "tooLarge", "internal")
"""Kinds that any request may answer."""

LIFECYCLE = ("parseError", "invalidRequest", "unknownMethod", "notInitialized")
"""Kinds about the message itself, not about what it asks."""

MEANING = {
    "parseError": "The frame is not JSON.",
    "invalidRequest": "No request the daemon takes now: a batch, a reused id, anything after `shutdown`.",
    "unknownMethod": "No such method in this build; `methods` of `initialize` lists what there is.",
    "notInitialized": "`initialize` comes first.",
    "cancelled": "The host cancelled the request; it changed nothing.",
    "internal": "A fault of the daemon. Its log has the details under `errorId`; the session is as it was.",
    "invalidParams": "Members are missing or wrong; `errors` names each with its path.",
    "sessionNotFound": "No session of that id is open or, for `session/open`, exists.",
    "sessionLocked": "Another process writes this session; `holder` says which. Reading goes on.",
    "readOnly": "The session was opened read-only.",
    "revisionConflict": "The session is not at the revision the caller expected; nothing was changed.",
    "invalidMessages": "No provider takes these messages; mending them would invent or lose something.",
    "unknownDialect": "No dialect of that name; `dialects` of `initialize` lists what there is.",
    "blocked": "The host's hook refused.",
    "busy": "Another operation of that sort is running in this session.",
    "cannotReach": "What cannot be compacted is larger than the target.",
    "checkpointFailed": "The compaction could not be stored; the view is as it was.",
    "storageFull": "The disk or quota is full. Nothing was acknowledged; the next call tries again.",
    "storageFailed": "Writing or syncing failed. Nothing was acknowledged.",
    "damaged": "Acknowledged records cannot be read. Nothing is skipped in silence.",
    "notFound": "No such message, request, handle or plan in this session.",
    "ambiguous": "The id names several things; `candidates` lists them.",
    "corrupt": "Stored bytes do not match their digest; wrong bytes are never handed out.",
    "expired": "The bytes were pruned on purpose.",
    "outsideWorkspace": "The path leaves the workspace.",
    "symlinkRefused": "The path goes through a symbolic link.",
    "notRegularFile": "The path is no regular file.",
    "tooLarge": "The frame, or something in it, is above its limit.",
    "sensitive": "The text holds a secret; `rule` names what matched.",
    "noSampler": "The host cannot be asked for a summary and asked for nothing else.",
    "timeout": "The other side did not answer in time.",
}


def table() -> list[dict[str, Any]]:
    """Every kind in the wire's order. Raises KeyError where kinds and meanings differ."""
    kinds = get_args(Kind)
    for stale in MEANING.keys() - set(kinds):
        raise KeyError(stale)
    return [
        {"kind": kind, "code": code_of(kind), "meaning": MEANING[kind], "facts": _facts(kind)}
        for kind in kinds
    ]


def _facts(kind: str) -> list[str]:
    """Members of `ErrorData` that the kind carries, as their descriptions say."""
    return [
        name
        for attribute, name, _ in members(ErrorData)
        if kind in re.findall(r"`(\w+)`", ErrorData.model_fields[attribute].description or "")
    ]
