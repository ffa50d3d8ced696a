"""The stored form as the protocol defines it, found in every dialect."""

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
        ([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "x"}], b"a"),
        (
            [{"type": "input_text", "text": "a"}, {"type": "later"}],
            b'[{"type":"input_text","text":"a"},{"type":"later"}]',
        ),
        ({"output": "a\r\n"}, b"a\r\n"),
        ({"error": "no"}, b"no"),
        ({"output": "a", "more": 1}, b'{"output":"a","more":1}'),
        ({"output": {"x": 1}}, b'{"output":{"x":1}}'),
        ({}, b"{}"),
    ],
)
def test_the_stored_form_is_what_the_protocol_says(content: Any, stored: bytes) -> None:
    assert store_form(content) == stored


def test_results_are_found_in_every_dialect_in_order() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}, TEXT]},
        {"role": "user", "content": "words"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "3"},
        {
            "parts": [
                response("look", {"output": "4"}, "d"),
                {"text": "and"},
                response("look", {"output": "5"}),
            ]
        },
        {"parts": [response("look", {}), response("look", {"x": 6})]},
    ]
    assert list(find_results(messages)) == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d", {"output": "4"}),
        ("call:look", {"output": "5"}),
        ("call:look", {}),
        ("call:look#2", {"x": 6}),
    ]


def response(name: str, content: dict[str, Any], identity: str | None = None) -> dict[str, Any]:
    given = {"name": name, "response": content}
    return {"functionResponse": {"id": identity, **given} if identity else given}
