"""Responses items: every type is read, every wrong shape is named, edits touch nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.base import BadShape
from ctxd.dialects.openai_responses import PIXEL as SCREEN
from ctxd.dialects.openai_responses import OpenAIResponses
from ctxd.dialects.openai_responses_items import ENVELOPE_BYTES
from ctxd.model.blocks import Block, Media, Opaque, Reasoning, Role, Text, ToolCall, ToolResult
from ctxd.model.messages import Usage
from tests.dialects.notation import PIXEL

DIALECT = OpenAIResponses()
URL = f"data:image/png;base64,{PIXEL}"
TEXT: dict[str, Any] = {"type": "input_text", "text": "hello"}
SAID: dict[str, Any] = {"type": "output_text", "text": "hello", "annotations": [], "logprobs": [1]}
IMAGE: dict[str, Any] = {"type": "input_image", "image_url": URL, "detail": "low"}
SEEN = Media("image", len(URL), 1, 1, "low")
ODD: dict[str, Any] = {"type": "hologram", "rays": 3}
SEALED = "g" * 4000
SEALED_BYTES = 3000 - ENVELOPE_BYTES

PARTS: list[tuple[dict[str, Any], Block]] = [
    (TEXT, Text("hello")),
    (SAID, Text("hello")),
    ({"type": "refusal", "refusal": "no"}, Text("no")),
    (IMAGE, SEEN),
    ({"type": "input_image", "image_url": None, "file_id": "f1"}, Media("image", 2)),
    ({"type": "input_file", "file_data": "JVBERi0=", "filename": "a.pdf"}, Media("document", 8)),
    ({"type": "input_file", "file_id": "file-1"}, Media("document", 6)),
    ({"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}, Media("audio", 8)),
    (ODD, Opaque("hologram", '{"type":"hologram","rays":3}')),
]


@pytest.mark.parametrize(("native", "block"), PARTS)
def test_a_part_is_read(native: dict[str, Any], block: Block) -> None:
    assert DIALECT.view(user(native, TEXT)).blocks == (block, Text("hello"))


def user(*parts: Any, **members: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(parts), **members}


def call(**members: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}", **members}


def output(value: Any, **members: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c", "output": value, **members}


ITEMS: list[tuple[dict[str, Any], Role, tuple[Block, ...]]] = [
    ({"role": "user", "content": "hi"}, "user", (Text("hi"),)),
    ({"role": "developer", "content": "be kind"}, "developer", (Text("be kind"),)),
    ({"type": None, "role": "assistant", "content": [SAID], "id": "m"}, "assistant", (Text("hello"),)),
    (user(), "user", ()),
    (call(id="fc", namespace="n"), "assistant", (ToolCall("c", "run", "{}"),)),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"},
        "assistant",
        (ToolCall("c", "sh", "ls"),),
    ),
    (
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"command": ["ls"]}},
        "assistant",
        (ToolCall("c", "local_shell", '{"command":["ls"]}'),),
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        "assistant",
        (ToolCall("c", "shell", '{"commands":["ls"]}'),),
    ),
    (
        {"type": "apply_patch_call", "call_id": "c", "operation": {"path": "a"}},
        "assistant",
        (ToolCall("c", "apply_patch", '{"path":"a"}'),),
    ),
    (
        {"type": "computer_call", "id": "i", "call_id": "c", "action": {"type": "click"}},
        "assistant",
        (ToolCall("c", "computer", '{"type":"click"}'),),
    ),
    (
        {"type": "mcp_approval_request", "id": "a", "name": "f", "arguments": "{}", "server_label": "s"},
        "assistant",
        (ToolCall("a", "f", "{}"),),
    ),
    (output("done"), "tool", (ToolResult("c", "done"),)),
    (output([TEXT, TEXT]), "tool", (ToolResult("c", "hello\nhello"),)),
    (output([TEXT, IMAGE]), "tool", (ToolResult("c", "hello", media=(SEEN,)),)),
    (output([ODD, IMAGE]), "tool", (ToolResult("c", '[{"type":"hologram","rays":3}]', media=(SEEN,)),)),
    (output([{"type": "input_text", "text": " "}]), "tool", (ToolResult("c", " ", blanks=1),)),
    (output([]), "tool", (ToolResult("c", ""),)),
    (
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        "tool",
        (ToolResult("c", "ok"),),
    ),
    ({"type": "local_shell_call_output", "id": "c", "output": "ok"}, "tool", (ToolResult("c", "ok"),)),
    (
        {"type": "local_shell_call_output", "id": "x", "call_id": "c", "output": "ok"},
        "tool",
        (ToolResult("c", "ok"),),
    ),
    (
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": None},
        "tool",
        (ToolResult("c", "", True),),
    ),
    (
        {"type": "shell_call_output", "call_id": "c", "output": [{"outcome": {"exit_code": 2}}]},
        "tool",
        (ToolResult("c", '[{"outcome":{"exit_code":2}}]', True),),
    ),
    (
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": URL},
        },
        "tool",
        (ToolResult("c", "", media=(Media("image", len(URL), 1, 1),)),),
    ),
    (
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        "tool",
        (ToolResult("a", '{"approve":true,"reason":null}'),),
    ),
    (
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        "assistant",
        (Reasoning("hm", True, lapses=True),),
    ),
    (
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "content": None,
            "encrypted_content": SEALED,
        },
        "assistant",
        (Reasoning("hm", True, SEALED_BYTES - 2, lapses=True),),
    ),
    (
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "content": [{"type": "reasoning_text", "text": "a"}, {"type": "reasoning_text", "text": "b"}],
        },
        "assistant",
        (Reasoning("a\nb", True, lapses=True),),
    ),
    (
        {"type": "compaction", "id": "k", "encrypted_content": SEALED},
        "assistant",
        (Reasoning("", False, SEALED_BYTES), Opaque("compaction", "{}")),
    ),
    (
        {"type": "web_search_call", "id": "w"},
        "assistant",
        (Opaque("web_search_call", '{"type":"web_search_call","id":"w"}'),),
    ),
    ({"id": "msg_1"}, "assistant", (Opaque("item_reference", '{"id":"msg_1"}'),)),
    (
        {"type": "from_tomorrow", "x": 1},
        "assistant",
        (Opaque("from_tomorrow", '{"type":"from_tomorrow","x":1}'),),
    ),
]


@pytest.mark.parametrize(("item", "role", "blocks"), ITEMS)
def test_an_item_is_read(item: dict[str, Any], role: Role, blocks: tuple[Block, ...]) -> None:
    view = DIALECT.view(item)
    assert (view.role, view.blocks) == (role, blocks)


BAD: list[tuple[Any, str]] = [
    ("hi", ""),
    ({}, "type"),
    ({"type": ""}, "type"),
    ({"type": 3}, "type"),
    ({"role": "robot", "content": "x"}, "role"),
    ({"role": "user"}, "content"),
    ({"role": "user", "content": None}, "content"),
    (user("x"), "content.0"),
    (user(TEXT, {}), "content.1.type"),
    (user({"type": "input_text"}), "content.0.text"),
    (user({"type": "input_image"}), "content.0.image_url"),
    (user({"type": "input_file", "file_id": 1}), "content.0.file_id"),
    (user({"type": "input_audio", "input_audio": {}}), "content.0.input_audio.data"),
    (call(call_id=""), "call_id"),
    (call(name=None), "name"),
    (call(arguments={}), "arguments"),
    ({"type": "shell_call", "call_id": "c"}, "action"),
    (output(None), "output"),
    (output([1]), "output.0"),
    (output("x", call_id=None), "call_id"),
    ({"type": "shell_call_output", "call_id": "c", "output": "x"}, "output"),
    ({"type": "computer_call_output", "call_id": "c", "output": 1}, "output"),
    ({"type": "reasoning", "summary": "x"}, "summary"),
    ({"type": "reasoning", "summary": [{"text": 1}]}, "summary.0.text"),
    ({"type": "reasoning", "summary": [], "encrypted_content": 1}, "encrypted_content"),
]


@pytest.mark.parametrize(("item", "path"), BAD)
def test_a_wrong_shape_is_named_by_its_path(item: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.view(item)
    assert caught.value.path == path


def test_system_is_a_string_and_nothing_else() -> None:
    assert DIALECT.check_system("be kind") == "be kind"
    with pytest.raises(BadShape):
        DIALECT.check_system([{"role": "system", "content": "x"}])


def test_tools_are_given_back_as_compact_json() -> None:
    tools = [{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}]
    assert DIALECT.check_tools(tools) == [
        '{"type":"function","name":"f","parameters":{}}',
        '{"type":"web_search"}',
    ]


@pytest.mark.parametrize(
    ("tool", "path"),
    [(1, "0"), ({}, "0.type"), ({"type": "function"}, "0.name"), ({"type": "custom", "name": ""}, "0.name")],
)
def test_a_tool_without_a_name_is_named_by_its_path(tool: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_tools([tool])
    assert caught.value.path == path


USAGE: list[tuple[dict[str, Any], Usage | None]] = [
    ({"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}, Usage(5, 7, 12)),
    ({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}, Usage(5, cache_read=4)),
    ({"input_tokens": 5, "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 8}}, Usage(5, 9)),
    ({"input_tokens": None, "output_tokens": 7, "total_tokens": 12}, Usage(5, 7, 12)),
    ({"input_tokens": True}, None),
    ({}, None),
]


@pytest.mark.parametrize(("reported", "usage"), USAGE)
def test_usage_is_read_or_is_none(reported: dict[str, Any], usage: Usage | None) -> None:
    assert DIALECT.usage(reported) == usage


EXITED: dict[str, Any] = {"stdout": "much", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}

RESULTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (output([TEXT, IMAGE], id="o", extra=None), {"output": "gone"}),
    ({"type": "custom_tool_call_output", "call_id": "c", "output": "x"}, {"output": "gone"}),
    ({"type": "local_shell_call_output", "id": "c", "output": "x"}, {"output": "gone"}),
    (
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "x"},
        {"output": "gone"},
    ),
    (
        {"type": "shell_call_output", "call_id": "c", "output": [EXITED]},
        {"output": [{**EXITED, "stdout": "gone"}]},
    ),
    (
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": URL},
        },
        {"output": {"type": "computer_screenshot", "image_url": SCREEN}},
    ),
    ({"type": "mcp_approval_response", "approval_request_id": "c", "approve": True}, {}),
]


@pytest.mark.parametrize(("item", "changed"), RESULTS)
def test_a_result_is_replaced_and_everything_else_stays(
    item: dict[str, Any], changed: dict[str, Any]
) -> None:
    edited = DIALECT.with_results(item, {"c": "gone"})
    assert edited == {**item, **changed}
    assert list(edited) == list(item)
    assert DIALECT.with_results(item, {"d": "gone"}) == item


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ({"role": "user", "content": "long"}, "short", {"role": "user", "content": "short"}),
        (
            user(IMAGE, {**TEXT, "extra": 1}, ODD, TEXT),
            "short",
            user({**TEXT, "text": "short", "extra": 1}, ODD),
        ),
        (user(IMAGE, ODD), "short", user({"type": "input_text", "text": "short"}, ODD)),
        (
            user(SAID, role="assistant"),
            "short",
            user({**SAID, "text": "short", "logprobs": []}, role="assistant"),
        ),
        (user(TEXT, ODD), "", user(ODD)),
        (call(), "short", call()),
    ],
)
def test_all_text_is_replaced_by_one_text(before: dict[str, Any], text: str, after: dict[str, Any]) -> None:
    assert DIALECT.with_text(before, text) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (user(TEXT, IMAGE, ODD), user(TEXT, {"type": "input_text", "text": "-"}, ODD)),
        ({"role": "user", "content": "said"}, {"role": "user", "content": "said"}),
        (output([IMAGE]), output([IMAGE])),
    ],
)
def test_media_outside_results_become_a_note(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert DIALECT.without_media(before, "-") == after


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_made_message_is_read_back(role: Role) -> None:
    view = DIALECT.view(DIALECT.make(role, "hi"))
    assert (view.role, view.text) == (role, "hi")
