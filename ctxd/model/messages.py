"""Messages as ctxd keeps them: the host's bytes, and the facts that policy needs about them.

Facts are computed once, when a message arrives, and stored with it, so that neither a restart
nor a plan has to read a body again.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from ctxd.model.blocks import Role

Effect: TypeAlias = Literal["read", "write", "other"]
FileOp: TypeAlias = Literal["read", "edit", "write"]
Inserted: TypeAlias = Literal[
    "", "summary", "activeTask", "restoredFiles", "handoff", "pin", "truncated", "compact"
]

Steered: TypeAlias = Literal["", "followUp", "systemReminder"]

_replace = msgspec.structs.replace


class Redacted(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """So many secrets that a rule found in the output of a call, all cut out before anything was stored."""

    call_id: str
    rule: str
    count: int


class Native(msgspec.Struct, frozen=True):
    """One native message (item, content): `raw` as it came off the wire, `value` decoded once.

    `raw` is one JSON object on one line (UTF-8, no raw line feeds); it is what is stored and
    handed back. `value` must not be mutated. `dialect` is "" for the one the session began with.
    `redacted` and `unscanned` say what became of the secrets in it, as in `MessageFacts`.
    """

    raw: bytes
    value: dict[str, Any]
    dialect: str = ""
    redacted: tuple[Redacted, ...] = ()
    unscanned: bool = False


class CallFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a tool call was about. `target` is a short human description, never the arguments whole.

    `path` is the file argument as given, `span` the range arguments in canonical form
    (`"10-20"`, `""` for a whole file).
    """

    call_id: str
    name: str
    effect: Effect = "other"
    path: str = ""
    span: str = ""
    target: str = ""


class ResultFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A tool result's size. `bytes` is the length of its stored form, `digest` is `sha256:<hex>` of it.

    `tokens` are of its text alone, in the session's base encoding. `media` attachments in it weigh
    `media_tokens` by the provider's formula and `media_bytes` on the wire.
    """

    call_id: str
    bytes: int
    tokens: int
    digest: str
    is_error: bool = False
    media: int = 0
    media_tokens: int = 0
    media_bytes: int = 0


class FileFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A file that a message touched beside its calls' own, or one that it shows; `path` as given.

    `call_id` names the call on whose success a touch hangs, "" for none. A message that shows files again
    after a compaction shows the first `shown` of a file's `lines` lines; `digest` is the whole file's.
    """

    path: str
    op: FileOp = "read"
    call_id: str = ""
    digest: str = ""
    shown: int = 0
    lines: int = 0


class MessageFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Everything policy needs to know about a message without its body.

    `tokens` (base encoding, whole message, framing included) is -1 while counting is deferred.
    `media_tokens` come from the provider's formula and are not scaled by calibration.
    `bytes` is the length of `raw`; `digest` the sha256 hex of `raw`.
    `user_turn` is true when a person speaks. `inserted` names what ctxd itself put there.
    `source` is the id of the message this one stands for (`truncated`, `compact`), else "".
    `blob` is the ledger digest of `raw` when it is too large for the log. `dialect` is as in `Native`.
    `steered` says that it came in by steering, in the midst of a turn: it begins no turn of its own.
    `redacted` says what was cut out of its outputs; `unscanned`: nobody has looked yet.
    `item` is the provider's id of the message where its laws know one, else "".
    `lapses`: all of it is reasoning that the provider leaves out once the user speaks again.
    """

    id: str
    role: Role
    bytes: int
    digest: str
    tokens: int
    media_tokens: int = 0
    media_bytes: int = 0
    user_turn: bool = False
    calls: tuple[CallFacts, ...] = ()
    results: tuple[ResultFacts, ...] = ()
    signed: bool = False
    hidden: bool = False
    pinned: bool = False
    inserted: Inserted = ""
    source: str = ""
    blob: str = ""
    dialect: str = ""
    steered: Steered = ""
    redacted: tuple[Redacted, ...] = ()
    unscanned: bool = False
    files: tuple[FileFacts, ...] = ()
    lapses: bool = False
    item: str = ""

    def counted(self, tokens: int, sizes: tuple[int, ...]) -> MessageFacts:
        """The same facts with a deferred count filled in; `sizes` are the results' tokens in order."""
        if not self.results:
            return _replace(self, tokens=tokens)
        results = [_replace(result, tokens=size) for result, size in zip(self.results, sizes, strict=True)]
        return _replace(self, tokens=tokens, results=tuple(results))


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Reported usage in one scale for all providers, tokens.

    `prompt` is the whole prompt: for Anthropic input + cache creation + cache read; for OpenAI
    input as is (cached is inside); for Gemini `promptTokenCount` as is.
    """

    prompt: int
    completion: int = 0
    total: int = 0
    cache_read: int = 0
    cache_write: int = 0
