"""The closed union of what can happen to a session. The log of these is the truth.

Tags are literals, never class names; a tag or a field that was written once is read for ever.
Fields are only added, with a default. The event is its record's `facts`: they alone are enough to
fold it. Events that carry messages have those bytes in the record's `data`, which is null for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeGuard

import msgspec

from ctxd.model.contract import ContractDeclared, ValidatorRecorded
from ctxd.model.event import Event
from ctxd.model.messages import FileOp, MessageFacts, Usage
from ctxd.model.steering import SteeringDrained, SteerPushed
from ctxd.model.summary import SessionSummary

ElisionReason: TypeAlias = Literal[
    "spilled",
    "turnBudget",
    "stale",
    "oversized",
    "superseded",
    "snipped",
    "cacheExpired",
    "clippedNewest",
    "byteBudget",
    "sanitized",
]
ON_ARRIVAL: frozenset[ElisionReason] = frozenset({"spilled", "turnBudget", "sanitized"})
"""Reasons of results that are changed when they are appended; they may be elided further later."""

Fidelity: TypeAlias = Literal["full", "truncate", "compact", "summary", "dropped"]
Trigger: TypeAlias = Literal["manual", "auto"]
CompactionReason: TypeAlias = Literal["threshold", "contextLimit", "turnLimit", "manual", "modelChange"]
Strategy: TypeAlias = Literal["model", "deterministic", "elision"]


class Model(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The model a session talks to. Token numbers, where given, come from the host."""

    id: str = ""
    provider: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None


class SessionCreated(Event, frozen=True, tag="sessionCreated", gc=False):
    """First event of a log. `system`/`tools` are the native values as JSON text, "" for none.

    `encoding` is the base encoding all counts of the session are in, for ever; `factor` is where
    calibration of its model's family starts.
    """

    session_id: str
    workspace: str
    dialect: str
    model: Model
    encoding: str
    factor: float = 1.0
    system: str = ""
    tools: str = ""
    system_tokens: int = 0
    tools_tokens: int = 0
    parent: str = ""


class SessionUpdated(Event, frozen=True, tag="sessionUpdated", gc=False):
    """New model, system or tools, or another dialect from now on; None means unchanged.

    Messages before it stay in the dialect they came in.
    """

    model: Model | None = None
    factor: float | None = None
    system: str | None = None
    tools: str | None = None
    system_tokens: int | None = None
    tools_tokens: int | None = None
    dialect: str | None = None


