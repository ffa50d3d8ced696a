"""The newest tool loop is cut only where thinking opens its rest."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(think,1)  U(1)  A(2)| U(2)|", []),
    ("anthropic", "|U| A(think,1)  U(1) |A(think,2)| U(2)| A|", []),
    ("anthropic", "|U| A(1)| U(1)| A(2)| U(2)|", []),
    ("anthropic", "|U| A(think,1)| U(1)| A(2)| U(2)| U|", []),
    ("anthropic", "|U| A(think,1)| U(1,x)| A(2)| U(2)|", []),
    ("anthropic", "|A(think,1) U(1) A(2)|", []),
    ("openai-chat", "|U| A(think,1)  R(1)  A(2)|  R(2)|", []),
    ("openai-responses", "|U| A(think)  A(1)  R(1) |A(think)  A(2)| R(2)|", []),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_tool_loop_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "toolLoop", text, broken)
