"""Gemini contents: every part is read, every wrong shape is named, edits touch nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.base import BadShape
from ctxd.dialects.gemini import Gemini
from ctxd.model.blocks import Block, Media, Opaque, Reasoning, Role, Text, ToolCall, ToolResult
from ctxd.model.messages import Usage
from tests.dialects.notation import PIXEL

DIALECT = Gemini()
SIGNED: dict[str, Any] = {"thoughtSignature": "c2lnbmVk"}
SIGNATURE = Reasoning("", True, 6)
TEXT: dict[str, Any] = {"text": "hello"}
IMAGE: dict[str, Any] = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
SEEN = Media("image", len(PIXEL), 1, 1)
CALL: dict[str, Any] = {"functionCall": {"id": "c", "name": "run", "args": {"a": 1}}}
CALLED = ToolCall("c", "run", '{"a":1}')
CODE: dict[str, Any] = {"executableCode": {"code": "1"}}

PARTS: list[tuple[dict[str, Any], tuple[Block, ...]]] = [
    (TEXT, (Text("hello"),)),
    ({**TEXT, **SIGNED}, (SIGNATURE, Text("hello"))),
    ({**TEXT, "thought": True}, (Reasoning("hello"),)),
    ({**TEXT, "thought": True, **SIGNED}, (Reasoning("hello", True, 6),)),
    ({**TEXT, "thought": False}, (Text("hello"),)),
    ({"text": "", **SIGNED}, (SIGNATURE,)),
    (SIGNED, (SIGNATURE,)),
    ({}, (Text(""),)),
    ({"text": None}, (Text(""),)),
    (CALL, (CALLED,)),
    ({**CALL, **SIGNED}, (SIGNATURE, CALLED)),
    ({**CALL, "thought_signature": "c2lnbmVk"}, (SIGNATURE, CALLED)),
    ({"function_call": {"id": "c", "name": "run", "args": {"a": 1}}}, (CALLED,)),
    ({"functionCall": {"name": "run"}}, (ToolCall("call:run", "run", "{}"),)),
    ({"functionCall": {"name": "run", "id": "", "args": None}}, (ToolCall("call:run", "run", "{}"),)),
    (IMAGE, (SEEN,)),
    ({"inline_data": {"mime_type": "image/png", "data": PIXEL}}, (SEEN,)),
    ({"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}, (Media("document", 8),)),
    ({"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}, (Media("audio", 8),)),
    ({"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a/b.mp4"}}, (Media("other", 12),)),
    ({"fileData": {"fileUri": "gs://a/b.mp4"}}, (Media("other", 12),)),
    (CODE, (Opaque("executableCode", '{"executableCode":{"code":"1"}}'),)),
    (
        {**CODE, **SIGNED},
        (
            SIGNATURE,
            Opaque("executableCode", '{"executableCode":{"code":"1"},"thoughtSignature":"c2lnbmVk"}'),
        ),
    ),
    ({"hologram": 3}, (Opaque("hologram", '{"hologram":3}'),)),
]


@pytest.mark.parametrize(("native", "blocks"), PARTS)
def test_a_part_of_the_model_is_read(native: dict[str, Any], blocks: tuple[Block, ...]) -> None:
    view = DIALECT.view({"role": "model", "parts": [native, TEXT], "anything": 1})
    assert (view.role, view.blocks) == ("assistant", (*blocks, Text("hello")))


def response(body: Any, **members: Any) -> dict[str, Any]:
    return {"functionResponse": {"id": "c", "name": "run", "response": body, **members}}


RESPONSES: list[tuple[dict[str, Any], ToolResult]] = [
    (response({"output": "done"}), ToolResult("c", "done")),
    (response({"result": "done"}), ToolResult("c", "done")),
    (response({"error": "failed"}), ToolResult("c", "failed", True)),
    (response({"error": {"code": 3}}), ToolResult("c", '{"error":{"code":3}}', True)),
    (response({"error": "", "output": "done"}), ToolResult("c", '{"error":"","output":"done"}')),
    (response({"output": ["a"]}), ToolResult("c", '{"output":["a"]}')),
    (response({"other": "x"}), ToolResult("c", '{"other":"x"}')),
    (response({}), ToolResult("c", "{}")),
    (response(None), ToolResult("c", "{}")),
    (response({"output": "see"}, parts=[IMAGE]), ToolResult("c", "see", media=(SEEN,))),
    (response({"output": "x"}, id=None), ToolResult("call:run", "x")),
    ({"function_response": {"name": "run", "response": {"output": "x"}}}, ToolResult("call:run", "x")),
]


@pytest.mark.parametrize("role", ["user", "function", "tool", None])
@pytest.mark.parametrize(("native", "result"), RESPONSES)
def test_a_response_is_read_in_every_role_it_may_come_in(
    native: dict[str, Any], result: ToolResult, role: str | None
) -> None:
    view = DIALECT.view({"role": role, "parts": [native]} if role else {"parts": [native]})
    assert (view.role, view.blocks) == ("user", (result,))
    assert not view.is_user_turn


def test_calls_without_ids_are_told_apart_by_name_and_place() -> None:
    bare = [{"functionCall": {"name": name}} for name in ("f", "g", "f", "f")]
    given = {"functionCall": {"name": "f", "id": "x"}}
    view = DIALECT.view({"role": "model", "parts": [*bare[:2], given, *bare[2:]]})
    assert [c.call_id for c in view.calls] == ["call:f", "call:g", "x", "call:f#2", "call:f#3"]


def test_an_answer_of_nothing_has_no_blocks() -> None:
    for content in ({"role": "model"}, {"role": "model", "parts": None}, {"role": "model", "parts": []}):
        assert DIALECT.view(content).blocks == ()


BAD: list[tuple[Any, str]] = [
    ("hi", ""),
    ({"role": "robot", "parts": []}, "role"),
    ({"role": "system", "parts": [TEXT]}, "role"),
    ({"role": 3, "parts": []}, "role"),
    ({"role": "user", "parts": "x"}, "parts"),
    ({"role": "user", "parts": ["x"]}, "parts.0"),
    ({"role": "user", "parts": [TEXT, {"text": 1}]}, "parts.1.text"),
    ({"role": "user", "parts": [{"thoughtSignature": 1}]}, "parts.0.thoughtSignature"),
    ({"role": "model", "parts": [{"functionCall": {}}]}, "parts.0.functionCall.name"),
    (
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": "{}"}}]},
        "parts.0.functionCall.args",
    ),
    ({"role": "model", "parts": [{"functionCall": {"name": "f", "id": 3}}]}, "parts.0.functionCall.id"),
    ({"role": "user", "parts": [response("x")]}, "parts.0.functionResponse.response"),
    ({"role": "user", "parts": [response({}, parts={})]}, "parts.0.functionResponse.parts"),
    ({"role": "user", "parts": [{"inlineData": {}}]}, "parts.0.inlineData.data"),
    ({"role": "user", "parts": [{"fileData": {"fileUri": 3}}]}, "parts.0.fileData.fileUri"),
]


@pytest.mark.parametrize(("content", "path"), BAD)
def test_a_wrong_shape_is_named_by_its_path(content: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.view(content)
    assert caught.value.path == path


def test_system_is_a_content_of_text() -> None:
    assert DIALECT.check_system({"parts": [TEXT, TEXT]}) == "hello\nhello"
    assert DIALECT.check_system({"role": "system", "parts": []}) == ""


@pytest.mark.parametrize(
    ("system", "path"),
    [("x", ""), ({}, "parts"), ({"parts": [IMAGE]}, "parts.0"), ({"parts": [1]}, "parts.0")],
)
def test_another_system_is_named_by_its_path(system: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_system(system)
    assert caught.value.path == path


def test_tools_are_given_back_as_compact_json() -> None:
    tools = [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}, {"googleSearch": {}}]
    assert DIALECT.check_tools(tools) == [
        '{"functionDeclarations":[{"name":"f"},{"name":"g"}]}',
        '{"googleSearch":{}}',
    ]


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        (1, "0"),
        ({"functionDeclarations": {}}, "0.functionDeclarations"),
        ({"function_declarations": [{"name": "f"}, {}]}, "0.functionDeclarations.1.name"),
    ],
)
def test_a_function_without_a_name_is_named_by_its_path(tool: Any, path: str) -> None:
    with pytest.raises(BadShape) as caught:
        DIALECT.check_tools([tool])
    assert caught.value.path == path


USAGE: list[tuple[dict[str, Any], Usage | None]] = [
    (
        {
            "promptTokenCount": 5423,
            "candidatesTokenCount": 170,
            "thoughtsTokenCount": 48,
            "totalTokenCount": 5641,
            "cachedContentTokenCount": 1381,
        },
        Usage(5423, 170, cache_read=1381),
    ),
    ({"promptTokenCount": 5}, Usage(5)),
    ({"candidatesTokenCount": 7, "thoughtsTokenCount": 2, "totalTokenCount": 14}, Usage(5, 7)),
    ({"promptTokenCount": -1}, None),
    ({}, None),
]


@pytest.mark.parametrize(("reported", "usage"), USAGE)
def test_usage_is_read_or_is_none(reported: dict[str, Any], usage: Usage | None) -> None:
    assert DIALECT.usage(reported) == usage


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (response({"output": "x"}, extra=1), response({"output": "gone"}, extra=1)),
        (response({"result": "x"}), response({"result": "gone"})),
        (response({"error": "x"}), response({"error": "gone"})),
        (response({"error": {"code": 1}, "more": 2}), response({"error": "gone"})),
        (response({"rows": [1]}), response({"output": "gone"})),
        (response({"output": "x"}, parts=[IMAGE]), response({"output": "gone"})),
        (
            {"function_response": {"id": "c", "name": "run", "response": {"output": "x"}}},
            {"function_response": {"id": "c", "name": "run", "response": {"output": "gone"}}},
        ),
    ],
)
def test_a_result_is_replaced_and_says_success_or_failure_as_before(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    message = user(response({"output": "other"}, id="d"), before, TEXT)
    edited = DIALECT.with_results(message, {"c": "gone", "x": "-"})
    assert edited == user(response({"output": "other"}, id="d"), after, TEXT)
    assert message["parts"][1] == before


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (user(IMAGE, TEXT, CODE, TEXT), "short", user({"text": "short"}, CODE)),
        (user(CODE), "short", user(CODE, {"text": "short"})),
        (user(TEXT, CODE), "", user(CODE)),
        (
            {"role": "model", "parts": [{**TEXT, "thought": True}, {**TEXT, **SIGNED}, {**CALL, **SIGNED}]},
            "short",
            {"role": "model", "parts": [{**TEXT, "thought": True}, {"text": "short"}, {**CALL, **SIGNED}]},
        ),
        (
            {"role": "model", "parts": [CODE, CALL]},
            "short",
            {"role": "model", "parts": [CODE, {"text": "short"}, CALL]},
        ),
    ],
)
def test_all_text_is_replaced_by_one_text(before: dict[str, Any], text: str, after: dict[str, Any]) -> None:
    assert DIALECT.with_text(before, text) == after


def test_media_outside_results_become_a_note() -> None:
    message = user(TEXT, IMAGE, response({"output": "x"}, parts=[IMAGE]))
    assert DIALECT.without_media(message, "-") == user(
        TEXT, {"text": "-"}, response({"output": "x"}, parts=[IMAGE])
    )


def test_a_signed_part_is_never_edited_by_mending() -> None:
    signed = [{**CALL, **SIGNED}, {"text": "", **SIGNED}]
    messages = [user(TEXT), {"role": "model", "parts": [TEXT, *signed]}, {"role": "model", "parts": [CODE]}]
    mended, _ = DIALECT.mend(messages, pending=False)
    assert mended[1]["parts"] == [TEXT, *signed, CODE]
    assert all(a is b for a, b in zip(mended[1]["parts"][1:], signed))


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_made_message_is_read_back(role: Role) -> None:
    view = DIALECT.view(DIALECT.make(role, "hi"))
    assert (view.role, view.text) == (role, "hi")
