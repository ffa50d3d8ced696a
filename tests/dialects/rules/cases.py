"""How every law is tried: lists in notation, what is broken in them, where they may be cut."""

from __future__ import annotations

from ctxd.dialects.base import Dialect, Rule
from ctxd.dialects.registry import get
from tests.dialects.notation import bars, read

Broken = list[tuple[int, str]]
"""(message index, mend) of every violation expected."""


def rule_of(dialect: str, name: str) -> Rule:
    """The law of that name, as the dialect has it."""
    return next(rule for rule in get(dialect).rules if rule.name == name)


def check(dialect: str, name: str, text: str, broken: Broken) -> None:
    """The law finds exactly what is expected, and offers exactly the bars of the notation."""
    codec: Dialect = get(dialect)
    rule = rule_of(dialect, name)
    views = [codec.view(message) for message in read(text, dialect)]
    found = rule.violations(views)
    assert [(v.index, v.mend) for v in found] == broken
    assert {v.rule for v in found} <= {name}
    if "|" in text:
        assert rule.cut_points(views) == bars(text)
