"""Passages that read like orders to a model, in text that has none to give.

Owns the classes, their patterns and the copy they are matched on: without invisible characters, with
look-alikes as the letters they look like, in lower case. Every pattern is bounded, so matching is linear.

This is no security boundary: it finds what is put plainly, and anything can be put otherwise (encoded,
spelled, asked in another language). It tells a model what to distrust; it keeps nothing out.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["low", "medium", "high"]

PIECE_CHARS = 128 * 1024
OVERLAP_CHARS = 1024
"""More than any pattern takes."""

_RANK: dict[Severity, int] = {"low": 0, "medium": 1, "high": 2}


class Passage(NamedTuple):
    """Characters `start` to `end` of a text read like an order of class `kind`."""

    start: int
    end: int
    kind: str
    severity: Severity


_PATTERNS: tuple[tuple[str, Severity, str, str], ...] = (
    (
        "system-override",
        "high",
        "ignore forget disregard override bypass",
        r"""[\s,]{1,8} (?:\w{1,12}[\s,]{1,8}){0,4}?
        (?:previous|prior|above|earlier|preceding|existing|original|my|your|the|all) \s{1,8}
        (?:\w{1,20}\s{1,8}){0,2}?
        (?:instructions?|prompts?|rules?|directives?|guidelines?|constraints?|orders?)\b""",
    ),
    (
        "system-override",
        "high",
        "new updated real actual true",
        r"""\s{1,8} (?:system\s{1,8})? instructions? \s{0,4} (?: : | \bare\b )""",
    ),
    (
        "system-override",
        "high",
        "忽略 无视 忘记 忘掉 不要理会",
        r"""[^。\n]{0,12} (?:之前|以上|上述|先前|前面|所有|全部|原有)
        [^。\n]{0,12} (?:指令|指示|提示|规则|要求|约束|设定)""",
    ),
    (
        "role-confusion",
        "high",
        "^ system assistant developer admin root",
        r"""[ \t]{0,3} : [ \t]{1,4}
        (?:you|your|please|ignore|disregard|forget|do|don't|from|now|never|always|the\suser|new|override
        |execute|run|delete|send|reveal|print) \b [^\n]{0,80}""",
    ),
    (
        "role-confusion",
        "high",
        "you",
        r"""\s{1,8} are \s{1,8} now \s{1,8} (?:an?\s{1,8})?
        (?:different|new|unrestricted|jailbroken|dan|evil|free|another)\b""",
    ),
    (
        "tool-call-injection",
        "high",
        "",
        r"<\|(?:im_start|im_end|start_header_id|system|user|assistant|endoftext)\|>",
    ),
    (
        "tool-call-injection",
        "medium",
        "",
        r"</?(?:tool_calls?|function_calls?|tool_use|antml:\w{1,20}|invoke)(?:\s[^<>\n]{0,200})?>",
    ),
    (
        "tool-call-injection",
        "low",
        "",
        r"""\{\s{0,8} "(?:name|function|tool_name|tool)" \s{0,4} : \s{0,4} "[^"\n]{1,80}" \s{0,8} ,
        \s{0,8} "(?:arguments|parameters|input)" \s{0,4} :""",
    ),
    (
        "secret-extraction",
        "medium",
        "print show reveal display repeat echo output send leak tell give",
        r"""(?: (?<=tell)\s{1,4}me | (?<=give)\s{1,4}me | (?<!tell)(?<!give) )
        \s{1,8} (?:\w{1,12}\s{1,8}){0,3}?
        (?: (?:your|my|all|all\s{1,8}the) \s{1,8} (?:\w{1,12}\s{1,8}){0,2}?
            (?:system\s{1,4}prompts?|instructions?|secrets?|api\s{0,4}keys?|passwords?|tokens?|credentials?)
          | the \s{1,8} (?:system\s{1,4}prompts?|secret\s{1,4}keys?|api\s{0,4}keys?|passwords?|credentials?)
        )\b""",
    ),
    (
        "secret-extraction",
        "low",
        "what",
        r"""\s{1,8} (?:is|are) \s{1,8} your \s{1,8} (?:\w{1,12}\s{1,8}){0,2}?
        (?:prompts?|instructions?|secrets?|api\s{0,4}keys?|passwords?|tokens?|credentials?)\b""",
    ),
    (
        "instruction-injection",
        "medium",
        "from henceforth going",
        r"""(?: (?<=from)\s{1,8}now\s{1,8}on | (?<=going)\s{1,8}forward | (?<=henceforth) ) [,\s]{1,8}
        (?:[\w']{1,16}\s{1,8}){0,4}? (?:must|should|always|never|will|shall)\b""",
    ),
    ("instruction-injection", "medium", "", r"\[/?(?:system|inst|sys)\]"),
    ("instruction-injection", "medium", "", r"<(?: </?sys> | /?system(?:-prompt|_prompt)? )>"),
)
"""Class, severity, the words a passage begins with, and what follows them.

Words are looked for as they are, which is many times as fast as a pattern with them in it. They stand at the
beginning of a word, with `^` at that of a line but for marks of quoting. Where there are none, the pattern
begins with one rare character.
"""

