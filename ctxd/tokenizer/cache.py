"""Counts already made, by encoding and content digest, so that nothing is counted twice.

Owns a bounded table in memory; must not know sessions or events. Counts that are stored with events
enter it again through `put`.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock

from ctxd.tokenizer.encoding import Counter
from ctxd.tokenizer.families import EncodingName

CAPACITY = 16_384
"""Entries kept, some 4 MB."""


class CountCache:
    """Least recently used counts are dropped first. Safe to use from any thread."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._counts: OrderedDict[tuple[EncodingName, bytes], int] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, counter: Counter, text: str) -> int:
        """Tokens of `text`, counted only if its content was not counted on this encoding before."""
        digest = digest_of(text)
        tokens = self.get(counter.encoding, digest)
        if tokens is None:
            tokens = counter.count(text)
            self.put(counter.encoding, digest, tokens)
        return tokens

    def get(self, encoding: EncodingName, digest: bytes) -> int | None:
        """The count known for a content, None when there is none."""
        key = (encoding, digest)
        with self._lock:
            tokens = self._counts.get(key)
            if tokens is not None:
                self._counts.move_to_end(key)
            return tokens

    def put(self, encoding: EncodingName, digest: bytes, tokens: int) -> None:
        """Remember a count."""
        key = (encoding, digest)
        with self._lock:
            self._counts[key] = tokens
            self._counts.move_to_end(key)
            if len(self._counts) > self._capacity:
                self._counts.popitem(last=False)


def digest_of(text: str) -> bytes:
    """16 bytes that name a text; lone surrogates are part of it."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
