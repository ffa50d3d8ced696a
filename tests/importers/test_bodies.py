"""Request bodies of three APIs: every part is found, messages stay as they are, orphans are dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxd.importers.weaving import OPENING
from tests.importers.lawful import messages, noted, read, tags

Message = dict[str, Any]

ANTHROPIC: list[Message] = [
    {"role": "user", "content": "go", "later": 1},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "fine"}, {"type": "text", "text": "and"}]},
    {"role": "assistant", "content": "done"},
]  # fmt: skip
RESPONSES: list[Message] = [
    {"role": "user", "content": "go"},
    {"type": "reasoning", "summary": [], "encrypted_content": "x"},
    {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "fine"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
]
GEMINI: list[Message] = [
    {"role": "user", "parts": [{"text": "go"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}, "thoughtSignature": "x"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"output": "fine"}}}]},
    {"role": "model", "parts": [{"text": "done"}]},
]


def test_an_anthropic_body_imports_with_its_system_tools_and_words_behind_results(tmp_path: Path) -> None:
    tool = {"name": "t", "input_schema": {"type": "object"}}
    body = {
        "model": "claude-x",
        "system": [{"type": "text", "text": "s"}],
        "tools": [tool],
        "messages": ANTHROPIC,
    }
    transcript = read(tmp_path / "x", body)
    assert (transcript.format, transcript.dialect, transcript.model) == ("anthropic", "anthropic", "claude-x")
    assert (transcript.system, transcript.tools) == (body["system"], (tool,))
    assert [m for step in messages(transcript) for m in step] == ANTHROPIC
    assert tags(transcript.steps) == ["userInput", "response", "results", "response"]
    assert getattr(transcript.steps[2], "spoken", None) is True


def test_items_in_a_row_are_one_response(tmp_path: Path) -> None:
    body = {"model": "gpt-x", "instructions": "s", "tools": [{"type": "web_search"}], "input": RESPONSES}
    transcript = read(tmp_path / "x", body)
    assert (transcript.dialect, transcript.system) == ("openai-responses", "s")
    assert messages(transcript) == [RESPONSES[:1], RESPONSES[1:3], RESPONSES[3:4], RESPONSES[4:]]


def test_a_string_for_input_is_what_the_user_said(tmp_path: Path) -> None:
    transcript = read(tmp_path / "x", {"input": "go", "instructions": "s"})
    assert messages(transcript) == [[{"role": "user", "content": "go"}]]


@pytest.mark.parametrize("system", ["systemInstruction", "system_instruction"])
def test_calls_without_ids_are_answered_by_name(tmp_path: Path, system: str) -> None:
    instruction = {"parts": [{"text": "s"}]}
    declared = {"functionDeclarations": [{"name": "t"}]}
    body = {"model": "models/gemini-x", system: instruction, "tools": [declared], "contents": GEMINI}
    transcript = read(tmp_path / "x", body)
    assert (transcript.dialect, transcript.model, transcript.system) == ("gemini", "gemini-x", instruction)
    assert transcript.tools == (declared,)
    assert [m for step in messages(transcript) for m in step] == GEMINI
    assert noted(transcript) == {}


ORPHAN_RESULT = {"type": "tool_result", "tool_use_id": "z", "content": "x"}
ORPHAN_RESPONSE = {"functionResponse": {"name": "z", "response": {}}}


@pytest.mark.parametrize(
    ("body", "kinds", "noted_"),
    [
        (
            {"system": "s", "messages": [ANTHROPIC[0], {"role": "user", "content": [ORPHAN_RESULT]}]},
            ["userInput"],
            {"orphanResult": (2,)},
        ),
        (
            {"system": "s", "messages": [
                {"role": "user", "content": [ORPHAN_RESULT, {"type": "text", "text": "hi"}]}]},
            ["userInput"],
            {"orphanResult": (1,)},
        ),
        (
            {"contents": [*GEMINI[:2], {"parts": [*GEMINI[2]["parts"], ORPHAN_RESPONSE]}]},
            ["userInput", "response", "results"],
            {"orphanResult": (3,)},
        ),
        ({"input": [RESPONSES[3], RESPONSES[0]]}, ["userInput"], {"orphanResult": (1,)}),
        ({"contents": [GEMINI[3]]}, ["userInput", "response"], {"openedWithoutUser": (1,)}),
        ({"contents": [GEMINI[0], {"role": "critic", "parts": []}, {"parts": []}, 7]}, ["userInput"],
         {"unreadableMessage": (2, 4), "emptyMessage": (3,)}),
        ({"system": 7, "messages": [ANTHROPIC[0]]}, ["userInput"], {"unreadableSystem": (1,)}),
        ({"tools": [7], "input": [RESPONSES[0]]}, ["userInput"], {"unreadableTools": (1,)}),
    ],
)  # fmt: skip
def test_what_no_provider_would_take_is_left_out_and_noted(
    tmp_path: Path, body: Message, kinds: list[str], noted_: dict[str, tuple[int, ...]]
) -> None:
    transcript = read(tmp_path / "x", body)
    assert tags(transcript.steps) == kinds
    assert noted(transcript) == noted_
    assert transcript.system in (None, "s")


def test_a_body_that_begins_with_the_model_gets_a_stand_in_in_its_own_shape(tmp_path: Path) -> None:
    first = messages(read(tmp_path / "x", {"contents": [GEMINI[3]]}))[0]
    assert first == [{"role": "user", "parts": [{"text": OPENING}]}]
