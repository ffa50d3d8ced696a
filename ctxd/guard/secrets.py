"""Secrets of a daemon's texts: cut out of them, or named.

Owns when the scanner is loaded and how long a text may take. It weighs some 50 MB, so it is loaded when
a session first makes a call or a text first needs it, never before. Must not know messages.

What is found becomes `[REDACTED:rule]`. No error and no answer carries what was found.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from ctxd.guard.scanner import Overrun, Scanner, Span, Unavailable, load

FOLDER = "guard"
"""Where in the cache folder the compiled rules are kept."""

INLINE_BYTES = 8 * 1024
"""Texts up to this take a fraction of a millisecond, the worst some 3 ms."""

SECONDS = 5.0
"""How long one text may be scanned where nobody says otherwise."""

State: TypeAlias = Literal["idle", "loading", "ready", "unavailable"]


T = TypeVar("T")


class Part(NamedTuple):
    """One of the strings of a text. `lead` stands before it while it is read: a name that says what it is."""

    text: str
    lead: str = ""


class Redaction(NamedTuple):
    """A string without its secrets, and the rules that found some, one for each in order."""

    text: str
    rules: tuple[str, ...]


class Unscanned(Exception):
    """A text could not be scanned: out of time, or there is no scanner. Never carries the text."""


class Secrets:
    """The scanner of a daemon, loaded when first needed. `cache`: the cache folder, None for no cache.

    Its methods block unless they say otherwise, and are safe in any thread.
    """

    def __init__(self, cache: Path | None) -> None:
        self._folder = cache / FOLDER if cache is not None else None
        self._load: Future[Scanner] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ctxd-guard")

    def begin(self) -> Future[Scanner]:
        """Begin to load the scanner, unless that was done before or failed. Waits for nothing."""
        if self._load is None:
            self._load = self._thread.submit(load, self._folder)
        return self._load

    async def run(self, work: Callable[[], T]) -> T:
        """Run work that scans in the thread for it, once the scanner is loaded. Does not block."""
        self.begin()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    @property
    def state(self) -> State:
        """Whether the scanner is there."""
        if self._load is None:
            return "idle"
        if not self._load.done():
            return "loading"
        return "unavailable" if self._load.exception() else "ready"

    def find(self, text: str, seconds: float = SECONDS) -> list[Span]:
        """Where secrets stand in a text, as bytes of its UTF-8. Raises Unscanned.

        `seconds` bounds the scanning; loading, once per process, comes on top.
        """
        return self._find(text.encode("utf-8", "surrogatepass"), seconds)

    def name_rules(self, text: str, seconds: float = SECONDS) -> tuple[str, ...]:
        """The rules that find a secret in a text, each once, in order. Raises Unscanned."""
        return tuple(dict.fromkeys([span.rule for span in self.find(text, seconds)]))

    def redact(self, parts: Sequence[Part], seconds: float = SECONDS) -> list[Redaction]:
        """The strings of one text without its secrets, which may lie across neighbours. Raises Unscanned."""
        encoded = [part.text.encode("utf-8", "surrogatepass") for part in parts]
        leads = [part.lead.encode("utf-8", "surrogatepass") for part in parts]
        spans = self._find(b"\n".join([lead + text for lead, text in zip(leads, encoded)]), seconds)
        if not spans:
            return [Redaction(part.text, ()) for part in parts]
        sizes = [len(lead) + len(text) + 1 for lead, text in zip(leads, encoded)]
        starts = list(accumulate(sizes, initial=0))[:-1]
        inside: list[list[Span]] = [[] for _ in parts]
        for span in spans:
            for index in range(bisect_right(starts, span.start) - 1, bisect_right(starts, span.end - 1)):
                first = starts[index] + len(leads[index])
                start, end = max(span.start, first) - first, min(span.end - first, len(encoded[index]))
                if start < end:
                    inside[index].append(Span(start, end, span.rule))
        return [
            _cut(text, found) if found else Redaction(part.text, ())
            for part, text, found in zip(parts, encoded, inside)
        ]

    def _find(self, data: bytes, seconds: float) -> list[Span]:
        try:
            return self.begin().result().find(data, seconds)
        except (Overrun, Unavailable, MemoryError) as error:
            raise Unscanned(type(error).__name__) from None


def _cut(text: bytes, spans: Sequence[Span]) -> Redaction:
    kept: list[bytes] = []
    position = 0
    for start, end, rule in spans:
        kept += [text[position:start], b"[REDACTED:%b]" % rule.encode()]
        position = end
    kept.append(text[position:])
    return Redaction(b"".join(kept).decode("utf-8", "surrogatepass"), tuple([s.rule for s in spans]))
