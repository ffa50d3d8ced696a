"""The first message is the user's."""

from __future__ import annotations

import pytest

from tests.dialects.rules.cases import Broken, check

CASES: list[tuple[str, str, Broken]] = [
    ("anthropic", "|U| A|", []),
    ("anthropic", "||", []),
    ("anthropic", "|A| U|", [(0, "synthesize")]),
    ("gemini", "|A(1)| U(1)|", [(0, "synthesize")]),
]


@pytest.mark.parametrize(("dialect", "text", "broken"), CASES)
def test_first_message_names_what_is_broken_and_where_to_cut(dialect: str, text: str, broken: Broken) -> None:
    check(dialect, "firstMessage", text, broken)
