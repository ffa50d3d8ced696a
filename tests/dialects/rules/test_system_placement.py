"""A system message ends a user turn."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U S| A| U|", []),
    ("anthropic", "|U| A(1)| U(1) S|", []),
    ("anthropic", "|U| A(t,odd) S| A|", []),
    ("anthropic", "|S| U| A|", [(0, "merge")]),
    ("anthropic", "|U S| U| A|", [(1, "merge")]),
    ("anthropic", "|U S S| A|", [(1, "merge"), (2, "merge")]),
    ("anthropic", "|U| A S| A|", [(2, "remove")]),
    ("anthropic", "|S|", [(0, "remove")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_system_placement_names_what_is_broken_and_where_to_cut(
    dialect: str, text: str, broken: Broken
) -> None:
    check(dialect, "systemPlacement", text, broken)
