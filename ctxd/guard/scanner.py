"""Where in some bytes secrets stand: the rules of Kingfisher, offline, and a few of our own.

Owns how the engine is loaded and bounded: rules compiled once per process, texts scanned in overlapping
pieces, every piece within a time. Must not know messages or what is done about a finding.

Nothing here validates or revokes a credential, or asks anybody about one. No error carries what was found.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kingfisher_sdk import Finding
    from kingfisher_sdk import Scanner as Engine

PIECE_BYTES = 128 * 1024
OVERLAP_BYTES = 16 * 1024
"""Neighbouring pieces share so much: a secret up to this long is whole in one of them."""

SMALLEST_BYTES = 2 * OVERLAP_BYTES + 1
"""A piece that takes too long is halved, down to this."""

PIECE_SECONDS = 0.5

REPEATED_FROM = 16
"""Bytes from which a secret is cut out wherever it stands again in a text, without its context too."""

REPEATED_AT_MOST = 64

_OWN = Path(__file__).with_name("rules.yml")
_VENDORS = re.compile(r"^(?:betterleaks\.|kingfisher\.|veles\.secrets/|veles\.|ctxd\.)")
_HELPER = re.compile(r"(?:secret|token|passphrase|key)", re.IGNORECASE)
_PUBLIC = re.compile(r"public|(?:-(?:id|name|url|host|domain|address|repository))(?:\.\d+)?$", re.IGNORECASE)
_PLAIN_RULES = frozenset({"assignment", "authorization", "login", "vendor-token"})
"""Those that say less of a secret than any other."""

_PLACEHOLDER = re.compile(rb"\[REDACTED:[a-z0-9._-]{1,100}\]")

_NOT_SECRET_NAME = re.compile(
    rb"(?:page|next|previous|prev|continuation|cursor|sync|resume|watch|list|csrf|xsrf|max|min|num|count|total|eos"
    rb"|bos|pad|unk|mask|sep|cls|special|stop|prompt|completion|input|output|cached)[_.\s-]?tokens?$",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(
    rb"[$%@&*!~#].*"  # a variable, an interpolation, a mask
    rb"|(?:https?|file|ssh|git)://.*"  # a link: one with a password in it has a rule of its own
    rb"|(?:sha|md)\d{1,3}[-:=].*"  # a digest that says so
    rb"|[\d.,:+/%_-]*"  # a number, a date, a version
    rb"|.*(?:\.\.\.|example|placeholder|changeme|dummy|redacted|x{6}|your[_-]).*",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(rb"[A-Za-z_][\w-]*(?:(?:\.|::?|->|/)[A-Za-z_][\w-]*)*")
_PATH = re.compile(rb"[./~][\w./~+-]*")
_BACKWARDS = re.compile(rb"[\w.-]+")
_RUNS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|\d+")


class Span(NamedTuple):
    """Bytes `start` to `end` hold a secret that `rule` found."""

    start: int
    end: int
    rule: str


class Overrun(Exception):
    """The text could not be scanned within the time given."""


class Unavailable(Exception):
    """The engine could not be loaded."""


class Scanner:
    """The compiled rules. Safe in threads; scanning leaves the interpreter to others."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, data: bytes, seconds: float) -> list[Span]:
        """All secrets of a text in order, none touching another. Raises Overrun.

        `data` is UTF-8; lone surrogates may stand in it.
        """
        if not data:
            return []
        # A NUL would make the engine guess another encoding, and its offsets would be of that.
        scanned = data.replace(b"\0", b"\x01")
        deadline = time.monotonic() + seconds
        spans: list[Span] = []
        for start, end in _pieces(scanned):
            spans += self._find(scanned, start, end, deadline)
        kept = _outside_placeholders(data, spans)
        return _merge(_widen(data, [*kept, *_repeats(data, kept)]))

    def _find(self, data: bytes, start: int, end: int, deadline: float) -> list[Span]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Overrun
        try:
            found = self._engine.scan(data[start:end], timeout=min(PIECE_SECONDS, left))
        except TimeoutError:
            if end - start <= SMALLEST_BYTES:
                raise Overrun from None
            half = (start + end) // 2
            first = self._find(data, start, min(end, half + OVERLAP_BYTES), deadline)
            return [*first, *self._find(data, half, end, deadline)]
        except BaseException as error:
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                raise Overrun from None  # nothing the engine says may carry the text
            raise
        spans = (_span(finding, data, start, end) for finding in found)
        return [span for span in spans if span is not None]


