"""Where each message's bytes lie, and the few that are worth keeping in memory.

The log is the only owner of bodies; this is an index into it and a cache bounded in bytes, so a
long session costs its facts in memory and not its text (reports F.70).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import anyio
import msgspec

from ctxd.model.errors import Corrupt, Expired, NotFound
from ctxd.model.messages import MessageFacts
from ctxd.model.records import Location
from ctxd.store.ledger import Ledger
from ctxd.store.log.bookmark import Places
from ctxd.store.log.event_log import SessionLog

CACHE_BYTES = 32 * 1024 * 1024
BLOB_BYTES = 1024 * 1024
"""A message larger than this goes to the ledger whole; the log then only names it."""

IN_THREAD_BYTES = 256 * 1024
"""Reads larger than this leave the event loop."""


class Body(msgspec.Struct, frozen=True):
    """Where the bytes of one message are: a part of a record's data, or a blob of the ledger."""

    location: Location
    start: int
    length: int
    digest: str
    blob: str
    dialect: str


class Run(msgspec.Struct, frozen=True):
    """Records that keep messages, in order: which they are, and how many messages each keeps."""

    places: Places
    seqs: Sequence[int]
    sizes: Sequence[int]

    def holder(
        self, message_id: str, messages: Sequence[MessageFacts]
    ) -> tuple[Location, Sequence[MessageFacts]]:
        """The record that keeps a message, which is one of `messages`, and all that it keeps."""
        start = 0
        for seq, size in zip(self.seqs, self.sizes):
            kept = messages[start : start + size]
            if any(facts.id == message_id for facts in kept):
                return self.places.of(seq), kept
            start += size
        raise AssertionError("the message is one of the run's")


class Bodies:
    """The bytes of a session's messages, by message id."""

    def __init__(self, log: SessionLog, ledger: Ledger) -> None:
        self._log = log
        self._ledger = ledger
        self._records: list[tuple[Location | Run, Sequence[MessageFacts]]] = []
        self._owners: dict[str, int] = {}
        self._owned = 0
        self._index: dict[str, Body] = {}
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cached = 0

    def learn(self, location: Location, messages: Sequence[MessageFacts]) -> None:
        """Take in where a durable record keeps its messages: a JSON array in `messages`' order."""
        self._records.append((location, messages))
        for facts in messages if self._index else ():
            self._index.pop(facts.id, None)  # said anew without its secrets

    def learn_run(
        self, places: Places, seqs: Sequence[int], sizes: Sequence[int], messages: Sequence[MessageFacts]
    ) -> None:
        """As `learn` of several records: which they are, and how many of the messages each keeps."""
        self._records.append((Run(places, seqs, sizes), messages))

    def remember(self, message_id: str, raw: bytes) -> None:
        """Keep bytes that were just written."""
        self._cached += len(raw) - len(self._cache.get(message_id, b""))
        self._cache[message_id] = raw
        while self._cached > CACHE_BYTES and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= len(dropped)

    async def read(self, ids: Sequence[str]) -> list[bytes]:
        """The bytes of messages, in order. Raises NotFound, Corrupt, Expired for what was removed."""
        found: dict[str, bytes] = {}
        missing: list[str] = []
        for message_id in ids:
            raw = self._cache.get(message_id)
            if raw is None:
                missing.append(message_id)
            else:
                self._cache.move_to_end(message_id)
                found[message_id] = raw
        if missing:
            size = sum(self._body(message_id).length for message_id in missing)
            blobs = any(self._body(message_id).blob for message_id in missing)
            if size > IN_THREAD_BYTES or blobs:
                read = await anyio.to_thread.run_sync(self._fetch, missing)
            else:
                read = self._fetch(missing)
            for message_id, raw in zip(missing, read, strict=True):
                found[message_id] = raw
                self.remember(message_id, raw)
        return [found[message_id] for message_id in ids]

    def dialect_of(self, message_id: str) -> str:
        """The dialect a message is in, "" for the session's first. Raises NotFound."""
        return self._body(message_id).dialect

    def time_of(self, message_id: str) -> int:
        """When a message was recorded, milliseconds since 1970. Blocking. Raises NotFound, Corrupt."""
        return self._log.time_of(self._body(message_id).location)

    def _body(self, message_id: str) -> Body:
        body = self._index.get(message_id)
        if body is None:
            self._open(message_id)
            body = self._index[message_id]
        return body

    def _open(self, message_id: str) -> None:
        """Note where all messages of the record lie that holds this one. Raises NotFound."""
        for number in range(self._owned, len(self._records)):
            self._owners.update((facts.id, number) for facts in self._records[number][1])
        self._owned = len(self._records)
        owner = self._owners.get(message_id)
        if owner is None:
            raise NotFound("no such message", hint="session/history lists message ids")
        location, messages = self._records[owner]
        if isinstance(location, Run):
            location, messages = location.holder(message_id, messages)
        start = 1
        for facts in messages:
            length = 1 if facts.blob else facts.bytes
            if self._owners[facts.id] == owner:  # a later record may say it anew
                self._index[facts.id] = Body(location, start, length, facts.digest, facts.blob, facts.dialect)
            start += length + 1

    def _fetch(self, ids: Sequence[str]) -> list[bytes]:
        return [self._load(self._body(message_id)) for message_id in ids]

    def _load(self, body: Body) -> bytes:
        if body.blob:
            return self._kept(body.blob)
        raw = self._log.read_part(body.location, body.start, body.length)
        if hashlib.sha256(raw).hexdigest() != body.digest:
            raise Corrupt(
                "the stored bytes of a message do not match their digest", digest="sha256:" + body.digest
            )
        return raw

    def _kept(self, digest: str) -> bytes:
        try:
            return self._ledger.get(digest)
        except NotFound:
            # Durable before the log named them: whatever is gone was removed.
            raise Expired(
                "these bytes were removed from the ledger", hint="nothing else has them", digest=digest
            ) from None
