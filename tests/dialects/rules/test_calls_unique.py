"""Call ids are unique: in a request of Anthropic, in a message of chat."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(1,2)| U(1,2)| A(3)|", []),
    ("anthropic", "U A(1,1) U(1)", [(1, "refuse")]),
    ("anthropic", "U A(1) U(1) A(1) U(1)", [(3, "refuse")]),
    ("openai-chat", "U A(1,1) R(1)", [(1, "refuse")]),
    ("openai-chat", "U A(1) R(1) A(1) R(1)", []),
    ("openai-responses", "|U| A(1)| A(2)| R(1)| R(2)|", []),
    ("openai-responses", "U A(1) A(1) R(1)", [(2, "refuse")]),
    ("openai-responses", "U A(1) R(1) A(1) R(1)", [(3, "refuse")]),
    ("gemini", "U A(1) U(1) A(1) U(1)", []),
    ("gemini", "U A(1,1) U(1)", [(1, "refuse")]),
    ("gemini", "U A(1) A(1) U(1)", [(2, "refuse")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_calls_unique_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "duplicateCall", text, broken)
