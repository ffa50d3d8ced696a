"""Nothing empty is sent."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(1)| U(1)|", []),
    ("anthropic", "U(b)", [(0, "remove")]),
    ("anthropic", "U A(b,1) U(1)", [(1, "remove")]),
    ("anthropic", "U A() U", [(1, "remove")]),
    ("anthropic", "S(b) U(b,t,b)", [(0, "remove"), (1, "remove"), (1, "remove")]),
    ("openai-chat", "U A(1) R(1)", []),
    ("openai-chat", "U() A(b,1)", [(0, "remove"), (1, "remove")]),
    ("openai-chat", "U A(think)", [(1, "remove")]),
    ("openai-responses", "U A(think) A(1) R(1)", []),
    ("openai-responses", "U(b) A() A(b,t)", [(0, "remove"), (1, "remove"), (2, "remove")]),
    ("gemini", "U A(sig,t) U", []),
    ("gemini", "U() A(b,1) U(1)", [(0, "remove"), (1, "remove")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_content_present_names_what_is_broken_and_where_to_cut(
    dialect: str, text: str, broken: Broken
) -> None:
    check(dialect, "emptyContent", text, broken)
