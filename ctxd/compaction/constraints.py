"""The user's own words, and which of them must stay when not all can.

All user messages stay verbatim while they fit their share. When they don't, pasted bulk inside them
is clipped first; then sentences that bind (forbid, fix, prefer, change) stay before the rest, the
newest first. Words are taken from user and host messages only, never from tools or the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from ctxd.model.summary import Quote

BULK_CHARS = 1_200
"""A user message longer than this holds pasted material; its middle is clipped first."""

BULK_HEAD, BULK_TAIL = 600, 400

_BINDING = re.compile(
    r"""\b(?:must(?:n['’]t)?|never|always|do\s+not|don['’]?t|doesn['’]?t|only|avoid|prefer|instead|ensure|make\s+sure
        |should(?:n['’]t)?|need(?:s)?\s+to|no\s+longer|from\s+now\s+on|remember|require[sd]?|at\s+(?:most|least)
        |no\s+more\s+than|exactly|keep|forbid(?:den)?|not\s+allowed|limit|budget|deadline|without|unless|rather
        |change\s+(?:it|that|the)|actually|stop|use)\b
     |必须|不要|别|不能|不得|禁止|只能|只用|只要|总是|永远|务必|确保|优先|保持|改成|改为|换成|记住|以后|至少|最多|不超过|请用|使用|應|應該|應当|應该
     |必須|不准|統一|统一|不用|不許|不许|需要""",
    re.IGNORECASE | re.VERBOSE,
)

_VALUE = re.compile(r"\d|`[^`]+`|\"[^\"]+\"|“[^”]+”|[A-Za-z_./-]*/[A-Za-z_./-]+")

_SENTENCE = re.compile(
    r"(?:[^.!?。！？\n]|[.!?](?!\s|$|[^\x00-\x7f]))*(?:[.!?]+(?=\s|$|[^\x00-\x7f])|[。！？]+|\n|$)"
)
"""Up to a mark that ends a sentence: the stop in `config.py`, `v1.2` or `example.org/a?b` does not."""


class Words(msgspec.Struct, frozen=True):
    """Quotes to place verbatim and the base tokens they cost; `left_out` messages are only handles."""

    quotes: tuple[Quote, ...]
    tokens: int
    left_out: int


def choose(quotes: Sequence[Quote], budget: int, count: Callable[[str], int]) -> Words:
    """The user's words within `budget` base tokens, in the order they were said."""
    costs = [count(q.text) + 12 for q in quotes]
    if sum(costs) <= budget:
        return Words(tuple(quotes), sum(costs), 0)
    clipped = [clip(quote) for quote in quotes]
    costs = [count(q.text) + 12 for q in clipped]
    if sum(costs) <= budget:
        return Words(tuple(clipped), sum(costs), 0)
    return _select(clipped, costs, budget, count)


def clip(quote: Quote) -> Quote:
    """A long message without its middle; its id is the handle to the whole."""
    text = quote.text
    if len(text) <= BULK_CHARS:
        return quote
    cut = len(text) - BULK_HEAD - BULK_TAIL
    shown = f"{text[:BULK_HEAD]}\n[… {cut} characters: recall this message …]\n{text[-BULK_TAIL:]}"
    return msgspec.structs.replace(quote, text=shown)


def binding(text: str) -> str:
    """The sentences of `text` that bind, as they stand, in order; "" when none does."""
    kept = [s for raw in _SENTENCE.findall(text) if (s := raw.strip()) and _BINDING.search(s)]
    return " ".join(kept)


def _select(quotes: Sequence[Quote], costs: Sequence[int], budget: int, count: Callable[[str], int]) -> Words:
    """Binding sentences of every message first, newest first, then whole messages, newest first."""
    shown: dict[int, tuple[Quote, int]] = {}
    spent = 0
    order = sorted(range(len(quotes)), key=lambda i: (_rank(quotes[i].text), -i))
    for index in order:
        text = binding(quotes[index].text)
        if not text:
            continue
        cost = count(text) + 12
        if spent + cost > budget:
            continue
        shown[index] = (msgspec.structs.replace(quotes[index], text=text), cost)
        spent += cost
    for index in range(len(quotes) - 1, -1, -1):
        extra = costs[index] - (shown[index][1] if index in shown else 0)
        if spent + extra > budget:
            continue
        shown[index] = (quotes[index], costs[index])
        spent += extra
    chosen = tuple(shown[index][0] for index in sorted(shown))
    return Words(chosen, spent, len(quotes) - len(chosen))


def _rank(text: str) -> int:
    """Binding sentences with exact values go first: they cannot be guessed again."""
    bound = binding(text)
    return 0 if bound and _VALUE.search(bound) else 1
