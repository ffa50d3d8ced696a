"""What passes between the store and everything above it: drafts in, records out.

The store does not know events. It keeps lines; `facts` and `data` are opaque JSON to it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Draft(msgspec.Struct, frozen=True):
    """A record to append. `facts` (`b""` for none) and `data` are JSON text on one line.

    `id` makes the append idempotent: a draft whose id is in the log is not written again.
    """

    id: str
    type: str
    data: bytes
    facts: bytes = b""


class Location(msgspec.Struct, frozen=True, gc=False):
    """Where the bytes of a record's `data` value lie: segment number, byte offset, length."""

    segment: int
    offset: int
    length: int


class Record(msgspec.Struct, frozen=True, gc=False):
    """A verified record. `data` is left on disk; `location` says where, `facts` is in memory."""

    seq: int
    epoch: int
    id: str
    type: str
    at: int
    facts: bytes
    location: Location


class Span(msgspec.Struct, frozen=True):
    """Bytes of a segment that did not verify. `sha256` is the hex digest of those bytes."""

    segment: int
    offset: int
    length: int
    sha256: str
    reason: Literal["torn", "damaged", "gap", "stale"]


class Holder(msgspec.Struct, frozen=True):
    """Who holds a session's lease."""

    pid: int
    host: str
    start: str
    client: str = ""

    def as_facts(self) -> dict[str, Any]:
        """As it appears in errors and in SessionInfo."""
        return {"pid": self.pid, "host": self.host, "start": self.start, "client": self.client}


class LogHealth(msgspec.Struct, frozen=True):
    """`status`: `clean`, `torn` (an unacknowledged tail was skipped) or `damaged`."""

    status: Literal["clean", "torn", "damaged"]
    spans: tuple[Span, ...] = ()
    bytes: int = 0
    segments: int = 0