@cache
def load(folder: Path | None) -> Scanner:
    """The scanner, its compiled rules kept in `folder`. Blocking; some 0.3 s, the first time ever 3 s.

    Shared by all of a process. Raises Unavailable.
    """
    if folder is not None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            folder = None  # every start compiles them anew
    try:
        from kingfisher_sdk import Rules
        from kingfisher_sdk import Scanner as Engine

        rules = Rules([_OWN], confidence="low", cache=folder is not None, cache_dir=folder)
        return Scanner(Engine(rules))
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise Unavailable(type(error).__name__) from None


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """Overlapping ranges that cover the text; each begins at a line where one is near."""
    start = 0
    while True:
        end = start + PIECE_BYTES
        if end >= len(data):
            yield start, len(data)
            return
        yield start, end
        line = data.rfind(b"\n", end - OVERLAP_BYTES - 2048, end - OVERLAP_BYTES)
        start = line + 1 if line >= 0 else end - OVERLAP_BYTES


def _span(finding: Finding, data: bytes, start: int, end: int) -> Span | None:
    """A finding in a piece as a span of the text; None for what is no secret."""
    rule = finding.rule_id
    if not finding.visible and (not _HELPER.search(rule) or _PUBLIC.search(rule)):
        return None  # the host, the account, the id beside a secret
    location = finding.location
    first, last = start + location["start_offset"], min(end, start + location["end_offset"])
    if first >= last:
        return None
    if rule == "ctxd.assignment" and not _is_secret_value(data, first, last):
        return None
    return Span(first, last, _VENDORS.sub("", rule).lower())


def _is_secret_value(data: bytes, first: int, last: int) -> bool:
    """Whether what is assigned can be a secret: code, paths, numbers, words and masks are none."""
    value = data[first:last].rstrip(b".:=")
    if _NO_VALUE.fullmatch(value) or len(set(value)) < 5 or not re.search(rb"[A-Za-z]", value):
        return False
    before = _BACKWARDS.match(data[max(0, first - 80) : first].rstrip(b" \t\"'`:=>\\")[::-1])
    name = before[0][::-1] if before is not None else b""
    if _NOT_SECRET_NAME.search(name[-40:]):
        return False
    if _is_random(value):
        return True
    if _PATH.fullmatch(value):
        return False
    if not re.search(rb"[\d+=$^?]", value):
        return False
    # A name of a program stands without quotes, in the middle of a line, and in no environment.
    quoted = data[first - 1 : first] in (b'"', b"'", b"`")
    ends_line = data[last : last + 1] in (b"", b"\n", b"\r")
    return quoted or ends_line or name.isupper() or not _NAME.fullmatch(value)


def _is_random(value: bytes) -> bool:
    """Whether letters of both cases and digits change as often as chance has it, and no name or path."""
    runs = _RUNS.findall(value)
    if len(value) >= 20 and value.isalnum() and len(re.findall(rb"\d+", value)) >= 3:
        return True
    typical = 2.5 if _PATH.fullmatch(value) else 3.2 if len(value) >= 16 else 2.4
    return len(value) >= 12 and sum(map(len, runs)) <= typical * len(runs)


def _outside_placeholders(data: bytes, spans: list[Span]) -> list[Span]:
    """Without what only finds our own placeholders again: what was redacted once stays as it is."""
    if b"[REDACTED:" not in data:
        return spans
    placed = [match.span() for match in _PLACEHOLDER.finditer(data)]
    ends = [end for _, end in placed]
    kept: list[Span] = []
    for span in spans:
        place = bisect_right(ends, span.start)
        if place == len(placed) or placed[place][0] >= span.end:
            kept.append(span)
    return kept


def _repeats(data: bytes, spans: list[Span]) -> list[Span]:
    """The same secrets where they stand again."""
    known = {data[s.start : s.end]: s.rule for s in spans if s.end - s.start >= REPEATED_FROM}
    found: list[Span] = []
    for secret, rule in list(known.items())[:REPEATED_AT_MOST]:
        at = data.find(secret)
        while at >= 0:
            found.append(Span(at, at + len(secret), rule))
            at = data.find(secret, at + len(secret))
    return found


def _widen(data: bytes, spans: list[Span]) -> list[Span]:
    """Spans that begin and end between characters."""
    widened: list[Span] = []
    for start, end, rule in spans:
        while start > 0 and data[start] & 0xC0 == 0x80:
            start -= 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        widened.append(Span(start, end, rule))
    return widened


def _merge(spans: list[Span]) -> list[Span]:
    """Spans in order, those that touch made one under the rule that says most: a vendor's, the longest."""
    merged: list[Span] = []
    for span in sorted(spans):
        if not merged or span.start > merged[-1].end:
            merged.append(span)
            continue
        last = merged[-1]
        rule = max(last, span, key=lambda s: (s.rule not in _PLAIN_RULES, s.end - s.start, s.rule)).rule
        merged[-1] = Span(last.start, max(last.end, span.end), rule)
    return merged
