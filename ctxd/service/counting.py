"""Counters, loaded once and shared by all sessions, and the one thread that counts much.

An engine keeps a memo of some 17 MB for every thread that counts, for ever. So large counts are made
in a single thread, `Counting.run`, and small ones on the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from ctxd.core.facts import Weigher
from ctxd.tokenizer.cache import CountCache
from ctxd.tokenizer.encoding import Counter
from ctxd.tokenizer.encoding import load as load_counter
from ctxd.tokenizer.families import EncodingName, Vision
from ctxd.tokenizer.media import tokens_of

CACHED_FROM = 4096
"""Characters from which a count is worth remembering; shorter texts are counted as fast as looked up."""


P = ParamSpec("P")
T = TypeVar("T")


class Counting:
    """Owns the loaded encodings. `cache` is the vocabulary folder, None for the platform's."""

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._loads: dict[str, Future[Counter]] = {}
        self._counts = CountCache()
        self._weighers: dict[tuple[str, Vision], Weigher] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ctxd-counting")

    def begin(self, encoding: str) -> Future[Counter]:
        """Begin to load an encoding, unless that was done before. Waits for nothing.

        toktok builds its table with the interpreter held, for some 0.4 s of CPU: once, and best while
        the daemon starts.
        """
        load = self._loads.get(encoding)
        if load is None or (load.done() and load.exception() is not None):
            name = cast(EncodingName, encoding)
            load = self._loads[encoding] = self._thread.submit(load_counter, name, self._cache)
        return load

    async def counter(self, encoding: str) -> Counter:
        """The counter of an encoding, loaded if need be."""
        load = self.begin(encoding)
        return load.result() if load.done() else await asyncio.shield(asyncio.wrap_future(load))

    async def run(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that counts much in the thread for it, and wait. What is begun is not interrupted."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(work, *args, **kwargs))

    async def weigher(self, encoding: str, vision: Vision) -> Weigher:
        """How to weigh text on an encoding and media by a formula. Safe to use in threads."""
        weigher = self._weighers.get((encoding, vision))
        if weigher is None:
            weigher = self._weighers[encoding, vision] = self._weigher(await self.counter(encoding), vision)
        return weigher

    def _weigher(self, counter: Counter, vision: Vision) -> Weigher:
        counts = self._counts

        def count(text: str) -> int:
            return counter.count(text) if len(text) < CACHED_FROM else counts.count(counter, text)

        return Weigher(count=count, media=lambda media: tokens_of(media, vision))

    @property
    def loaded(self) -> list[str]:
        """Names of the encodings in memory."""
        return sorted(name for name, load in self._loads.items() if load.done() and not load.exception())
