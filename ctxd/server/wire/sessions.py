"""`session/*`: opening, appending to, reading and closing sessions (protocol.md, section 2)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import (
    Count,
    Input,
    JsonObject,
    NativeAny,
    NativeObject,
    NativeOut,
    SessionId,
    SessionParams,
    Wire,
)

Access = Literal["write", "readOnly"]
FileOp = Literal["read", "edit", "write"]
Fidelity = Literal["full", "truncate", "compact", "summary", "dropped"]
Secrets = Literal["off", "idle", "loading", "ready", "unavailable"]
OpenMode = Literal["create", "resume", "openOrCreate"]
HistoryView = Literal["transcript", "model"]


class Model(Input):
    """The model a session talks to."""

    id: str = Field(min_length=1, description="The provider's name of the model.")
    provider: str | None = Field(default=None, description="Who serves it, where the id alone does not say.")
    context_window: Count | None = Field(
        default=None, description="Context window, tokens; 0 or absent is unknown."
    )
    max_output_tokens: Count | None = Field(
        default=None, description="Explicit output cap, tokens; 0 or absent is unknown."
    )


class Window(Wire):
    """A context window and how it is known."""

    value: Count | None = Field(description="Tokens; null when unknown.")
    source: Literal["host", "catalog", "unknown"] = Field(description="Where the number comes from.")


class Holder(Wire):
    """The process that writes a session."""

    pid: int = Field(description="Its process id.")
    host: str = Field(description="Name of its machine.")
    start: str = Field(description="When that process began, as its system tells it.")
    client: str | None = Field(default=None, description="The host program it serves, where known.")


class RecoveredSpan(Wire):
    """Bytes of the log that did not verify. They are kept in place and skipped."""

    segment: Count = Field(description="Number of the segment.")
    offset: Count = Field(description="Where they begin, bytes.")
    length: Count = Field(description="How many bytes.")
    sha256: str = Field(description="Digest of those bytes, hex.")
    reason: Literal["torn", "damaged", "gap", "stale"] = Field(
        description="`torn`: an unacknowledged tail; the others are damage."
    )


class Loss(Wire):
    """Something of a message that another provider does not take, and that is left out for it."""

    message_id: str
    what: Literal[
        "reasoning", "signature", "item", "cacheMark", "media", "citations", "role", "name", "rule"
    ] = Field(
        description="`role`: a system message said as the user's. `name`: a tool name that was changed. "
        "`rule`: a law of the provider leaves it out."
    )
    detail: str = Field(description="What it was, without its content.")


class Guard(Wire):
    """What stands between secrets in tool outputs and the disk."""

    secrets: Secrets = Field(
        description="`off`: by option, outputs are stored with the secrets in them. `idle`: loaded when the "
        "first call is made. `unavailable`: the scanner could not be loaded, outputs are kept unscanned."
    )
    unscanned: Count = Field(description="Messages nobody could scan yet.")


class SessionInfo(Wire):
    """A session as it stands."""

    session_id: SessionId
    workspace: str = Field(description="URI of the workspace it belongs to.")
    dialect: str = Field(description="Message format it speaks; `session/update` can change it.")
    model: Model | None = Field(default=None, description="Absent until a host names one.")
    window: Window
    revision: Count = Field(description="Grows with every durable event.")
    epoch: Count = Field(description="How many checkpoints stand.")
    generation: Count = Field(description="Counts changes of the model view other than growth at its end.")
    access: Access = Field(description="What this daemon may do with it.")
    holder: Holder | None = Field(default=None, description="Who writes it, when that is another process.")
    recovered: list[RecoveredSpan] | None = Field(default=None, description="What opening had to skip.")
    durable: bool = Field(description="False while the disk refuses to keep new events.")
    created_at: Count = Field(description="Milliseconds since 1970, UTC.")
    updated_at: Count = Field(description="Milliseconds since 1970, UTC.")
    losses: list[Loss] | None = Field(
        default=None, description="What does not cross into the dialect it was just switched to."
    )
    guard: Guard | None = Field(default=None, description="Absent in lists of sessions.")


class SessionOpenParams(Input):
    """Parameters of `session/open`."""

    workspace: str = Field(min_length=1, description="URI of the workspace.")
    session_id: SessionId | None = Field(default=None, description="Chosen by the daemon when absent.")
    mode: OpenMode = Field(
        default="openOrCreate", description="`create` refuses an id that exists, `resume` one that does not."
    )
    read_only: bool = Field(default=False, description="Open without becoming its writer.")
    dialect: str | None = Field(
        default=None, description="Message format; needed to create, must fit to resume."
    )
    model: Model | None = Field(default=None, description="The model it talks to.")
    system: NativeAny | None = Field(
        default=None, description="System prompt, native: a string, blocks or messages."
    )
    tools: list[NativeObject] | None = Field(default=None, description="Tool declarations, native.")


class SessionUpdateParams(SessionParams):
    """Parameters of `session/update`; what is absent stays as it is."""

    dialect: str | None = Field(
        default=None,
        description="Message format from now on: new messages come in it, and views say older ones in it. "
        "Tools are given anew with it; the system prompt crosses as its text unless it is given.",
    )
    model: Model | None = Field(default=None, description="The model it talks to from now on.")
    system: NativeAny | None = Field(default=None, description="System prompt, native.")
    tools: list[NativeObject] | None = Field(default=None, description="Tool declarations, native.")


class TouchedFile(Input):
    """A file that a tool call read or changed."""

    path: str = Field(min_length=1, description="Path in the workspace.")
    op: FileOp = Field(description="What was done to it.")


class MessageMeta(Input):
    """What a host knows about a message beside its native form."""

    id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The host's own id; the daemon's message id when given.",
    )
    kind: Literal["read", "write"] | None = Field(
        default=None, description="What its tool calls did, where the host knows."
    )
    is_error: bool | None = Field(
        default=None, description="Whether its tool results are errors, where the dialect cannot say."
    )
    files: list[TouchedFile] | None = Field(default=None, description="Files its tool calls touched.")
    pin: bool = Field(default=False, description="Keep it whole in every model view.")
    hidden: bool = Field(default=False, description="In the model view only; people never see it.")
    usage: JsonObject | None = Field(
        default=None, description="Usage the provider reported with this response, native."
    )


class SessionAppendParams(SessionParams):
    """Parameters of `session/append`."""

    messages: list[NativeObject] = Field(description="Native messages, oldest first.")
    meta: list[MessageMeta | None] | None = Field(
        default=None, description="One per message, null for none; as long as `messages`."
    )
    expected_revision: Count | None = Field(
        default=None, description="Append nothing unless the session stands at this revision."
    )
    client_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="The host's id of this call: repeating it appends nothing twice.",
    )


class Spilled(Wire):
    """A tool result whose bytes went to the ledger; the model view keeps head, tail and handle."""

    message_id: str
    tool_call_id: str | None = None
    bytes: Count = Field(description="Length of its stored form, bytes.")


class Sanitized(Wire):
    """A tool result that the model view shows otherwise than it came: shortened, or marked as untrusted."""

    message_id: str
    tool_call_id: str
    kinds: list[str] = Field(description="What was found: `data-uri`, `long-hex` or a class of injection.")


class Redacted(Wire):
    """Secrets that were cut out before anything was stored."""

    message_id: str
    tool_call_id: str | None = None
    rule: str = Field(description="The rule that found them; never a secret.")
    count: Count = Field(description="How many it found in this output.")


class SessionAppendResult(Wire):
    """What became of the messages; sent only when they are on disk."""

    revision: Count = Field(description="The session's revision after the append.")
    message_ids: list[str] = Field(description="Ids in the order of `messages`.")
    spilled: list[Spilled]
    sanitized: list[Sanitized] | None = Field(
        default=None, description="Results with bulk or with orders in them; recall gives them as they came."
    )
    redacted: list[Redacted]
    warnings: list[str] = Field(description="Sentences about what was accepted but is odd; no content.")
    durable: bool = Field(description="False while the disk refuses to keep new events.")


class SessionHistoryParams(SessionParams):
    """Parameters of `session/history`."""

    view: HistoryView = Field(
        default="transcript",
        description="`transcript` for people, `model` as the next request would carry it.",
    )
    after: str | None = Field(default=None, description="Begin behind this message id.")
    limit: int | None = Field(default=None, ge=1, description="At most so many messages.")


class HistoryMessage(Wire):
    """One message of a history."""

    message_id: str
    message: NativeOut
    hidden: bool | None = Field(default=None, description="True for a message people do not see.")
    fidelity: Fidelity | None = Field(
        default=None, description="How much of it the next request shows; absent for all."
    )
    handle: str | None = Field(
        default=None,
        description="In the model view: the tool call id, else the message id, that recalls what is missing.",
    )


class SessionHistoryResult(Wire):
    """A page of history."""

    messages: list[HistoryMessage]
    next: str | None = Field(default=None, description="`after` of the next page; absent on the last.")


class SessionListParams(Input):
    """Parameters of `session/list`."""

    workspace: str | None = Field(default=None, description="URI; only sessions of this workspace.")


class SessionListResult(Wire):
    """Sessions, the most recently updated first."""

    sessions: list[SessionInfo]


class SessionCloseParams(SessionParams):
    """Parameters of `session/close`."""


class SessionSearchParams(Input):
    """Parameters of `session/search`: one session, or all that are open in a workspace."""

    session_id: SessionId | None = None
    workspace: str | None = Field(default=None, description="URI; all of it that is open here.")
    query: str = Field(min_length=1, max_length=4000, description="Words to look for.")
    limit: int | None = Field(default=None, ge=1, le=100, description="At most so many hits; 10 when absent.")


class SessionHit(Wire):
    """A message that matches."""

    session_id: SessionId
    message_id: str
    role: str
    snippet: str = Field(description="The words around the match.")
    score: float = Field(description="Higher is better; comparable within one answer.")


class SessionSearchResult(Wire):
    """Hits, best first."""

    hits: list[SessionHit]


class SessionForkParams(SessionParams):
    """Parameters of `session/fork`."""

    at: str | None = Field(default=None, description="The last message of the fork; all when absent.")


class SessionRewindParams(SessionParams):
    """Parameters of `session/rewind`."""

    to: str = Field(min_length=1, description="A message of the user; it and what followed leave.")
    mode: Literal["conversation", "code", "both"] = Field(
        description="`code` brings the files back; it needs the option `workspace.snapshots`."
    )
    dry_run: bool = Field(default=False, description="Say what would happen, change nothing.")


class FileChange(Wire):
    """What a rewind does to one of the workspace's files."""

    path: str = Field(description="Relative to the workspace.")
    action: Literal["add", "change", "remove"]


