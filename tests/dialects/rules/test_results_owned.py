"""A result answers a call of the turn it follows, or is refused."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(1)| U(1)| A|", []),
    ("anthropic", "U U(9) A", [(1, "refuse")]),
    ("anthropic", "U(1) A(1) U(1)", [(0, "refuse")]),
    ("anthropic", "U A(1) U(1,2)", [(2, "refuse")]),
    ("anthropic", "U A(1) U(x) U(1)", []),
    ("anthropic", "U A(1) U(x) A U(1)", [(4, "refuse")]),
    ("anthropic", "U A(1) U(1) A U(1!)", []),
    ("openai-chat", "U A(1) R(1)", []),
    ("openai-chat", "U R(1) A", [(1, "refuse")]),
    ("openai-chat", "U A(1) U R(1)", []),
    ("openai-chat", "U A(1) A R(1)", [(3, "refuse")]),
    ("openai-responses", "U R(1) A", [(1, "refuse")]),
    ("openai-responses", "U A(1) U R(1)", []),
    ("openai-responses", "U A(1) R(1) A R(1!)", []),
    ("openai-responses", "U A(1) A(2) R(1) A R(2)", [(5, "refuse")]),
    ("gemini", "U A(1) U(1,9)", [(2, "refuse")]),
    ("gemini", "U A(1) U A U(1)", [(4, "refuse")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_results_owned_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "orphanResult", text, broken)
