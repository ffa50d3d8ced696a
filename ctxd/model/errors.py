"""The error tree. Every error a host can see has a stable `kind`; hosts switch on it.

    CtxdError
    ├── InvalidParams        invalidParams      bad field, with its path
    │   └── InvalidMessages  invalidMessages    messages no provider would take
    ├── SessionNotFound      sessionNotFound
    ├── SessionLocked        sessionLocked      another process writes this session
    ├── ReadOnly             readOnly
    ├── RevisionConflict     revisionConflict
    ├── UnknownDialect       unknownDialect
    ├── Busy                 busy
    ├── NotFound             notFound           message, request, handle, plan
    ├── Ambiguous            ambiguous          a handle that means several things
    ├── TooLarge             tooLarge
    ├── OutsideWorkspace     outsideWorkspace
    ├── SymlinkRefused       symlinkRefused
    ├── NotRegularFile       notRegularFile
    ├── Sensitive            sensitive          a secret; `rule` names what matched, never the secret
    ├── Timeout              timeout
    └── StoreError
        ├── StorageFull      storageFull        ENOSPC, EDQUOT, EFBIG
        ├── StorageFailed    storageFailed      EIO, EROFS, a failed fsync
        ├── CheckpointFailed checkpointFailed
        ├── Damaged          damaged            acknowledged records are unreadable
        ├── Corrupt          corrupt            bytes do not match their digest
        └── Expired          expired            bytes that the log names were removed on purpose

No error carries message content, a secret or a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class CtxdError(Exception):
    """Base of every error with a stable `kind`.

    `facts` become members of the JSON-RPC error's `data` beside `kind` and `hint`.
    """

    kind: ClassVar[str] = "internal"

    def __init__(self, message: str, *, hint: str | None = None, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts: dict[str, object] = {k: v for k, v in facts.items() if v is not None}


class InvalidParams(CtxdError):
    """A field is wrong. `errors` is `[{path, message}]`, paths dotted (`messages.3.content`)."""

    kind = "invalidParams"

    @classmethod
    def at(cls, path: str, message: str, *, hint: str | None = None) -> InvalidParams:
        """Build the error for one field."""
        return cls(
            f"invalid params: {path}: {message}",
            hint=hint,
            errors=[{"path": path, "message": message}],
        )


class InvalidMessages(InvalidParams):
    """Messages that cannot be kept as given. `violations` is `[{rule, index, detail}]`."""

    kind = "invalidMessages"

    @classmethod
    def of(cls, violations: Sequence[dict[str, object]]) -> InvalidMessages:
        """Build the error from violations, newest facts first as they were found."""
        return cls(
            f"invalid messages: {len(violations)} violation(s)",
            hint="context/validate lists the same violations without appending",
            violations=list(violations),
        )


class UnknownDialect(CtxdError):
    kind = "unknownDialect"


class SessionNotFound(CtxdError):
    kind = "sessionNotFound"


class SessionLocked(CtxdError):
    """Another process holds the session's lease; `holder` is `{pid, host, start, client}`."""

    kind = "sessionLocked"


class ReadOnly(CtxdError):
    kind = "readOnly"


class RevisionConflict(CtxdError):
    """`expected` is what the caller sent, `actual` is the session's revision."""

    kind = "revisionConflict"


class Busy(CtxdError):
    kind = "busy"


class NotFound(CtxdError):
    kind = "notFound"


class Ambiguous(CtxdError):
    """`candidates` are the things a handle may mean, as `recall/fetch` lists owners of a reused id."""

    kind = "ambiguous"


class TooLarge(CtxdError):
    kind = "tooLarge"


class OutsideWorkspace(CtxdError):
    kind = "outsideWorkspace"


class SymlinkRefused(CtxdError):
    kind = "symlinkRefused"


class NotRegularFile(CtxdError):
    kind = "notRegularFile"


class Sensitive(CtxdError):
    kind = "sensitive"


class Timeout(CtxdError):
    kind = "timeout"


class StoreError(CtxdError):
    kind = "storageFailed"


class StorageFull(StoreError):
    kind = "storageFull"


class StorageFailed(StoreError):
    kind = "storageFailed"


class CheckpointFailed(StoreError):
    kind = "checkpointFailed"


class Damaged(StoreError):
    kind = "damaged"


class Corrupt(StoreError):
    kind = "corrupt"


class Expired(StoreError):
    """What the log names by `digest` is in the ledger no more: it was removed, not damaged."""

    kind = "expired"