_QUOTING = " \t>#*-"
_QUOTED = 8


class _Class(NamedTuple):
    kind: str
    severity: Severity
    words: tuple[str, ...]
    opens_line: bool
    pattern: re.Pattern[str]

    def spans(self, copy: str, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Where the class stands in a piece of the copy; only the beginning need lie in it."""
        if not self.words:
            yield from (match.span() for match in self.pattern.finditer(copy, first, last + OVERLAP_CHARS))
            return
        for word in self.words:
            stop = last + len(word) - 1
            place = copy.find(word, first, stop)
            while place >= 0:
                end = place + len(word)
                if self._may_begin(copy, place) and (match := self.pattern.match(copy, end)):
                    yield place, match.end()
                place = copy.find(word, end, stop)

    def _may_begin(self, copy: str, place: int) -> bool:
        if not self.opens_line:
            before = copy[place - 1 : place]
            return not copy[place].isascii() or not (before.isalnum() or before == "_")
        line = copy.rfind("\n", max(0, place - _QUOTED - 1), place)
        if line < 0 and place > _QUOTED:
            return False
        return not copy[line + 1 : place].strip(_QUOTING)


@cache
def _classes() -> tuple[_Class, ...]:
    """Compiled when first needed: a daemon at rest does without."""
    made: list[_Class] = []
    for kind, severity, given, pattern in _PATTERNS:
        opens_line, words = given.startswith("^"), tuple(given.removeprefix("^").split())
        made.append(_Class(kind, severity, words, opens_line, re.compile(pattern, re.VERBOSE)))
    return tuple(made)


_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝӏոսցքԼВЕКМНОРСТХАІЈЅαορνιτκυχεηΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwlnugqlbekmhopctxaijsaopvitkuxenabezhikmnoptyx",
)
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(65, 91)})
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0100-\U000e01ef"
)
_UNLIKE = re.compile(
    f"(?P<gone>[{_INVISIBLE}]+)|(?P<tag>[\U000e0000-\U000e007f]+)"
    "|[\u00a0\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u2000-\u200a\u2100-\u214f\u2460-\u24ff\u3000"
    "\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""Everything that reads as something else than it is."""


def find(text: str) -> list[Passage]:
    """The passages of a text in order; those that overlap are one, of the worst class among them."""
    copy, shifts = _plain(text)
    found: list[Passage] = []
    # In pieces, so that no other thread waits long for the interpreter.
    for first in range(0, len(copy), PIECE_CHARS):
        for known in _classes():
            for start, end in known.spans(copy, first, first + PIECE_CHARS):
                found.append(Passage(shifts.back(start), shifts.back(end), known.kind, known.severity))
    merged: list[Passage] = []
    for passage in sorted(found):
        if not merged or passage.start >= merged[-1].end:
            merged.append(passage)
            continue
        last = merged[-1]
        worst = max(last, passage, key=lambda p: _RANK[p.severity])
        merged[-1] = Passage(last.start, max(last.end, passage.end), worst.kind, worst.severity)
    return merged


class _Shifts(NamedTuple):
    """Where runs of the copy came from: places in the copy, and in the text."""

    copied: list[int]
    original: list[int]

    def back(self, place: int) -> int:
        """The place in the text of a place in the copy."""
        run = bisect_right(self.copied, place) - 1
        return self.original[run] + place - self.copied[run]


def _plain(text: str) -> tuple[str, _Shifts]:
    """The copy that is matched, as long as the text but where characters are gone or stand for several."""
    pieces: list[str] = []
    shifts = _Shifts([0], [0])
    position = length = 0
    for match in () if text.isascii() else _unlike(text):
        pieces.append(text[position : match.start()])
        length += match.start() - position
        said = _said(match)
        pieces.append(said)
        # Letter for letter within what stands for something, then anew behind it.
        shifts.copied.append(length)
        shifts.original.append(match.start())
        length += len(said)
        shifts.copied.append(length)
        shifts.original.append(match.end())
        position = match.end()
    pieces.append(text[position:])
    copy = "".join(pieces)
    lower = copy.lower()
    return lower if len(lower) == len(copy) else copy.translate(_LOWER), shifts


def _unlike(text: str) -> Iterator[re.Match[str]]:
    """What reads as something else; most lines of most texts are ASCII, which is known of a line at once."""
    start = 0
    for line in text.split("\n"):
        if not line.isascii():
            yield from _UNLIKE.finditer(text, start, start + len(line))
        start += len(line) + 1


def _said(match: re.Match[str]) -> str:
    if match["gone"]:
        return ""
    if match["tag"]:
        # Characters of the tag block show nothing and spell ASCII.
        return "".join([chr(ord(c) - 0xE0000) for c in match["tag"] if 0xE0020 <= ord(c) <= 0xE007E])
    return _reads_as(match[0])


@lru_cache(maxsize=4096)
def _reads_as(character: str) -> str:
    return unicodedata.normalize("NFKC", character).translate(_LOOK_ALIKES)
