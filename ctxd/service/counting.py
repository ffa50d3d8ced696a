"""Counters, loaded once and shared by all sessions, and the one thread that counts much.

An engine keeps a memo of some 17 MB for every thread that counts, for ever. So large counts are made
in a single thread, `Counting.run`, and small ones on the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import anyio

from ctxd.core.facts import Weigher
from ctxd.tokenizer.cache import CountCache
from ctxd.tokenizer.encoding import Counter, load
from ctxd.tokenizer.families import EncodingName, Vision
from ctxd.tokenizer.media import tokens_of

CACHED_FROM = 256
"""Characters from which a count is worth remembering; shorter texts are counted as fast as looked up."""


P = ParamSpec("P")
T = TypeVar("T")


class Counting:
    """Owns the loaded encodings. `cache` is the vocabulary folder, None for the platform's."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._counters: dict[str, Counter] = {}
        self._counts = CountCache()
        self._loading: anyio.Lock | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ctxd-counting")

    async def counter(self, encoding: str) -> Counter:
        """The counter of an encoding; the first call loads it in a thread."""
        found = self._counters.get(encoding)
        if found is not None:
            return found
        if self._loading is None:
            self._loading = anyio.Lock()
        async with self._loading:
            if encoding not in self._counters:
                name = cast(EncodingName, encoding)
                self._counters[encoding] = await self.run(load, name, self._cache)
        return self._counters[encoding]

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that counts much in the thread for it, and wait. What is begun is not interrupted."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(work, *args, **kwargs))

    async def weigher(self, encoding: str, vision: Vision) -> Weigher:
        """How to weigh text on an encoding and media by a formula. Safe to use in threads."""
        counter = await self.counter(encoding)
        counts = self._counts

        def count(text: str) -> int:
            return counter.count(text) if len(text) < CACHED_FROM else counts.count(counter, text)

        return Weigher(count=count, media=lambda media: tokens_of(media, vision))

    @property
    def loaded(self) -> list[str]:
        """Names of the encodings in memory."""
        return sorted(self._counters)
