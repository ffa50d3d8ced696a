"""Results stand directly behind their calls; what a person said meanwhile comes after."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(1)| U(1,x)| U(y)|", []),
    ("anthropic", "U A(1) U(x,1)", [(2, "merge")]),
    ("anthropic", "U A(1,2) U(1,x) U(2)", [(3, "merge")]),
    ("anthropic", "U A(1) U(img) U(1)", [(3, "merge")]),
    ("anthropic", "U A(1) U(1) U(x,1!)", []),
    ("anthropic", "U A(1) U() U(1)", []),
    ("openai-chat", "U A(1) R(1) U", []),
    ("openai-chat", "U A(1,2) R(1) S R(2)", [(4, "merge")]),
    ("openai-responses", "U A(1) A(2) R(1) U R(2)", [(5, "merge")]),
    ("openai-responses", "U A(1) A(2) R(2) R(1) U", []),
    ("gemini", "U A(1,2) U(2,1,t)", []),
    ("gemini", "U A(1,2) U(2,t,1)", [(2, "merge")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_results_first_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "resultOrder", text, broken)