class RewindReport(Wire):
    """What a rewind did or would do."""

    to: str
    applied: bool = Field(description="False for a dry run.")
    messages: Count = Field(description="Messages that leave the conversation.")
    checkpoints: Count = Field(description="Compactions that are undone by it.")
    tokens_before: Count
    tokens_after: Count
    preview: str = Field(description="The beginning of the message gone back to.")
    files: list[FileChange] = Field(description="Files brought back to what they were then.")
    revision: Count
    generation: Count


class SessionExportParams(SessionParams):
    """Parameters of `session/export`."""

    format: Literal["jsonl", "markdown", "native"]
    dialect: str | None = Field(
        default=None, description="With `native`: the message format wanted; the session's when absent."
    )


class SessionExportResult(Wire):
    """The export itself, or where it was written when it is too large for an answer."""

    content: str | None = None
    path: str | None = Field(default=None, description="A file in the state folder, readable by its owner.")
    losses: list[Loss] | None = Field(default=None, description="What does not cross into `dialect`.")


class SessionDeleteParams(SessionParams):
    """Parameters of `session/delete`."""


class SessionHealthParams(SessionParams):
    """Parameters of `session/health`."""


class Health(Wire):
    """The state of a session's log."""

    status: Literal["clean", "torn", "damaged"]
    spans: list[RecoveredSpan] = Field(description="Bytes that did not verify; they are kept.")
    bytes: Count
    segments: Count
    durable: bool
    access: Access
    holder: Holder | None = None
    unreadable: Count = Field(description="Records this version could not read; they are kept and skipped.")


class SessionDidChangeParams(Wire):
    """`session/didChange`: what this daemon may do with a session, or its health, is another now."""

    session_id: SessionId
    access: Access
    durable: bool
    health: Literal["clean", "torn", "damaged"]
