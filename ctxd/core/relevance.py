"""How much of what was asked a text answers, on a scale that means the same for every query. Pure.

A ranking says which text is best; it never says that the best is good. So each term of a query has a
weight, what nobody ever mentioned the largest, and a text is relevant by the share of the weight it covers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from ctxd.core.terms import STOP, also, positions

FLOOR = 0.3
"""Share of a query's weight that a text must cover to be an answer."""

CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_EMPTY = """
about after all also am any anything been before but can could does doing done get got had has have
her him his if into its just know like me my need no not now of off one our out over please should so some
something tell than their them then there these they thing things those through up us use used uses using
want way were when who why will with would your
"""
_EMPTY_WORDS = frozenset(_EMPTY.split())
_EMPTY_SIGNS = frozenset(
    "的了吗呢吧是在和与或我你他她它们么什怎哪谁请把被这那个些有没不要会能可以也都就还又很对从到给让"
)
_PLURALS = (("ies", "y"), ("sses", "ss"), ("es", "e"), ("s", ""))
_FORMS = (("ing", ""), ("ed", ""))


def ask(query: str) -> tuple[str, ...]:
    """The terms of a query that say what is looked for, each once; empty when it says nothing."""
    found = [term for word, _ in positions(query) for term in [root(word)] if not _is_empty(term)]
    found += [root(term.lower()) for term in also(query) if not _is_empty(root(term.lower()))]
    return tuple(dict.fromkeys(found))


def index_terms(text: str) -> list[str]:
    """Every term of a text, with repetition, as `ask` makes them."""
    return [root(word) for word, _ in positions(text)] + [root(term.lower()) for term in also(text)]


def root(word: str) -> str:
    """An English word without the endings that do not change what it is about; others as they are."""
    if len(word) < 5 or not word.isascii() or not word.isalpha():
        return word
    for endings in (_PLURALS, _FORMS):
        for ending, instead in endings:
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
                word = word[: -len(ending)] + instead
                if endings is _FORMS and word[-1] == word[-2] and word[-1] not in "lsz":
                    word = word[:-1]
                break
    return word.removesuffix("e") if len(word) > 3 else word


def weigh(terms: Sequence[str], known: Mapping[str, int], total: int) -> dict[str, float]:
    """What each term of a query is worth. `known` says how many of `total` texts hold a term.

    Pairs of Chinese characters overlap: one that nobody wrote counts for nothing where it only joins two
    words, and half of itself otherwise.
    """
    total = max(1, total)
    weights: dict[str, float] = {}
    for term in terms:
        holders = known.get(term, 0)
        weight = math.log1p(total / holders) if holders else math.log1p(total)
        if _is_pair(term):
            weight = weight / 2 if holders or not _is_seam(term, terms, known) else 0.0
        weights[term] = weight
    return weights


def telling(weights: Mapping[str, float], known: Mapping[str, int]) -> list[str]:
    """Known terms without the most common ones: a text that holds none of these cannot reach the floor."""
    spare = FLOOR * sum(weights.values())
    rare = sorted((term for term in weights if known.get(term)), key=lambda term: -known[term])
    while rare and weights[rare[0]] < spare:
        spare -= weights[rare.pop(0)]
    return rare


def coverage(held: Collection[str], weights: Mapping[str, float]) -> float:
    """The share of a query's weight, 0 to 1, that terms held by a text cover."""
    whole = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in held) / whole if whole else 0.0


def _is_empty(term: str) -> bool:
    return term in STOP or term in _EMPTY_WORDS or (bool(CJK.search(term)) and set(term) <= _EMPTY_SIGNS)


def _is_pair(term: str) -> bool:
    return len(term) == 2 and CJK.fullmatch(term[0]) is not None


def _is_seam(pair: str, terms: Sequence[str], known: Mapping[str, int]) -> bool:
    """Whether an unknown pair holds an empty sign, or overlaps a pair that is known."""
    if not _EMPTY_SIGNS.isdisjoint(pair):
        return True
    return any(
        other != pair and known.get(other) and (other[-1] == pair[0] or pair[-1] == other[0])
        for other in terms
        if _is_pair(other)
    )
