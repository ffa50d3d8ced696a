"""Reasoning goes with what it led to."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("openai-responses", "|U| A(think)  A| U|", []),
    ("openai-responses", "|U| A(think)  A(1)  A(2)| R(1)| R(2)|", []),
    ("openai-responses", "|U| A(think)  A(odd) |A(think)  A(t)  A(1)| R(1)|", []),
    ("openai-responses", "|U| A(think)  A(think)  A| U|", []),
    ("openai-responses", "|U| A| A(1)| R(1)|", []),
    ("openai-responses", "|U| A(think)|", [(1, "remove")]),
    ("openai-responses", "|U| A(1)| R(1)| A(think)| U| A|", [(3, "remove")]),
    ("openai-responses", "|U| A(think)  A(t)  A()| U|", []),
    ("openai-responses", "|U| A(think)  A()  A(think)| U|", [(1, "remove"), (3, "remove")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_reasoning_bound_names_what_is_broken_and_where_to_cut(
    dialect: str, text: str, broken: Broken
) -> None:
    check(dialect, "reasoningBound", text, broken)
