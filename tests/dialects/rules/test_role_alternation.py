"""User and model take turns."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("gemini", "|U| A(1)| U(1)| A|", []),
    ("gemini", "U U A", [(1, "merge")]),
    ("gemini", "U A(1,2) U(1) U(2) A A", [(3, "merge"), (5, "merge")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_role_alternation_names_what_is_broken_and_where_to_cut(
    dialect: str, text: str, broken: Broken
) -> None:
    check(dialect, "roleAlternation", text, broken)
