"""Sessions: opened, appended to, read, forked, closed."""

from __future__ import annotations

from ctxd.server.method import READ, STORE, WRITE, Method, handled_by

METHODS = (
    Method(
        "session/open",
        "sessions.SessionOpenParams",
        "sessions.SessionInfo",
        "Open a session, or create it; become its writer unless another process is.",
        handler=handled_by("sessions", "open_session"),
        errors=(*READ, "unknownDialect", "sessionLocked", "busy"),
    ),
    Method(
        "session/update",
        "sessions.SessionUpdateParams",
        "sessions.SessionInfo",
        "Change model, system prompt or tools.",
        handler=handled_by("sessions", "update_session"),
        errors=WRITE,
    ),
    Method(
        "session/append",
        "sessions.SessionAppendParams",
        "sessions.SessionAppendResult",
        "Append native messages; answered when they are on disk, all or none.",
        handler=handled_by("sessions", "append_messages"),
        errors=(*WRITE, "revisionConflict", "invalidMessages", "tooLarge"),
    ),
    Method(
        "session/history",
        "sessions.SessionHistoryParams",
        "sessions.SessionHistoryResult",
        "Read the history for people, or the model view.",
        handler=handled_by("sessions", "read_history"),
        errors=(*READ, "notFound", "corrupt"),
    ),
    Method(
        "session/list",
        "sessions.SessionListParams",
        "sessions.SessionListResult",
        "List sessions, the most recently updated first.",
        handler=handled_by("sessions", "list_sessions"),
        errors=STORE,
    ),
    Method(
        "session/search",
        "sessions.SessionSearchParams",
        "sessions.SessionSearchResult",
        "Search what was said, in one session or in all that are open in a workspace.",
        handler=handled_by("sessions", "search_messages"),
        errors=(*READ, "corrupt"),
    ),
    Method(
        "session/fork",
        "sessions.SessionForkParams",
        "sessions.SessionInfo",
        "Begin a new session with the past of another, up to a message.",
        handler=handled_by("sessions", "fork_session"),
        errors=(*READ, "notFound"),
    ),
    Method(
        "session/rewind",
        "sessions.SessionRewindParams",
        "sessions.RewindReport",
        "Go on from before something the user said; what followed stays in the log.",
        handler=handled_by("sessions", "rewind_session"),
        errors=(*WRITE, "notFound", "revisionConflict", "timeout"),
    ),
    Method(
        "session/export",
        "sessions.SessionExportParams",
        "sessions.SessionExportResult",
        "Export the transcript for people or for other programs.",
        handler=handled_by("sessions", "export_session"),
        errors=(*READ, "corrupt"),
    ),
    Method(
        "session/health",
        "sessions.SessionHealthParams",
        "sessions.Health",
        "How a session's log is: what did not verify, who holds it.",
        handler=handled_by("sessions", "check_health"),
        errors=READ,
    ),
    Method(
        "session/delete",
        "sessions.SessionDeleteParams",
        "base.Empty",
        "Delete a session for good.",
        handler=handled_by("sessions", "delete_session"),
        errors=WRITE,
    ),
    Method(
        "session/close",
        "sessions.SessionCloseParams",
        "base.Empty",
        "Close a session and let go of its lease.",
        handler=handled_by("sessions", "close_session"),
        errors=READ,
    ),
)
