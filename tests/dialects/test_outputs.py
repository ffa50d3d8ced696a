"""Which strings of a message are what a tool said, in every dialect, and that nothing else is reached."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.dialects import registry
from ctxd.dialects.outputs import has_outputs, spots, with_strings
from tests.support import natives
from tests.support.behaviour import behaviour

Message = dict[str, Any]

OUTPUTS: list[tuple[str, Message, list[tuple[str, str]]]] = [
    ("anthropic", natives.answer("anthropic", "t1", "said"), [("t1", "said")]),
    (
        "anthropic",
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a person's words"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "cache_control": {"type": "ephemeral"},
                    "content": [
                        {"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
                        },
                        {"type": "text", "text": "two"},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "t2", "content": "three", "is_error": True},
            ],
        },
        [("t1", "one"), ("t1", "two"), ("t2", "three")],
    ),
    (
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {
                    "type": "mcp_tool_result",
                    "tool_use_id": "m1",
                    "content": [{"type": "text", "text": "remote"}],
                },
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "w1",
                    "content": [{"encrypted_content": "x"}],
                },
                {
                    "type": "code_execution_tool_result",
                    "tool_use_id": "c1",
                    "content": {"stdout": "out", "encrypted_stdout": "sealed", "stderr": "err"},
                },
            ],
        },
        [("m1", "remote"), ("c1", "out"), ("c1", "err")],
    ),
    ("openai-chat", natives.answer("openai-chat", "t1", "said"), [("t1", "said")]),
    (
        "openai-chat",
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "part"}]},
        [("t1", "part")],
    ),
    ("openai-chat", {"role": "function", "name": "f", "content": "old"}, [("function_call:f", "old")]),
    ("openai-responses", natives.answer("openai-responses", "t1", "said"), [("t1", "said")]),
    (
        "openai-responses",
        {
            "type": "function_call_output",
            "call_id": "t1",
            "output": [
                {"type": "input_text", "text": "part"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
            ],
        },
        [("t1", "part")],
    ),
    (
        "openai-responses",
        {"type": "shell_call_output", "call_id": "t1", "output": [{"stdout": "o", "stderr": "e"}]},
        [("t1", "o"), ("t1", "e")],
    ),
    (
        "openai-responses",
        {"type": "mcp_call", "id": "m1", "name": "x", "arguments": "{}", "output": "r"},
        [("m1", "r")],
    ),
    ("gemini", natives.answer("gemini", "t1", "said"), [("t1", "said")]),
    (
        "gemini",
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"password": "p", "deep": [{"note": "n"}]}}},
                {"function_response": {"name": "f", "response": {"error": "e"}}},
            ],
        },
        [("call:f", "p"), ("call:f", "n"), ("call:f#2", "e")],
    ),
    (
        "gemini",
        {"role": "model", "parts": [{"codeExecutionResult": {"outcome": "OK", "output": "o"}}]},
        [("", "o")],
    ),
]

NOT_OUTPUTS: list[tuple[str, Message]] = [
    *((d, m) for d in registry.NAMES for m in natives.calling(d, ["t1"])),
    *((d, natives.user(d, "words")) for d in registry.NAMES),
    *((d, natives.said(d, "words")) for d in registry.NAMES),
    (
        "gemini",
        {"role": "model", "parts": [{"codeExecutionResult": {"output": "o"}, "thoughtSignature": "c2ln"}]},
    ),
    ("openai-responses", {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "c2VhbA"}),
]


@pytest.mark.parametrize(("dialect", "message", "expected"), OUTPUTS)
def test_every_string_of_an_output_is_reached(
    dialect: str, message: Message, expected: list[tuple[str, str]]
) -> None:
    assert has_outputs(dialect, message)
    assert [(spot.call_id, spot.text) for spot in spots(dialect, message)] == expected


@behaviour("guard.untouched")
@pytest.mark.parametrize(("dialect", "message"), NOT_OUTPUTS)
def test_words_calls_reasoning_and_seals_are_out_of_reach(dialect: str, message: Message) -> None:
    assert not has_outputs(dialect, message)
    assert spots(dialect, message) == []


@pytest.mark.parametrize(("dialect", "message", "expected"), OUTPUTS)
def test_other_strings_stand_just_where_the_old_ones_stood(
    dialect: str, message: Message, expected: list[tuple[str, str]]
) -> None:
    before = copy.deepcopy(message)
    made = with_strings(message, [(spot, f"<{spot.text}>") for spot in spots(dialect, message)])
    assert [spot.text for spot in spots(dialect, made)] == [f"<{text}>" for _, text in expected]
    assert message == before
    back = with_strings(made, [(spot, spot.text[1:-1]) for spot in spots(dialect, made)])
    assert json.dumps(back) == json.dumps(before)


def test_long_member_names_of_a_free_object_are_reached_too() -> None:
    response = {"name": "f", "response": {"a-name-that-is-long": {"another-long-name": "v"}, "short": "w"}}
    message = {"role": "user", "parts": [{"functionResponse": response}]}
    found = spots("gemini", message)
    assert [(s.text, s.is_key) for s in found] == [
        ("a-name-that-is-long", True),
        ("another-long-name", True),
        ("v", False),
        ("w", False),
    ]
    made = with_strings(message, [(s, s.text.upper()) for s in found])
    assert made["parts"][0]["functionResponse"]["response"] == {
        "A-NAME-THAT-IS-LONG": {"ANOTHER-LONG-NAME": "V"},
        "short": "W",
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=12,
)
members = st.sampled_from(
    ["role", "type", "content", "parts", "output", "outputs", "functionResponse", "response", "text", "name"]
)
words = st.sampled_from(
    ["user", "tool", "tool_result", "function_call_output", "mcp_call", "assistant", "model"]
)


@given(
    st.sampled_from(registry.NAMES),
    st.dictionaries(
        members, json_values | words | st.lists(st.dictionaries(members, json_values | words)), max_size=5
    ),
)
def test_any_shape_is_read_without_complaint_and_put_together_again(dialect: str, message: Message) -> None:
    found = spots(dialect, message)
    assert json.dumps(with_strings(message, [(spot, spot.text) for spot in found])) == json.dumps(message)
