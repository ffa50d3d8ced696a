"""The Messages API: every block is read, every wrong shape is named, edits touch nothing else."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ctxd.dialects.anthropic import Anthropic
from ctxd.dialects.base import BadShape
from ctxd.model.blocks import Block, Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from ctxd.model.messages import Usage
from tests.dialects.notation import PIXEL

DIALECT = Anthropic()
IMAGE: dict[str, Any] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
}
SEEN = Media("image", len(PIXEL), 1, 1)
TEXT: dict[str, Any] = {"type": "text", "text": "hello"}
ODD: dict[str, Any] = {"type": "hologram", "rays": [1, None]}


def result(content: Any, **members: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content, **members}


def document(source: dict[str, Any]) -> dict[str, Any]:
    return {"type": "document", "source": source, "title": "notes"}


READ: list[tuple[dict[str, Any], Block]] = [
    (TEXT, Text("hello")),
    ({**TEXT, "citations": [], "cache_control": {"type": "ephemeral"}}, Text("hello")),
    (IMAGE, SEEN),
    ({"type": "image", "source": {"type": "url", "url": "https://a/é.png"}}, Media("image", 16)),
    ({"type": "image", "source": {"type": "file", "file_id": "file_1"}}, Media("image", 6)),
    ({"type": "image", "source": {"type": "beam", "to": 1}}, Media("image", 22)),
    (document({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}), Media("document", 8)),
    (document({"type": "text", "media_type": "text/plain", "data": "plain"}), Text("plain")),
    (document({"type": "content", "content": "plain"}), Text("plain")),
    (document({"type": "content", "content": [TEXT, TEXT]}), Text("hello\nhello")),
    (document({"type": "content", "content": [TEXT, IMAGE]}), Media("document", 5 + len(PIXEL))),
    (
        {"type": "tool_use", "id": "t", "name": "run", "input": {"a": [1, "é"]}},
        ToolCall("t", "run", '{"a":[1,"é"]}'),
    ),
    ({"type": "tool_use", "id": "t", "name": "run", "input": {}}, ToolCall("t", "run", "{}")),
    (result("done"), ToolResult("t", "done")),
    (result("", is_error=True), ToolResult("t", "", True)),
    ({"type": "tool_result", "tool_use_id": "t"}, ToolResult("t", "")),
    (result(None), ToolResult("t", "")),
    (result([]), ToolResult("t", "")),
    (result([TEXT, {"type": "text", "text": ""}, TEXT]), ToolResult("t", "hello\n\nhello", blanks=1)),
    (result([TEXT, IMAGE]), ToolResult("t", "hello", media=(SEEN,))),
    (result([IMAGE]), ToolResult("t", "", media=(SEEN,))),
    (
        result([TEXT, IMAGE, ODD]),
        ToolResult(
            "t", '[{"type":"text","text":"hello"},{"type":"hologram","rays":[1,null]}]', media=(SEEN,)
        ),
    ),
    ({"type": "thinking", "thinking": "hm", "signature": "c2ln"}, Reasoning("hm", True)),
    ({"type": "thinking", "thinking": "", "signature": "c2ln"}, Reasoning("", True, 4)),
    ({"type": "thinking", "thinking": "hm"}, Reasoning("hm")),
    ({"type": "redacted_thinking", "data": "ZW5j"}, Reasoning("", True, 4)),
    (ODD, Opaque("hologram", '{"type":"hologram","rays":[1,null]}')),
    (
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        Opaque("server_tool_use", '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}'),
    ),
]


@pytest.mark.parametrize(("native", "block"), READ)
def test_a_block_is_read(native: dict[str, Any], block: Block) -> None:
    view = DIALECT.view({"role": "user", "content": [native, TEXT]})
    assert view.blocks == (block, Text("hello"))


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_string_is_one_text_block_in_every_role(role: str) -> None:
    view = DIALECT.view({"role": role, "content": "hi", "anything": 1})
    assert (view.role, view.blocks) == (role, (Text("hi"),))


def test_lone_surrogates_and_huge_integers_are_read() -> None:
    call = {"type": "tool_use", "id": "t", "name": "run", "input": {"a": "\ud83d", "b": 2**70}}
    view = DIALECT.view({"role": "assistant", "content": [call]})
    assert view.calls[0].arguments == '{"a":"\ud83d","b":1180591620717411303424}'


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


BAD: list[tuple[Any, str]] = [
    ([], ""),
    ({"content": "x"}, "role"),
    ({"role": 1, "content": "x"}, "role"),
    ({"role": "tool", "content": "x"}, "role"),
    ({"role": "user"}, "content"),
    ({"role": "user", "content": None}, "content"),
    ({"role": "user", "content": {"type": "text"}}, "content"),
    ({"role": "user", "content": ["x"]}, "content.0"),
    ({"role": "user", "content": [TEXT, None]}, "content.1"),
    ({"role": "user", "content": [{"text": "x"}]}, "content.0.type"),
    ({"role": "user", "content": [{"type": ""}]}, "content.0.type"),
    ({"role": "user", "content": [{"type": ["text"], "text": "x"}]}, "content.0.type"),
    ({"role": "user", "content": [TEXT, {"type": "text"}]}, "content.1.text"),
    ({"role": "user", "content": [{"type": "text"}]}, "content.0.text"),
    ({"role": "user", "content": [{"type": "text", "text": 7}]}, "content.0.text"),
    ({"role": "user", "content": [{"type": "image"}]}, "content.0.source"),
    ({"role": "user", "content": [{"type": "image", "source": {}}]}, "content.0.source.type"),
    ({"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}, "content.0.source.data"),
    ({"role": "user", "content": [document({"type": "text", "data": None})]}, "content.0.source.data"),
    ({"role": "user", "content": [{"type": "tool_result", "content": "x"}]}, "content.0.tool_use_id"),
    ({"role": "user", "content": [result(5)]}, "content.0.content"),
    ({"role": "user", "content": [result(["x"])]}, "content.0.content.0"),
    ({"role": "user", "content": [result("x", is_error="yes")]}, "content.0.is_error"),
    ({"role": "assistant", "content": [{"type": "tool_use", "name": "a", "input": {}}]}, "content.0.id"),
    ({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}, "content.0.name"),
    (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "", "name": "a", "input": {}}]},
        "content.0.id",
    ),
    ({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "a"}]}, "content.0.input"),
    (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "a", "input": "{}"}]},
        "content.0.input",
    ),
    (
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "a", "input": {"x": nested(100_000)}}],
        },
        "content.0.input",
    ),
    ({"role": "assistant", "content": [{"type": "thinking", "signature": "s"}]}, "content.0.thinking"),
    (
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": 1}]},
        "content.0.signature",
    ),
    ({"role": "assistant", "content": [{"type": "redacted_thinking"}]}, "content.0.data"),
]


@pytest.mark.parametrize(("message", "path"), BAD, ids=[path for _, path in BAD])
def test_a_wrong_shape_is_named_by_its_path(message: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.view(message)
    assert caught.value.path == path


def test_a_system_prompt_is_a_string_or_text_blocks() -> None:
    assert DIALECT.check_system("be kind") == "be kind"
    assert DIALECT.check_system([{**TEXT, "cache_control": {"type": "ephemeral"}}, TEXT]) == "hello\nhello"
    assert DIALECT.check_system([]) == ""


@pytest.mark.parametrize(
    ("system", "path"),
    [(None, ""), ({}, ""), ([TEXT, IMAGE], "1.type"), (["x"], "0"), ([{"type": "text"}], "0.text")],
)
def test_another_system_prompt_is_named_by_its_path(system: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_system(system)
    assert caught.value.path == path


def test_tools_are_given_back_as_compact_json() -> None:
    tools = [
        {"name": "run", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"type": "mcp_toolset", "mcp_server_name": "files"},
    ]
    assert DIALECT.check_tools(tools) == [
        '{"name":"run","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}',
        '{"type":"mcp_toolset","mcp_server_name":"files"}',
    ]


@pytest.mark.parametrize(
    ("tool", "path"), [("run", "1"), ({}, "1.name"), ({"name": 1, "type": "x"}, "1.name")]
)
def test_a_tool_without_a_name_is_named_by_its_path(tool: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_tools([{"name": "ok"}, tool])
    assert caught.value.path == path


USAGE: list[tuple[dict[str, Any], Usage | None]] = [
    ({"input_tokens": 5, "output_tokens": 7}, Usage(5, 7)),
    (
        {
            "input_tokens": 5,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300,
            "output_tokens": 1,
        },
        Usage(325, 1, cache_read=300, cache_write=20),
    ),
    ({"input_tokens": 5, "cache_read_input_tokens": None}, Usage(5)),
    ({"input_tokens": 5, "output_tokens": -1}, Usage(5)),
    ({"input_tokens": 5, "cache_read_input_tokens": math.nan}, None),
    ({"input_tokens": math.nan, "output_tokens": 3}, None),
    ({"input_tokens": True}, None),
    ({"input_tokens": 5.0}, None),
    ({"input_tokens": 2**53}, None),
    ({"output_tokens": 3}, None),
    ({}, None),
]


@pytest.mark.parametrize(("reported", "usage"), USAGE)
def test_usage_is_read_or_is_none(reported: dict[str, Any], usage: Usage | None) -> None:
    assert DIALECT.usage(reported) == usage


def test_a_result_is_replaced_and_everything_else_stays() -> None:
    marked = result([TEXT, IMAGE], is_error=True, cache_control={"type": "ephemeral"}, extra=None)
    other = {"type": "tool_result", "tool_use_id": "u", "content": "kept"}
    message = {"role": "user", "content": [other, marked, TEXT, ODD], "extra": {"a": None}}
    edited = DIALECT.with_results(message, {"t": "gone"})
    assert edited == {**message, "content": [other, {**marked, "content": "gone"}, TEXT, ODD]}
    assert list(edited["content"][1]) == list(marked)
    assert message["content"] == [other, marked, TEXT, ODD]
    assert marked["content"] == [TEXT, IMAGE]


def test_a_result_without_content_gets_one_and_a_string_message_stays() -> None:
    bare = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}
    assert DIALECT.with_results(bare, {"t": "gone"})["content"][0]["content"] == "gone"
    assert DIALECT.with_results({"role": "user", "content": "hi"}, {"t": "gone"}) == {
        "role": "user",
        "content": "hi",
    }


THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "s"}
CALL: dict[str, Any] = {"type": "tool_use", "id": "c", "name": "run", "input": {}}
SHORT: dict[str, Any] = {"type": "text", "text": "short"}


@pytest.mark.parametrize(
    ("content", "text", "after"),
    [
        ("long", "short", "short"),
        ([THOUGHT, TEXT, CALL, TEXT], "short", [THOUGHT, SHORT, CALL]),
        ([{**TEXT, "cache_control": {}, "citations": [1]}], "short", [{**SHORT, "cache_control": {}}]),
        ([result("r"), IMAGE, ODD], "short", [result("r"), ODD, SHORT]),
        ([THOUGHT, CALL], "short", [THOUGHT, SHORT, CALL]),
        ([document({"type": "text", "data": "x"}), TEXT], "short", [SHORT]),
        ([TEXT, CALL], " ", [CALL]),
    ],
)
def test_all_text_is_replaced_by_one_text(content: Any, text: str, after: Any) -> None:
    message = {"role": "assistant", "content": content, "extra": 1}
    assert DIALECT.with_text(message, text) == {"role": "assistant", "content": after, "extra": 1}


def test_media_outside_results_become_a_note() -> None:
    inside = result([IMAGE])
    message = {"role": "user", "content": [inside, {**IMAGE, "cache_control": {"type": "ephemeral"}}, TEXT]}
    note = {"type": "text", "text": "[image]", "cache_control": {"type": "ephemeral"}}
    assert DIALECT.without_media(message, "[image]")["content"] == [inside, note, TEXT]
    assert DIALECT.without_media({"role": "user", "content": "hi"}, "-") == {"role": "user", "content": "hi"}


def test_a_made_message_is_read_back() -> None:
    view = DIALECT.view(DIALECT.make("assistant", "hi"))
    assert (view.role, view.text) == ("assistant", "hi")
