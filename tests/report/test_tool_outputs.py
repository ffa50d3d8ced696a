"""The stored form as the protocol defines it, found in both dialects."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.report.tool_outputs import find_results, store_form

TEXT = {"type": "text", "text": "a"}
IMAGE = {"type": "image", "source": {"data": "x"}}


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ("plain é", "plain é".encode()),
        ("", b""),
        (None, b""),
        ([TEXT, {**TEXT, "text": "b", "cache_control": {}}], b"a\nb"),
        ([TEXT, IMAGE], b'[{"type":"text","text":"a"},{"type":"image","source":{"data":"x"}}]'),
        ("lone \ud800", b"lone \xed\xa0\x80"),
    ],
)
def test_the_stored_form_is_what_the_protocol_says(content: Any, stored: bytes) -> None:
    assert store_form(content) == stored


def test_results_are_found_in_both_dialects_in_order() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}, TEXT]},
        {"role": "user", "content": "words"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    assert list(find_results(messages)) == [("a", "1"), ("b", "2")]
