"""What of the user's words is worth remembering beyond the session, decided by rules, English and Chinese.

A rule looks at the beginning of a sentence and nowhere else: `Footnote:` and `Not fixed:` are no marks.
Only typed quotes of people come here; what a tool printed or a model claimed is never remembered. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from ctxd.compaction.constraints import GAP
from ctxd.compaction.statements import read, sentences_of
from ctxd.core.notes import plain
from ctxd.model.summary import Quote

ENTRY_CHARS = 500
"""Characters of an entry; a longer one is cut there."""

ENTRIES = 20
TOTAL_CHARS = 8_000
"""What one compaction may add, entries and characters; the rest comes with the next."""

FIX_CHARS = 20
"""A fix that is told in fewer characters says nothing to somebody who was not there."""


class Memory(msgspec.Struct, frozen=True):
    """An entry for a topic: the user's words and the message that has them."""

    topic: str
    words: str
    message_id: str


_POLITE = r"(?:(?:please|pls|and|also|so|ok(?:ay)?|ps|p\.s\.)[\s,:]+)*"
_BEGIN = r"^[\s\"'“「*_-]*"

_MARKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "preferences",
        re.compile(
            _BEGIN + _POLITE + r"(?:remember|note|nb|n\.b\.|for\s+the\s+record)"
            r"(?:\s+(?:this|to\s+self))?\s*[:：]\s*(?P<words>\S.*)$"
            r"|" + _BEGIN + _POLITE + r"(?:do\s+)?remember\s+that\s+(?P<that>\S.*)$"
            r"|" + _BEGIN + r"请?(?:务必)?(?:记住|记得|备注)\s*(?:一下)?\s*[:：,，]\s*(?P<cn>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        "conventions",
        re.compile(
            _BEGIN
            + _POLITE
            + r"(?:(?:our|the|project|team|code|naming)\s+)*conventions?\s*[:：]\s*(?P<words>\S.*)$"
            r"|"
            + _BEGIN
            + r"(?:我们的?|项目的?|团队的?|代码|命名)*(?:约定|规范|惯例)\s*[:：]\s*(?P<cn>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        "lessons",
        re.compile(
            _BEGIN + _POLITE + r"lessons?(?:\s+learn(?:ed|t))?\s*[:：]\s*(?P<words>\S.*)$"
            r"|" + _BEGIN + r"(?:经验)?(?:教训|踩坑)(?:记录)?\s*[:：]\s*(?P<cn>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        "debugging",
        re.compile(
            _BEGIN + _POLITE + r"(?:fixed|fix|resolved)\s*[:：]\s*(?P<words>\S.*)$"
            r"|" + _BEGIN + r"(?:已)?(?:修复|解决)(?:了)?\s*[:：]\s*(?P<cn>\S.*)$",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
)

_DO = (
    r"(?:please\s+)?(?:always|never|only|no|do\s+not|don['’]t|must|avoid|prefer|use|keep|write|run|put|name|call|make|add|ask"
    r"|answer|reply|follow|format|commit|push|test|check|document|log|store|treat|assume|stick|leave|read|start|stop"
    r"|we\s+(?:always|never|only|use|do\s+not|don['’]t|keep|write|must)|(?:all|every|each|any|no)\s+\w+|you\s+(?:must|may|should))\b"
)
_PAST = (
    r"(?!(?:seen|saw|thought|got|get|heard|found|made|done|did|had|has|have|was|were|is|been|mind|so|a|an|the|see|hit|fail"
    r"|failing|felt|knew|know|understood|came|went|happen|works?|happens?)\b)(?!\w+(?:ed|ing)\b)(?!\w*[^\Ws]s\b)"
)
_STANDING = re.compile(
    rf"""{_BEGIN}{_POLITE}(?:
        (?:from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future|as\s+a\s+rule(?!\s+of)|by\s+default
          |(?:for|in)\s+(?:every|all)\s+(?:future\s+)?sessions?
          |in\s+this\s+(?:repo(?:sitory)?|project|code\s?base|workspace))\s*[,:]?\s+{_DO}
        |(?:always|never)\s+{_PAST}\w
        |we\s+(?:always|never)\s+{_PAST}\w
        |our\s+(?:convention|rule|policy|standard|style)\s+is\b
      )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A rule for more than the work at hand, said as one: when it holds, and then what to do."""

_STANDING_CN = re.compile(
    _BEGIN + r"(?:请)?(?:"
    r"(?:以后|今后|从现在起|从今以后|从今往后|往后|每次会话|所有会话|(?:本|这个|该)(?:项目|仓库)|我们(?:项目|团队)?|默认(?:情况下)?)"
    r"[，,：:]?.{0,12}?(?:都要?用|都[用先按写]|一律|统一|必须|务必|不要|不准|不得|禁止|严禁|只[能用准许]|别(?!的|人)|请|使用|采用|遵循|保持)"
    r"|(?:始终|永远|一律|统一)(?:都)?(?:用|使用|采用|按|写成?|放在|存|走|以|不要|不准|不得|保持|遵循|先|将|把|要|命名|返回))"
)


_PRINTED = re.compile(r"^\s*(?:\S+:\d+(?::\d+)?:\s*)?(?:error|warning)(?:\[\w+\])?:", re.MULTILINE)
"""A message with what a compiler printed: its notes are not the user's."""


def choose(constraints: Iterable[Quote], is_known: Callable[[Memory], bool]) -> list[Memory]:
    """What to remember of quotes that hold, in the order it was said, each once, within the bounds.

    What `is_known` was remembered before and takes no room, so that the rest comes with the next compaction.
    """
    found: dict[tuple[str, str], Memory] = {}
    total = 0
    for quote in constraints:
        for memory in _in(quote) if quote.superseded_by is None else ():
            key = (memory.topic, memory.words.casefold())
            if key in found or is_known(memory):
                continue
            total += len(memory.words)
            if total > TOTAL_CHARS or len(found) == ENTRIES:
                return list(found.values())
            found[key] = memory
    return list(found.values())


def _in(quote: Quote) -> Iterable[Memory]:
    printed = _PRINTED.search(quote.text) is not None
    for sentence in _sentences(quote.text):
        if GAP in sentence or (printed and sentence.startswith("note:")):
            continue
        topic, words = _judge(sentence)
        words = plain(words)
        if topic and words and not (topic == "debugging" and len(words) <= FIX_CHARS):
            yield Memory(topic, words[:ENTRY_CHARS], quote.message_id)


def _sentences(text: str) -> Sequence[str]:
    """Sentences of what the user said themselves; a line that begins with a mark is one, stops and all."""
    found: list[str] = []
    end = 0
    for sentence in sentences_of(text):
        if sentence.start < end:
            continue
        after = text.find("\n", sentence.start)
        line = text[sentence.start : len(text) if after < 0 else after]
        if any(pattern.match(line) for _, pattern in _MARKS):
            found.append(line)
            end = sentence.start + len(line)
        else:
            found.append(text[sentence.start : sentence.end])
    return found


def _judge(sentence: str) -> tuple[str, str]:
    for topic, pattern in _MARKS:
        if match := pattern.match(sentence):
            return topic, next(group for group in match.groups() if group is not None)
    standing = _STANDING.match(sentence) or _STANDING_CN.match(sentence)
    return ("conventions", sentence) if standing and not read(sentence).asks else ("", "")