class Elision(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool result replaced by `placeholder` in the model view.

    `occurrence` tells apart results of a reused call id (0 = oldest). `saved` is base tokens.
    """

    message_id: str
    call_id: str
    reason: ElisionReason
    placeholder: str
    saved: int
    saved_bytes: int = 0
    saved_media: int = 0

    @property
    def hides(self) -> bool:
        """Whether something stands in the result's place; of a sanitized one, itself, marked."""
        return self.reason != "sanitized"


class MessagesAppended(Event, frozen=True, tag="messagesAppended", gc=False):
    """Messages in order. The record's `data` is `[raw, raw, ...]`, `0` for a blob.

    `client_id` is the host's own id of the call, for idempotent repeats, `all_ids` what the call was
    answered with; both stand on the last event of a call. `elisions` are the results that are not shown as
    they came from the start, too large or sanitized; they touch these messages only.
    """

    messages: tuple[MessageFacts, ...]
    client_id: str = ""
    all_ids: tuple[str, ...] = ()
    elisions: tuple[Elision, ...] = ()
    usage: Usage | None = None


class OutputsScanned(Event, frozen=True, tag="outputsScanned", gc=False):
    """Messages stored unscanned were scanned for secrets since. The record's `data` is `[raw, ...]`.

    `clean` are ids of those that hold none. `messages` describe the others anew, without their secrets;
    `dropped` are the ledger digests of what they were.
    """

    clean: tuple[str, ...] = ()
    messages: tuple[MessageFacts, ...] = ()
    dropped: tuple[str, ...] = ()


class TokensCounted(Event, frozen=True, tag="tokensCounted", gc=False):
    """Counts of messages whose counting was deferred: (message id, tokens, result tokens in order)."""

    counts: tuple[tuple[str, int, tuple[int, ...]], ...]


class Load(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a request weighs before calibration.

    `fixed` and `view` are base tokens (scaled by the session's ratio), `media` tokens of the
    provider's formula (not scaled). `fixed` is system and tools, `view` everything else.
    """

    fixed: int = 0
    view: int = 0
    media: int = 0


class RequestReported(Event, frozen=True, tag="requestReported", gc=False):
    """The answer of the provider to one prepared request, after the answer's messages.

    `load` is what the request carried (None when it is no longer known: then the usage anchors
    nothing), `response` what the answer's messages weigh, `predicted` the tokens that had been
    projected for the request (0 when nothing was), `message_ids` what it was answered with.
    `recovers`: the error is answered by a recovery, of which each success allows one.
    """

    request_id: str
    outcome: Literal["ok", "error", "aborted"]
    usage: Usage | None = None
    load: Load | None = None
    response: Load | None = None
    predicted: int = 0
    message_ids: tuple[str, ...] = ()
    recovers: bool = False


class ViewElided(Event, frozen=True, tag="viewElided", gc=False):
    """A batch of elisions, made by one pass."""

    elisions: tuple[Elision, ...]
    stage: str


class Kept(msgspec.Struct, frozen=True, tag="kept", omit_defaults=True):
    """A message that stays in the view as it is (its elisions included)."""

    message_id: str


class Placed(msgspec.Struct, frozen=True, tag="placed", omit_defaults=True):
    """A message that ctxd made. `body` is its index in the record's `data`."""

    facts: MessageFacts
    body: int


Replacement: TypeAlias = Kept | Placed


class UnitFate(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a message unit. `handle` fetches what is no longer shown."""

    message_ids: tuple[str, ...]
    fidelity: Fidelity
    handle: str = ""


class CheckpointCommitted(Event, frozen=True, tag="checkpointCommitted", gc=False):
    """A replacement of the view before it; the record's `data` is `[raw, ...]` of the placed.

    `covers` is how many entries of the old view the replacement stands for; entries after that
    stay behind it in order. `elisions` shorten what is kept. `summary` is the typed state carried on.
    """

    checkpoint_id: str
    version: int
    covers: int
    replacement: tuple[Replacement, ...]
    summary: SessionSummary
    trigger: Trigger
    reason: CompactionReason
    strategy: Strategy
    tokens_before: int
    tokens_after: int
    units: tuple[UnitFate, ...] = ()
    elisions: tuple[Elision, ...] = ()


class ViewUndone(Event, frozen=True, tag="viewUndone", gc=False):
    """The view before a checkpoint, and every message since, is the view again."""

    checkpoint_id: str


class Pinned(Event, frozen=True, tag="pinned", gc=False):
    """Something to keep whole in every view. The record's `data` is `[raw]` for a text, `[]` for a message.

    `facts` describe the message that shows a pinned text; `message_id` names a pinned message.
    """

    pin_id: str
    tokens: int
    text: str = ""
    message_id: str = ""
    label: str = ""
    facts: MessageFacts | None = None


class Unpinned(Event, frozen=True, tag="unpinned", gc=False):
    """A pin is let go; a text it showed leaves the view."""

    pin_id: str


class HandoffRecorded(Event, frozen=True, tag="handoffRecorded", forbid_unknown_fields=True):
    """The one hidden message of an epoch that tells the model a compaction is near (E §4).

    The record's `data` is `[raw]` of the message. `facts.id` is the record's message id. A record is of
    version 1 and has just these members, or it is not understood and speaks for nothing.
    """

    version: int
    observed_prompt_tokens: int
    available_for_input: int
    handoff_threshold: int
    compaction_threshold: int
    facts: MessageFacts


class Rewound(Event, frozen=True, tag="rewound", gc=False):
    """The conversation goes on from before a user message; it and what followed are no part of it any more.

    They stay in the log and can be recalled.
    """

    to: str


class SnapshotTaken(Event, frozen=True, tag="snapshotTaken", gc=False):
    """The workspace's files are kept as they were before (of the user) or after (of the assistant) a message.

    `restored`: they were brought to this `tree` after that message; it is no place to go back to.
    """

    message_id: str
    tree: str
    restored: bool = False


class ForkSealed(Event, frozen=True, tag="forkSealed", gc=False):
    """Last event of what a fork copied; a log with a parent and without it was never finished."""

    parent: str
    at: str = ""


class FileTouched(Event, frozen=True, tag="fileTouched", gc=False):
    """The host says that a file was read or changed, apart from any message; `path` as given."""

    path: str
    op: FileOp


class WorkspaceMoved(Event, frozen=True, tag="workspaceMoved", gc=False):
    """The session's workspace lies at another path from now on; paths below earlier ones mean files there."""

    workspace: str


class StageFailed(Event, frozen=True, tag="stageFailed", gc=False):
    """A stage of `prepare` failed and the last valid view was answered. `kind` is an error kind."""

    stage: str
    kind: str


AnyEvent: TypeAlias = (
    SessionCreated
    | SessionUpdated
    | MessagesAppended
    | TokensCounted
    | RequestReported
    | ViewElided
    | CheckpointCommitted
    | StageFailed
    | ViewUndone
    | Pinned
    | Unpinned
    | HandoffRecorded
    | ContractDeclared
    | Rewound
    | ForkSealed
    | SnapshotTaken
    | ValidatorRecorded
    | SteerPushed
    | SteeringDrained
    | OutputsScanned
    | FileTouched
    | WorkspaceMoved
)

TYPES: dict[str, type[AnyEvent]] = {
    "sessionCreated": SessionCreated,
    "sessionUpdated": SessionUpdated,
    "messagesAppended": MessagesAppended,
    "tokensCounted": TokensCounted,
    "requestReported": RequestReported,
    "viewElided": ViewElided,
    "checkpointCommitted": CheckpointCommitted,
    "stageFailed": StageFailed,
    "viewUndone": ViewUndone,
    "pinned": Pinned,
    "unpinned": Unpinned,
    "handoffRecorded": HandoffRecorded,
    "contractDeclared": ContractDeclared,
    "rewound": Rewound,
    "forkSealed": ForkSealed,
    "snapshotTaken": SnapshotTaken,
    "validatorRecorded": ValidatorRecorded,
    "steerPushed": SteerPushed,
    "steeringDrained": SteeringDrained,
    "outputsScanned": OutputsScanned,
    "fileTouched": FileTouched,
    "workspaceMoved": WorkspaceMoved,
}
"""Tag to type. A record type that is not here is kept in the log and skipped by the fold."""

BOOKKEEPING = frozenset({"tokensCounted", "fileTouched", "workspaceMoved"})
"""Types that do not move the session's revision: they say nothing new of the conversation, and nobody
who sent a notification learns of a revision."""


def is_plain(event: AnyEvent) -> TypeGuard[MessagesAppended]:
    """True for an append that does nothing but add messages."""
    return (
        isinstance(event, MessagesAppended)
        and event.usage is None
        and not event.client_id
        and not event.elisions
    )


_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    tag: msgspec.json.Decoder(cls) for tag, cls in TYPES.items()
}
_any = msgspec.json.Decoder(list[AnyEvent])
_encode = msgspec.json.Encoder().encode


def encode(event: AnyEvent) -> bytes:
    """The event as JSON on one line, its `type` tag included."""
    return _encode(event)


def decode(tag: str, data: bytes) -> AnyEvent | None:
    """The event behind a record's JSON; None for a type this version does not know.

    Raises `msgspec.DecodeError` when the JSON is not of the type's shape.
    """
    decoder = _decoders.get(tag)
    return None if decoder is None else decoder.decode(data)


def decode_all(texts: Iterable[bytes]) -> list[AnyEvent]:
    """As `decode` of each, several times as fast. Raises `msgspec.DecodeError` when any cannot be read."""
    return _any.decode(b"[" + b",".join(texts) + b"]")
