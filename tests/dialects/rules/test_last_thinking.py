"""An assistant turn does not end in thinking."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A(think,t)| U|", []),
    ("anthropic", "|U| A(think) A(1)| U(1)|", []),
    ("anthropic", "|U| A(think) A() A(1)| U(1)|", []),
    ("anthropic", "|U| A(t,think)| U|", [(1, "remove")]),
    ("anthropic", "|U| A(t)| A(think,musing)| U|", [(2, "remove"), (2, "remove")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_last_thinking_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "lastThinking", text, broken)
