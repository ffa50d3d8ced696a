"""Which statements a newer one on the same subject replaced.

Two statements meet where they hold different values of one kind about one subject. What is the same
subject is told by shared concepts; words that only name a value's dimension (budget, deadline) do
not make two subjects one. Near-duplicates about different subjects both stay: where it is not
clear which statement an update means, nothing is replaced.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec

from ctxd.compaction.statements import Statement
from ctxd.compaction.values import GLOBAL, SCALAR
from ctxd.compaction.vocabulary import BOUNDED, DIMENSIONS, concepts_of, fold_case

MARGIN = 1.2
"""How many times better the best match of an update must be than the next other subject."""

SAME = 0.8
"""Share of concepts two statements have in common to be one template."""


_Subject: TypeAlias = tuple[str, bool, frozenset[str]]


_MEASURES = frozenset({"number", "money", "duration", "size", "percent"})
"""Kinds that a bare number may give anew: the unit was said before."""


class Said(msgspec.Struct, frozen=True):
    """A statement where it was said: `place` grows with time, `group` is its message."""

    place: int
    group: int
    text: str
    statement: Statement


class Change(msgspec.Struct, frozen=True):
    """`old` no longer holds because of `new` (places). `kinds` are the kinds of values it gave anew.

    `bare`: the new statement says nothing of what it is about and needs the old one to be understood.
    """

    old: int
    new: int
    kinds: frozenset[str]
    bare: bool = False


def changes(said: Sequence[Said]) -> list[Change]:
    """Every statement that a newer one replaced, each once, with the newest that did."""
    ordered = sorted(said, key=lambda s: s.place)
    weights = _rarity(ordered)
    index = _Index()
    found: list[Change] = []
    for new in ordered:
        statement = new.statement
        made: list[Change] = []
        if not statement.asks:
            older = index.alike(new)
            made += _replaced(new, [o for o in older if o.group != new.group or statement.changes], weights)
            if not made and not statement.values and statement.replaces:
                made += _swapped(new, index.about(statement.about))
            if not made and not statement.forbids and statement.permits:
                made += _permitted(new, index.about(_revoked(new)))
            if statement.revokes or statement.instead:
                gone = {change.old for change in made}
                made += _ended(new, [o for o in index.about(_revoked(new)) if o.place not in gone], weights)
        for change in made:
            index.remove(change.old)
        found += made
        if (statement.binds and not statement.asks) or statement.values:
            index.add(new)
    return sorted(found, key=lambda c: c.old)


class _Index:
    """Statements that still hold, by what an update of them would share."""

    def __init__(self) -> None:
        self._by_kind: dict[str, dict[int, Said]] = {}
        self._by_concept: dict[str, dict[int, Said]] = {}
        self._all: dict[int, Said] = {}

    def add(self, said: Said) -> None:
        self._all[said.place] = said
        for kind in said.statement.found:
            self._by_kind.setdefault(kind, {})[said.place] = said
        for concept in self._content(said):
            self._by_concept.setdefault(concept, {})[said.place] = said

    def remove(self, place: int) -> None:
        said = self._all.pop(place)
        for kind in said.statement.found:
            del self._by_kind[kind][place]
        for concept in self._content(said):
            del self._by_concept[concept][place]

    def alike(self, new: Said) -> list[Said]:
        """Statements with values of the same kinds that share a concept, where either has concepts."""
        kinds = new.statement.found.keys()
        if not kinds:
            return []
        if not new.statement.about:
            units = _MEASURES if kinds == {"number"} else kinds
            held = {place: said for kind in units for place, said in self._by_kind.get(kind, {}).items()}
            return [held[place] for place in sorted(held)]
        near = {
            place: said
            for concept in new.statement.about
            for place, said in self._by_concept.get(concept, {}).items()
            if not kinds.isdisjoint(said.statement.found)
        }
        if new.statement.changes:
            near |= {
                place: said
                for kind in kinds
                for place, said in self._by_kind.get(kind, {}).items()
                if not said.statement.about or not said.statement.about - dimensions(frozenset({kind}))
            }
        return [near[place] for place in sorted(near)]

    def about(self, concepts: frozenset[str]) -> list[Said]:
        """Statements that share one of these concepts or values."""
        near = {place: said for c in concepts for place, said in self._by_concept.get(c, {}).items()}
        return [near[place] for place in sorted(near)]

    @staticmethod
    def _content(said: Said) -> frozenset[str]:
        return said.statement.about | {v.key for v in said.statement.values}


def _replaced(new: Said, older: Sequence[Said], weights: dict[str, float]) -> list[Change]:
    """What gave other values of the same kinds about the same subject."""
    scored: list[tuple[float, Said, frozenset[str]]] = []
    bare = not new.statement.about and new.statement.replaces
    for old in older:
        if not new.statement.changes and not _may_match(old.statement, new.statement):
            continue
        kinds = _differing(old.statement, new.statement)
        if not kinds or not _may_replace(old, new.statement, kinds):
            continue
        if bare:
            if kinds <= SCALAR:
                scored.append((float(old.place), old, kinds))
        elif _is_template(old.statement, new.statement, kinds) or _contradicts(
            old.statement, new.statement, kinds
        ):
            scored.append((math.inf, old, kinds))
        elif new.statement.changes:
            score = _closeness(old.statement, new.statement, kinds, weights)
            if score > 0:
                scored.append((score, old, kinds))
    if not scored:
        return []
    scored.sort(key=lambda s: (-s[0], -s[1].place))
    best, first, _ = scored[0]
    if bare:
        return [Change(first.place, new.place, scored[0][2], bare=True)]
    rivals = [s for s in scored if s[0] != math.inf and not _one_subject(s[1].statement, first.statement)]
    if best != math.inf and rivals and best < MARGIN * rivals[0][0]:
        return []
    return [
        Change(old.place, new.place, kinds)
        for score, old, kinds in scored
        if score == math.inf or (best != math.inf and _one_subject(old.statement, first.statement))
    ]


def _may_match(old: Statement, new: Statement) -> bool:
    """False where without a word of change neither rule below applies; cheap to ask."""
    return len(old.about ^ new.about) <= 2 or not GLOBAL.isdisjoint(new.found)


def _may_replace(old: Said, new: Statement, kinds: frozenset[str]) -> bool:
    """A rule is not undone by an errand, nor a prohibition by doing the like of it elsewhere."""
    rule = old.statement
    if rule.strict and new.errand:
        return False
    if rule.forbids and not new.forbids:
        capped = not kinds <= SCALAR or BOUNDED.search(fold_case(old.text)) is not None
        return capped and 2 * len(rule.about & new.about) >= len(rule.about) > 0
    return True


def _differing(old: Statement, new: Statement) -> frozenset[str]:
    """Kinds of which both hold values and have none in common."""
    kinds = old.found.keys() & new.found.keys()
    if not kinds and not new.about and new.found.keys() == {"number"}:
        # "make that 12": the unit was said before.
        return frozenset(old.found.keys() & _MEASURES)
    return frozenset([kind for kind in kinds if old.found[kind].isdisjoint(new.found[kind])])


def _is_template(old: Statement, new: Statement, kinds: frozenset[str]) -> bool:
    """The same sentence with one other value, of a kind that one thing has one of."""
    if old.forbids != new.forbids or not old.about or len(kinds) != 1:
        return False
    shared = len(old.about & new.about) / len(old.about | new.about)
    if shared < SAME or (old.about ^ new.about) - dimensions(kinds):
        return False
    (kind,) = kinds
    if kind == "label":
        return False
    if len(old.keys(kind)) != 1 or len(new.keys(kind)) != 1:
        return False
    others = {*old.found, *new.found} - {kind}
    if any(old.keys(other) != new.keys(other) for other in others):
        return False
    return (kind in SCALAR and not old.forbids) or (_defines(old) and _defines(new))


def _defines(statement: Statement) -> bool:
    """It gives a name or a place to something instead of asking for an action with it."""
    return not statement.forbids and statement.weight <= 7 and len(statement.values) <= 2


def _contradicts(old: Statement, new: Statement, kinds: frozenset[str]) -> bool:
    """Another value of a kind that a session has one of, against a rule for every case."""
    if not kinds & GLOBAL or not old.about & new.about:
        return False
    first, second = _subject(old, kinds), _subject(new, kinds)
    return first == second or (old.universal and first <= second)


def _closeness(old: Statement, new: Statement, kinds: frozenset[str], weights: dict[str, float]) -> float:
    """How surely an update means an older statement; 0 when they are about different things."""
    shared = old.about & new.about
    first, second = _subject(old, kinds), _subject(new, kinds)
    common = first & second
    if not common and first and second:
        return 0.0
    if not shared and (first or second):
        return 0.0
    total = sum(weights.get(c, 1.0) for c in common) + 0.3 * sum(weights.get(c, 1.0) for c in shared - common)
    size = math.sqrt(sum(weights.get(c, 1.0) for c in old.about) or 1.0)
    return max(total, 0.05) / size


def _one_subject(one: Statement, other: Statement) -> bool:
    """Two older statements are about one thing: an update of either replaces both."""
    kinds = frozenset(one.found.keys() & other.found.keys())
    return bool(kinds) and _subject(one, kinds) == _subject(other, kinds)


def _subject(statement: Statement, kinds: frozenset[str]) -> frozenset[str]:
    return statement.about - dimensions(kinds)


@lru_cache(maxsize=1024)
def dimensions(kinds: frozenset[str]) -> frozenset[str]:
    """Concepts that only name what values of these kinds measure."""
    return frozenset(concept for kind in kinds for concept in DIMENSIONS.get(kind, ()))


def _revoked(new: Said) -> frozenset[str]:
    """What a statement says no longer holds: the thing it names as replaced, else all it is about."""
    gone = new.statement.instead
    if not gone:
        return new.statement.about | {v.key for v in new.statement.values}
    keys = {v.key for v in new.statement.values if v.key in gone}
    return concepts_of(gone) | keys


def _ended(new: Said, older: Sequence[Said], weights: dict[str, float]) -> list[Change]:
    """Positive statements that say little beyond what was revoked; the closest one only."""
    gone = _revoked(new)
    named = bool(new.statement.instead)
    if not gone or (named and not (new.statement.changes or new.statement.binds)):
        return []
    scored: list[tuple[float, Said]] = []
    for old in older:
        if old.group == new.group or old.text == new.text or (named and old.statement.forbids):
            continue
        keys = {v.key for v in old.statement.values}
        content = old.statement.about | keys
        covered = content & (gone | new.statement.about)
        if not named and not keys <= gone:
            continue
        share = sum(weights.get(c, 1.0) for c in covered) / (sum(weights.get(c, 1.0) for c in content) or 1.0)
        if content & gone and (share >= 0.6 or (named and 2 * len(covered) >= len(content))):
            scored.append((share, old))
    scored.sort(key=lambda s: (-s[0], -s[1].place))
    if not scored or (
        len(scored) > 1 and scored[0][0] == scored[1][0] and scored[0][1].text != scored[1][1].text
    ):
        return []
    return [Change(scored[0][1].place, new.place, frozenset())]


def _permitted(new: Said, older: Sequence[Said]) -> list[Change]:
    """The prohibition that a permission lifts: it shares most of its words and all of its values."""
    content = new.statement.about | {v.key for v in new.statement.values}
    for old in sorted(older, key=lambda o: -o.place):
        keys = {v.key for v in old.statement.values}
        was = old.statement.about | keys
        shared = len(was & content)
        lifted = old.statement.forbids and old.group != new.group and keys <= content
        if lifted and shared > 1 and 2 * shared >= len(was):
            return [Change(old.place, new.place, frozenset())]
    return []


def _swapped(new: Said, older: Sequence[Said]) -> list[Change]:
    """The newest statement that differs in one word, where outright another takes its place."""
    for old in sorted(older, key=lambda o: -o.place):
        one, other = old.statement.about, new.statement.about
        if (
            len(one & other) >= 2
            and len(one - other) == len(other - one) == 1
            and old.group != new.group
            and not old.statement.values
            and old.statement.binds
            and old.statement.forbids == new.statement.forbids
        ):
            return [Change(old.place, new.place, frozenset())]
    return []


def _rarity(said: Sequence[Said]) -> dict[str, float]:
    """Weight of each concept: rare ones tell subjects apart."""
    often = Counter(concept for one in said for concept in one.statement.about)
    return {concept: 1.0 + math.log(len(said) / n) for concept, n in often.items()}
