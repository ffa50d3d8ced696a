"""Where in a text the words of a query stand closest together. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from ctxd.core.terms import positions

REACH = 90
"""Characters within which two words that follow each other in a query count as following each other."""


class Spot(msgspec.Struct, frozen=True):
    """The best stretch of a text: its first and last character, and what it is worth."""

    start: int
    end: int
    score: float

    @property
    def center(self) -> int:
        return (self.start + self.end) // 2


def weigh_terms(rarity: Mapping[str, float]) -> dict[str, float]:
    """What finding a term is worth: much for a rare one, little for one that is everywhere."""
    return {term: math.log1p(value) for term, value in rarity.items()}


def closest(text: str, asked: Sequence[str], weights: Mapping[str, float], width: int) -> Spot:
    """The stretch of at most `width` characters with the most telling terms of `asked`, in query order best.

    Each term counts once, and once more by half where it follows its predecessor in the query, so that
    the words around a forgotten value find the value.
    """
    found = [(term, at) for term, at in positions(text) if term in weights]
    if not found:
        return Spot(0, 0, 0.0)
    follows = {pair: min(weights[pair[0]], weights[pair[1]]) / 2 for pair in _pairs(asked, weights)}
    behind = _links(found, follows)
    best = Spot(0, 0, -1.0)
    terms: dict[str, int] = {}
    links: dict[tuple[str, str], int] = {}
    score = 0.0
    first = 0
    for last, (term, at) in enumerate(found):
        terms[term] = terms.get(term, 0) + 1
        score += weights[term] if terms[term] == 1 else 0.0
        for pair, _ in behind[last]:
            links[pair] = links.get(pair, 0) + 1
            score += follows[pair] if links[pair] == 1 else 0.0
        while at - found[first][1] > width:
            gone = found[first][0]
            terms[gone] -= 1
            score -= weights[gone] if terms[gone] == 0 else 0.0
            for later in range(first + 1, last + 1):
                for pair, start in behind[later]:
                    if start == first:
                        links[pair] -= 1
                        score -= follows[pair] if links[pair] == 0 else 0.0
            first += 1
        if score > best.score + 1e-9:
            best = Spot(found[first][1], at + len(term), score)
    return best


def _pairs(asked: Sequence[str], weights: Mapping[str, float]) -> list[tuple[str, str]]:
    known = [term for term in asked if term in weights]
    return [(one, other) for one, other in pairwise(known) if one != other]


def _links(
    found: Sequence[tuple[str, int]], follows: Mapping[tuple[str, str], float]
) -> list[list[tuple[tuple[str, str], int]]]:
    """For every term found, the pairs it completes and where each began."""
    behind: list[list[tuple[tuple[str, str], int]]] = []
    for last, (term, at) in enumerate(found):
        done = []
        for before in range(last - 1, max(-1, last - 6), -1):
            other, start = found[before]
            if at - start > REACH:
                break
            if (other, term) in follows:
                done.append(((other, term), before))
        behind.append(done)
    return behind
