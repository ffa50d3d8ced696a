"""Every call is answered; a tool turn is one atom; what is pending is not broken."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(1) U(1) |A|", []),
    ("anthropic", "|U| A(1,2,3) U(1,2,3) |A|", []),
    ("anthropic", "|U| A(1,2) U(2) U(1) |U| A|", []),
    ("anthropic", "|U| A(1,2) U(2) U(x) U(1) |A|", []),
    ("anthropic", "|U| A(1)|", []),
    ("anthropic", "|U| A(1,2) U(1)|", []),
    ("anthropic", "|U| A(1)| U| A(2) U(2)|", [(1, "synthesize")]),
    ("anthropic", "|U| A(1,2) U(1,x)|", [(1, "synthesize")]),
    ("anthropic", "|U| A(1,2)| U(x)|", [(1, "synthesize"), (1, "synthesize")]),
    ("anthropic", "|U| A(1) A(2) U(1,2)|", []),
    ("anthropic", "|U| A| A(2) U(2)|", []),
    ("anthropic", "|U| A(1) U A U(1)|", []),
    ("anthropic", "||", []),
    ("anthropic", "U A(1,1) U A", [(1, "synthesize")]),
    ("anthropic", "U A(1) U()", []),
    ("openai-chat", "|S| U| A(1) R(1) |A|", []),
    ("openai-chat", "|U| A(1,2,3) R(1) R(2) R(3)|", []),
    ("openai-chat", "|U| A(1,2) R(2)|", []),
    ("openai-chat", "|U| A(1)| A(2) R(2)|", [(1, "synthesize")]),
    ("openai-chat", "|U| A(1,2) R(1)| U| A|", [(1, "synthesize")]),
    ("openai-chat", "|U| A(1) U R(1)|", []),
    ("openai-chat", "|U| A(1) R(1)| A(1) R(1)|", []),
    ("openai-responses", "|U| A(think)| A(1) R(1) |A|", []),
    ("openai-responses", "|U| A(think)| A(1) A(2) R(2) R(1)| A|", []),
    ("openai-responses", "|U| A(1) A(2) R(2)|", []),
    ("openai-responses", "|U| A(1)| U| A(2) R(2)|", [(1, "synthesize")]),
    ("openai-responses", "|U| A(1) A(2)  R(1)| A(3) R(3)|", [(2, "synthesize")]),
    ("gemini", "|U| A(1,2) U(2,1) |A|", []),
    ("gemini", "|U| A(1)| U| A(2) U(2)|", [(1, "synthesize")]),
    ("gemini", "|U| A(1) U(1)| A(1) U(1)|", []),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_calls_answered_names_what_is_broken_and_where_to_cut(
    dialect: str, text: str, broken: Broken
) -> None:
    check(dialect, "unansweredCall", text, broken)
