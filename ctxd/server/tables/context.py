"""The model view and the next request."""

from __future__ import annotations

from ctxd.server.method import READ, WRITE, Method, handled_by

METHODS = (
    Method(
        "context/prepare",
        "context.ContextPrepareParams",
        "context.ContextPrepareResult",
        "Make the next request: elide and compact as needed, and say what was done.",
        handler=handled_by("context", "prepare"),
        errors=(*WRITE, "invalidMessages", "corrupt"),
    ),
    Method(
        "context/report",
        "context.ContextReportParams",
        "context.ContextReportResult",
        "Say how a prepared request went; append its answer, anchor on its usage, recover from overflow.",
        handler=handled_by("context", "report"),
        errors=(*WRITE, "notFound", "invalidMessages"),
    ),
    Method(
        "context/project",
        "projections.ContextProjectParams",
        "projections.Projection",
        "Predict the size of the next request.",
        handler=handled_by("context", "project"),
        errors=(*READ, "invalidMessages"),
    ),
    Method(
        "context/compact",
        "compactions.ContextCompactParams",
        "compactions.CompactionReport",
        "Compact the model view now, or plan it.",
        handler=handled_by("context", "compact"),
        errors=(*WRITE, "notFound", "busy", "checkpointFailed", "noSampler", "timeout"),
    ),
    Method(
        "context/commit",
        "compactions.ContextCommitParams",
        "compactions.CompactionReport",
        "Apply a plan made before, while the session still stands where it was made.",
        handler=handled_by("context", "commit"),
        errors=(*WRITE, "notFound", "busy", "revisionConflict", "checkpointFailed"),
    ),
    Method(
        "context/undo",
        "compactions.ContextUndoParams",
        "context.ContextUndoResult",
        "Bring back the model view before a checkpoint; messages since then stay.",
        handler=handled_by("context", "undo"),
        errors=(*WRITE, "notFound"),
    ),
    Method(
        "context/validate",
        "context.ContextValidateParams",
        "context.ContextValidateResult",
        "Check a message list against the rules of its provider, and repair it.",
        handler=handled_by("context", "validate_messages"),
        errors=("unknownDialect",),
    ),
)
