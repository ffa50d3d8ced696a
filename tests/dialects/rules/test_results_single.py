"""A second result is left out when it repeats the first, and refused when it differs."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(1)| U(1)|", []),
    ("anthropic", "U A(1) U(1,1)", [(2, "remove")]),
    ("anthropic", "U A(1) U(1) U(1!)", [(3, "refuse")]),
    ("anthropic", "U A(1) U(1) A U(1!)", [(4, "refuse")]),
    ("openai-chat", "U A(1) R(1) R(1)", [(3, "remove")]),
    ("openai-chat", "U A(1) R(1) R(1!)", [(3, "refuse")]),
    ("openai-chat", "U A(1) R(1) A(1) R(1!)", []),
    ("openai-responses", "U A(1) R(1) R(1)", [(3, "remove")]),
    ("openai-responses", "U A(1) R(1) R(1!)", [(3, "refuse")]),
    ("gemini", "U A(1) U(1,1)", [(2, "remove")]),
    ("gemini", "U A(1) U(1,1!)", [(2, "refuse")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_results_single_names_what_is_broken_and_where_to_cut(
    dialect: str, text: str, broken: Broken
) -> None:
    check(dialect, "duplicateResult", text, broken)
