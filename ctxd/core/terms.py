"""Words to search by, the same for what is indexed and for what is asked.

The index splits text into runs of letters and digits by itself (SQLite's unicode61). What that misses
is given beside the text: parts of words written together, words behind an escape, and overlapping
pairs of Chinese, Japanese and Korean characters, which no dictionary is needed for.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
_LATIN_IN_CJK = re.compile(f"(?<=[{_CJK}])[A-Za-z0-9]+|[A-Za-z0-9]+(?=[{_CJK}])")
_JOINED = re.compile(r"\b[A-Za-z]*(?:[a-z][A-Z]|[A-Z]{2}[a-z])[A-Za-z]*")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NUMBERED = re.compile(r"\b[A-Za-z]{3,}(?=\d+\b)")
_ESCAPED = re.compile(r"(?<=\\)[nrtbf]([A-Za-z0-9]{2,})")

_STOP_WORDS = """
the a an of to in is it and or for on with was what which where how that this be at by from as are
did do does i we you
"""

STOP = frozenset(_STOP_WORDS.split())
"""English words that say nothing of what is looked for; left out of queries, kept in what is indexed."""


def also(text: str) -> list[str]:
    """Terms of a text that its runs of letters and digits do not give; not lower-cased."""
    found: list[str] = []
    for joined in _JOINED.findall(text):
        found += [hump for hump in _HUMP.findall(joined) if len(hump) > 1]
    found += _NUMBERED.findall(text)
    if "\\" in text:
        found += _ESCAPED.findall(text)
    if not text.isascii():
        for run in _CJK_RUN.findall(text):
            found += [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]
        found += _LATIN_IN_CJK.findall(text)
    return found


def query_terms(text: str) -> list[str]:
    """Distinct lower-cased terms of a query, without words that say nothing, in the order they were asked."""
    wanted = [term for term, _ in positions(text)]
    distinct = list(dict.fromkeys([*wanted, *(term.lower() for term in also(text))]))
    return [term for term in distinct if term not in STOP] or distinct


def positions(text: str) -> list[tuple[str, int]]:
    """Lower-cased runs of letters and digits with the character each begins at; Chinese runs as pairs."""
    found: list[tuple[str, int]] = []
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if word.isascii() or not _CJK_RUN.search(word):
            found.append((word.lower(), start))
            continue
        for run in _CJK_RUN.finditer(word):
            size = run.end() - run.start()
            found += [
                (word[run.start() + i : run.start() + i + 2], start + run.start() + i)
                for i in range(max(1, size - 1))
            ]
        found += [(m.group().lower(), start + m.start()) for m in re.finditer(r"[A-Za-z0-9]+", word)]
    return sorted(found, key=lambda item: item[1]) if not text.isascii() else found
