"""Words to search by, the same for what is indexed and for what is asked.

Latin words are split at punctuation and at changes of case, and kept whole too; runs of Chinese,
Japanese and Korean become overlapping pairs, so that a query finds them without a dictionary.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z0-9]+|[^\W\d_A-Za-z]+|\d+", re.UNICODE)
_COMPOUND = re.compile(r"[A-Za-z0-9_]{2,}")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

MAX_TERM = 64
"""Characters of one term; longer runs (hashes, base64) are found by their beginning."""

_STOP_WORDS = """
the a an of to in is it and or for on with was what which where how that this be at by from as are
did do does i we you
"""

STOP = frozenset(_STOP_WORDS.split())
"""English words that say nothing of what is looked for; left out of queries, kept in what is indexed."""


def terms(text: str) -> list[str]:
    """All terms of a text, lower-cased, in order, repeated as often as they occur."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if _CJK.search(word):
            found += _pairs(word)
            continue
        found.append(word.lower()[:MAX_TERM])
        humps = _HUMP.findall(word)
        if len(humps) > 1:
            found += [hump.lower() for hump in humps if len(hump) > 1]
    found += [m.group().lower()[:MAX_TERM] for m in _COMPOUND.finditer(text) if "_" in m.group()]
    return found


def query_terms(text: str) -> list[str]:
    """Distinct terms of a query, without words that say nothing, in the order they were asked."""
    wanted = list(dict.fromkeys(terms(text)))
    telling = [term for term in wanted if term not in STOP]
    return telling or wanted


def _pairs(word: str) -> list[str]:
    found: list[str] = []
    for run in _CJK.finditer(word):
        text = run.group()
        if len(text) == 1:
            found.append(text)
        found += [text[i : i + 2] for i in range(len(text) - 1)]
    rest = _CJK.sub(" ", word).split()
    return found + [part.lower()[:MAX_TERM] for part in rest]
