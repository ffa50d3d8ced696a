"""Chat completions: every part is read, every wrong shape is named, edits touch nothing else."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ctxd.dialects.base import BadShape
from ctxd.dialects.openai_chat import OpenAIChat
from ctxd.model.blocks import Block, Media, Opaque, Reasoning, Text, ToolCall, ToolResult
from ctxd.model.messages import Usage
from tests.dialects.notation import PIXEL

DIALECT = OpenAIChat()
URL = f"data:image/png;base64,{PIXEL}"
TEXT: dict[str, Any] = {"type": "text", "text": "hello"}
IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": URL, "detail": "low"}}
SEEN = Media("image", len(URL), 1, 1, "low")
ODD: dict[str, Any] = {"type": "hologram", "rays": 3}
CALL: dict[str, Any] = {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a": 1}'}}
CALLED = ToolCall("c", "run", '{"a": 1}')

PARTS: list[tuple[dict[str, Any], Block]] = [
    (TEXT, Text("hello")),
    ({"type": "refusal", "refusal": "no"}, Text("no")),
    (IMAGE, SEEN),
    ({"type": "image_url", "image_url": {"url": "https://a/b.png"}}, Media("image", 15)),
    ({"type": "image_url", "image_url": "https://a/b.png"}, Media("image", 15)),
    ({"type": "video_url", "video_url": {"url": "https://a/b.mp4"}}, Media("other", 15)),
    ({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}, Media("audio", 8)),
    ({"type": "file", "file": {"file_data": "JVBERi0=", "filename": "a.pdf"}}, Media("document", 8)),
    ({"type": "file", "file": {"file_id": "file-1"}}, Media("document", 6)),
    (ODD, Opaque("hologram", '{"type":"hologram","rays":3}')),
]


@pytest.mark.parametrize(("native", "block"), PARTS)
def test_a_part_is_read(native: dict[str, Any], block: Block) -> None:
    assert DIALECT.view({"role": "user", "content": [native, TEXT]}).blocks == (block, Text("hello"))


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_a_string_is_one_text_block_in_every_role(role: str) -> None:
    view = DIALECT.view({"role": role, "content": "hi", "name": "x", "anything": 1})
    assert (view.role, view.blocks) == (role, (Text("hi"),))


ASSISTANT: list[tuple[dict[str, Any], tuple[Block, ...]]] = [
    (
        {"content": None, "tool_calls": [CALL, {**CALL, "id": "d"}]},
        (CALLED, ToolCall("d", "run", '{"a": 1}')),
    ),
    ({"tool_calls": [CALL]}, (CALLED,)),
    ({"content": "", "tool_calls": [CALL]}, (CALLED,)),
    ({"content": "hm", "tool_calls": [CALL]}, (Text("hm"), CALLED)),
    (
        {
            "content": None,
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        },
        (ToolCall("c", "sh", "ls"),),
    ),
    (
        {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
        (ToolCall("function_call:f", "f", "{}"),),
    ),
    ({"content": None, "refusal": "no"}, (Text("no"),)),
    ({"content": "hi", "refusal": None, "annotations": []}, (Text("hi"),)),
    ({"audio": {"id": "a1"}}, (Media("audio", 2),)),
    ({"content": None, "audio": {"id": "a1", "data": "UklGRg=="}}, (Media("audio", 8),)),
    ({"content": "hi", "reasoning_content": "hm"}, (Reasoning("hm"), Text("hi"))),
    ({"content": "hi", "reasoning": "hm"}, (Reasoning("hm"), Text("hi"))),
    (
        {
            "content": "hi",
            "reasoning": "hm",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "hm", "signature": "s"},
                {"type": "reasoning.summary", "summary": "sum"},
                {"type": "reasoning.encrypted", "data": "ZW5j"},
            ],
        },
        (Reasoning("hm", True), Reasoning("sum"), Reasoning("", True, 4), Text("hi")),
    ),
    ({"content": None}, ()),
    ({"content": ""}, (Text(""),)),
    ({"content": "x", "tool_calls": []}, (Text("x"), Opaque("tool_calls", "[]"))),
    ({"content": [], "tool_calls": [CALL]}, (Opaque("content", "[]"), CALLED)),
    ({"content": [], "tool_calls": None}, (Opaque("content", "[]"),)),
]


@pytest.mark.parametrize(("members", "blocks"), ASSISTANT)
def test_an_assistant_message_is_read(members: dict[str, Any], blocks: tuple[Block, ...]) -> None:
    assert DIALECT.view({"role": "assistant", **members}).blocks == blocks


RESULTS: list[tuple[dict[str, Any], ToolResult]] = [
    ({"role": "tool", "tool_call_id": "c", "content": "done", "name": "run"}, ToolResult("c", "done")),
    ({"role": "tool", "tool_call_id": "c", "content": ""}, ToolResult("c", "")),
    ({"role": "tool", "tool_call_id": "c", "content": [TEXT, TEXT]}, ToolResult("c", "hello\nhello")),
    (
        {"role": "tool", "tool_call_id": "c", "content": [TEXT, IMAGE]},
        ToolResult("c", "hello", media=(SEEN,)),
    ),
    (
        {"role": "tool", "tool_call_id": "c", "content": [ODD]},
        ToolResult("c", '[{"type":"hologram","rays":3}]'),
    ),
    (
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": ""}]},
        ToolResult("c", "", blanks=1),
    ),
    ({"role": "function", "name": "f", "content": "1"}, ToolResult("function_call:f", "1")),
    ({"role": "function", "name": "f", "content": None}, ToolResult("function_call:f", "")),
]


@pytest.mark.parametrize(("message", "result"), RESULTS)
def test_a_result_is_read(message: dict[str, Any], result: ToolResult) -> None:
    view = DIALECT.view(message)
    assert (view.role, view.blocks) == ("tool", (result,))


def assistant(**members: Any) -> dict[str, Any]:
    return {"role": "assistant", **members}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


BAD: list[tuple[Any, str]] = [
    ("hi", ""),
    ({"content": "x"}, "role"),
    ({"role": "robot", "content": "x"}, "role"),
    ({"role": "user"}, "content"),
    ({"role": "system", "content": None}, "content"),
    ({"role": "user", "content": 7}, "content"),
    ({"role": "assistant"}, "content"),
    ({"role": "tool", "content": "x"}, "tool_call_id"),
    ({"role": "tool", "tool_call_id": "", "content": "x"}, "tool_call_id"),
    ({"role": "tool", "tool_call_id": "c"}, "content"),
    ({"role": "tool", "tool_call_id": "c", "content": None}, "content"),
    ({"role": "tool", "tool_call_id": "c", "content": [1]}, "content.0"),
    ({"role": "function", "content": "x"}, "name"),
    (user("x"), "content.0"),
    (user(TEXT, {}), "content.1.type"),
    (user({"type": "text"}), "content.0.text"),
    (user({"type": "image_url"}), "content.0.image_url"),
    (user({"type": "image_url", "image_url": {}}), "content.0.image_url.url"),
    (user({"type": "input_audio", "input_audio": {}}), "content.0.input_audio.data"),
    (user({"type": "file", "file": {"file_id": 1}}), "content.0.file.file_id"),
    (assistant(tool_calls={}), "tool_calls"),
    (assistant(tool_calls=["x"]), "tool_calls.0"),
    (assistant(tool_calls=[{"function": {}}]), "tool_calls.0.id"),
    (assistant(tool_calls=[{"id": "c"}]), "tool_calls.0.function"),
    (assistant(tool_calls=[{"id": "c", "function": {"arguments": ""}}]), "tool_calls.0.function.name"),
    (
        assistant(tool_calls=[{"id": "c", "function": {"name": "f", "arguments": {}}}]),
        "tool_calls.0.function.arguments",
    ),
    (
        assistant(tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "f"}}]),
        "tool_calls.0.custom.input",
    ),
    (assistant(content=None, function_call={"name": "f"}), "function_call.arguments"),
    (assistant(content=None, refusal=5), "refusal"),
    (assistant(content=None, audio={}), "audio.id"),
    (assistant(content="x", reasoning_content=5), "reasoning_content"),
    (assistant(content="x", reasoning_details=["x"]), "reasoning_details.0"),
]


@pytest.mark.parametrize(("message", "path"), BAD, ids=[path for _, path in BAD])
def test_a_wrong_shape_is_named_by_its_path(message: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.view(message)
    assert caught.value.path == path


def test_system_is_a_list_of_system_and_developer_messages() -> None:
    system = [{"role": "system", "content": "be kind"}, {"role": "developer", "content": [TEXT, TEXT]}]
    assert DIALECT.check_system(system) == "be kind\nhello\nhello"
    assert DIALECT.check_system([]) == ""


@pytest.mark.parametrize(
    ("system", "path"),
    [
        ("be kind", ""),
        (["x"], "0"),
        ([{"role": "user", "content": "x"}], "0.role"),
        ([{"role": "system"}], "0.content"),
        ([{"role": "system", "content": [IMAGE]}], "0.content.0.type"),
    ],
)
def test_another_system_is_named_by_its_path(system: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_system(system)
    assert caught.value.path == path


def test_tools_are_given_back_as_compact_json() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "g"}}]
    assert DIALECT.check_tools(tools) == [
        '{"type":"function","function":{"name":"f"}}',
        '{"type":"custom","custom":{"name":"g"}}',
    ]


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        (1, "0"),
        ({}, "0.type"),
        ({"type": "function"}, "0.function"),
        ({"type": "function", "function": {}}, "0.function.name"),
    ],
)
def test_a_tool_without_a_name_is_named_by_its_path(tool: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_tools([tool])
    assert caught.value.path == path


USAGE: list[tuple[dict[str, Any], Usage | None]] = [
    ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}, Usage(5, 7, 12)),
    ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(5, cache_read=4)),
    ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": -4}}, Usage(5)),
    ({"prompt_tokens": 5, "prompt_tokens_details": None, "total_tokens": math.nan}, Usage(5)),
    ({"prompt_tokens": math.nan, "completion_tokens": 7, "total_tokens": 12}, Usage(5, 7, 12)),
    ({"prompt_tokens": math.nan, "completion_tokens": math.nan, "total_tokens": 900}, Usage(900, 0, 900)),
    ({"prompt_tokens": True}, None),
    ({"completion_tokens": 7}, None),
    ({}, None),
]


@pytest.mark.parametrize(("reported", "usage"), USAGE)
def test_usage_is_read_or_is_none(reported: dict[str, Any], usage: Usage | None) -> None:
    assert DIALECT.usage(reported) == usage


def test_a_result_is_replaced_and_everything_else_stays() -> None:
    message = {"role": "tool", "content": [TEXT, IMAGE], "tool_call_id": "c", "name": "run", "extra": None}
    edited = DIALECT.with_results(message, {"c": "gone"})
    assert edited == {**message, "content": "gone"}
    assert list(edited) == list(message)
    assert message["content"] == [TEXT, IMAGE]
    assert DIALECT.with_results(message, {"d": "gone"}) == message


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (
            assistant(content="long", tool_calls=[CALL]),
            "short",
            assistant(content="short", tool_calls=[CALL]),
        ),
        (assistant(tool_calls=[CALL]), "short", assistant(tool_calls=[CALL], content="short")),
        (
            assistant(content=None, refusal="no", audio={"id": "a"}, extra=1),
            "short",
            assistant(content="short", refusal=None, extra=1),
        ),
        (
            user(IMAGE, {**TEXT, "extra": 1}, ODD, TEXT),
            "short",
            user({"type": "text", "text": "short", "extra": 1}, ODD),
        ),
        (user(IMAGE, ODD), "short", user({"type": "text", "text": "short"}, ODD)),
        (user(TEXT, ODD), "", user(ODD)),
        (user(TEXT), "", {"role": "user", "content": ""}),
        (
            {"role": "tool", "tool_call_id": "c", "content": "r"},
            "short",
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ),
    ],
)
def test_all_text_is_replaced_by_one_text(before: dict[str, Any], text: str, after: dict[str, Any]) -> None:
    assert DIALECT.with_text(before, text) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            user(TEXT, IMAGE, ODD, IMAGE),
            user(TEXT, {"type": "text", "text": "-"}, ODD, {"type": "text", "text": "-"}),
        ),
        (assistant(content=None, audio={"id": "a"}), assistant(content="-")),
        (assistant(content="said", audio={"id": "a"}), assistant(content="said")),
        (
            {"role": "tool", "tool_call_id": "c", "content": [IMAGE]},
            {"role": "tool", "tool_call_id": "c", "content": [IMAGE]},
        ),
    ],
)
def test_media_outside_results_become_a_note(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert DIALECT.without_media(before, "-") == after


def test_a_made_message_is_read_back() -> None:
    view = DIALECT.view(DIALECT.make("user", "hi"))
    assert (view.role, view.text) == ("user", "hi")
