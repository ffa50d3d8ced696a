"""A block in a message of the wrong role is refused."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U(t,img)| A(think,t,1)| U(1)| S|", []),
    ("anthropic", "U A(1) S(img)", [(2, "refuse")]),
    ("anthropic", "U S(think)", [(1, "refuse")]),
    ("anthropic", "U(think) A", [(0, "refuse")]),
    ("gemini", "|U(t,img)| A(think,t,sig,1)| U(1)|", []),
    ("gemini", "U(think) A", [(0, "refuse")]),
    ("gemini", "U A(1) U(1,musing)", [(2, "refuse")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_block_roles_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "blockRole", text, broken)
