"""Dialects are found by the names the wire uses."""

from __future__ import annotations

import pytest

from ctxd.dialects.registry import NAMES, get
from ctxd.model.errors import UnknownDialect


def test_every_name_is_served_under_itself() -> None:
    assert NAMES == ("anthropic", "openai-chat", "openai-responses", "gemini")
    assert [get(name).name for name in NAMES] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_dialect_says_what_a_request_may_weigh(name: str) -> None:
    assert 20_000_000 <= get(name).max_request_bytes <= 50_000_000


def test_another_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownDialect) as caught:
        get("morse")
    assert caught.value.kind == "unknownDialect"
    assert caught.value.facts == {"dialects": list(NAMES)}
    assert "anthropic" in (caught.value.hint or "")
