"""The second opinion refuses what providers refuse, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, DialectName, Response
from ctxd.report.wire_check import check_request

ROOT = Path(__file__).parents[2]
USER = {"role": "user", "content": "go"}


def call(*ids: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": i, "name": "t", "input": {}} for i in ids],
    }


def result(*ids: str, tail: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    results = [{"type": "tool_result", "tool_use_id": i, "content": "fine"} for i in ids]
    return {"role": "user", "content": [*results, *tail]}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


ANTHROPIC: list[tuple[str, list[dict[str, Any]], str]] = [
    ("nothing", [], "no messages"),
    ("assistant first", [{"role": "assistant", "content": "hi"}, USER], "0: the first"),
    ("a system role", [USER, {"role": "system", "content": "x"}], "1: role"),
    ("empty content", [{"role": "user", "content": []}], "0: empty"),
    ("a blank string", [{"role": "user", "content": " \n"}], "0: blank"),
    ("a blank block", [{"role": "user", "content": [text("a"), text("")]}], "0: blank"),
    (
        "a blank block inside a result",
        [USER, call("a"), {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [text("")]}
        ]}],
        "2: blank",
    ),
    ("a call nobody answers", [USER, call("a"), USER], "2: 1 call(s) of the message before"),
    ("a call left open at the end", [USER, call("a")], "1: 1 call(s) without a result at the end"),
    ("half a parallel batch", [USER, call("a", "b"), result("a")], "2: 1 call(s) of the message before"),
    ("an orphan", [USER, result("a")], "1: 1 result(s) without a call"),
    ("an answer too late", [USER, call("a"), result("a"), USER, result("a")], "4: 1 result(s) without"),
    ("an answer twice", [USER, call("a"), result("a", "a")], "2: a call is answered twice"),
    ("an id used again", [USER, call("a"), result("a"), call("a"), result("a")], "3: a call id is used"),
    ("words before a result", [USER, call("a"), {"role": "user", "content": [
        text("w"), *result("a")["content"]]}], "2: a result stands behind"),
    ("a call by the user", [{**call("a"), "role": "user"}, result("a")], "0: a call in a message"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "fault"), [c[1:] for c in ANTHROPIC], ids=[c[0] for c in ANTHROPIC])
def test_anthropic_faults_are_found_at_their_place(messages: list[dict[str, Any]], fault: str) -> None:
    assert any(found.startswith(fault) for found in check_request("anthropic", messages))


def test_a_lawful_anthropic_request_passes() -> None:
    messages = [USER, call("a", "b"), result("b", "a", tail=(text("and"),)), USER, call("c"), result("c")]
    assert check_request("anthropic", messages) == []


def chat(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": i} for i in ids]}


def tool(identity: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "fine"}


OPENAI: list[tuple[str, list[dict[str, Any]], str]] = [
    ("nothing", [], "no messages"),
    ("an unknown role", [{"role": "critic", "content": "x"}], "0: role"),
    ("empty content", [{"role": "user", "content": ""}], "0: empty"),
    ("an empty answer", [USER, {"role": "assistant", "content": None}], "1: neither"),
    ("a call nobody answers", [USER, chat("a"), USER], "2: 1 call(s) without"),
    ("a call left open at the end", [USER, chat("a", "b"), tool("a")], "2: 1 call(s) without"),
    ("an orphan", [USER, tool("a")], "1: a result without an open call"),
    ("an answer twice", [USER, chat("a"), tool("a"), tool("a")], "3: a result without"),
    ("an answer too late", [USER, chat("a", "b"), tool("a"), USER, tool("b")], "4: a result without"),
    ("an id twice in one message", [USER, chat("a", "a"), tool("a")], "1: a call id is used twice"),
    ("a result without content", [USER, chat("a"), {**tool("a"), "content": None}], "2: a result without"),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "fault"), [c[1:] for c in OPENAI], ids=[c[0] for c in OPENAI])
def test_openai_faults_are_found_at_their_place(messages: list[dict[str, Any]], fault: str) -> None:
    assert any(found.startswith(fault) for found in check_request("openai-chat", messages))


def test_a_lawful_openai_request_passes() -> None:
    system = {"role": "system", "content": "s"}
    messages = [system, USER, chat("a", "b"), tool("b"), tool("a"), chat("a"), tool("a"), system, USER]
    assert check_request("openai-chat", messages) == []


def asked(*ids: str, kind: str = "function_call") -> list[dict[str, Any]]:
    return [{"type": kind, "call_id": i, "name": "look", "arguments": "{}"} for i in ids]


def output(identity: str, kind: str = "function_call_output") -> dict[str, Any]:
    return {"type": kind, "call_id": identity, "output": "fine"}


THOUGHT = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
REPLY = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}

RESPONSES: list[tuple[str, list[dict[str, Any]], str]] = [
    ("nothing", [], "no items"),
    ("an item without a type", [USER, {"text": "x"}], "1: an item without"),
    ("an unknown role", [{"role": "critic", "content": "x"}], "0: role"),
    ("empty content", [{"role": "user", "content": []}], "0: empty"),
    ("the model's text from the user", [{**REPLY, "role": "user"}], "0: output_text in a message"),
    ("a call nobody answers", [USER, *asked("a"), USER], "2: 1 call(s) without"),
    ("an orphan", [USER, output("a")], "1: an output without a call"),
    ("an answer twice", [USER, *asked("a"), output("a"), output("a")], "3: a call is answered twice"),
    ("an id used again", [USER, *asked("a"), output("a"), *asked("a"), output("a")], "3: a call id is used"),
    (
        "an output of another type",
        [USER, *asked("a", kind="custom_tool_call"), output("a")],
        "2: custom_tool_call_output is due",
    ),
    ("reasoning at the end", [USER, THOUGHT], "1: reasoning without"),
    ("reasoning before the user", [USER, THOUGHT, USER], "1: reasoning without"),
    ("reasoning before an output", [USER, *asked("a"), THOUGHT, output("a")], "2: reasoning without"),
    ("an output without content", [USER, *asked("a"), {**output("a"), "output": None}], "2: an output"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "fault"), [c[1:] for c in RESPONSES], ids=[c[0] for c in RESPONSES])
def test_responses_faults_are_found_at_their_place(items: list[dict[str, Any]], fault: str) -> None:
    assert any(found.startswith(fault) for found in check_request("openai-responses", items))


def test_lawful_items_pass() -> None:
    custom = asked("c", kind="custom_tool_call")
    items = [
        USER,
        THOUGHT,
        THOUGHT,
        *asked("a", "b"),
        output("b"),
        USER,
        output("a"),
        THOUGHT,
        REPLY,
        *custom,
    ]
    assert check_request("openai-responses", [*items, output("c", "custom_tool_call_output")]) == []


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def model(*names: str, **more: Any) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": n, "args": {}, **more}} for n in names]}


def responded(*names: str, **more: Any) -> dict[str, Any]:
    parts = [{"functionResponse": {"name": n, "response": {"output": "x"}, **more}} for n in names]
    return {"role": "user", "parts": parts}


GEMINI: list[tuple[str, list[dict[str, Any]], str]] = [
    ("nothing", [], "no contents"),
    ("the model first", [said("x", "model")], "0: the first content"),
    ("an unknown role", [said("x", "assistant")], "0: role"),
    ("no parts", [{"role": "user", "parts": []}], "0: no parts"),
    ("an empty text", [said("")], "0: a part without data"),
    ("a call by the user", [{**model("t"), "role": "user"}, responded("t")], "0: a call in a content"),
    ("a response by it", [said("x"), model("t"), {**responded("t"), "role": "model"}], "2: a response"),
    ("a call nobody answers", [said("x"), model("t"), said("y")], "2: 1 call(s) of the content before, 0"),
    ("a call left open at the end", [said("x"), model("t")], "1: 1 call(s) without"),
    ("half a parallel batch", [said("x"), model("t", "u"), responded("t")], "2: 2 call(s) of"),
    ("an orphan", [said("x"), responded("t")], "1: 0 call(s) of the content before, 1"),
    ("another name", [said("x"), model("t"), responded("u")], "2: a response answers another"),
    ("another id", [said("x"), model("t", id="1"), responded("t", id="2")], "2: a response answers another"),
]  # fmt: skip


@pytest.mark.parametrize(("contents", "fault"), [c[1:] for c in GEMINI], ids=[c[0] for c in GEMINI])
def test_gemini_faults_are_found_at_their_place(contents: list[dict[str, Any]], fault: str) -> None:
    assert any(found.startswith(fault) for found in check_request("gemini", contents))


def test_lawful_contents_pass() -> None:
    signed = {"role": "model", "parts": [{"text": "", "thoughtSignature": "x"}]}
    contents = [
        said("x"),
        model("t", "u"),
        responded("u", "t"),
        signed,
        said("y"),
        model("t"),
        responded("t"),
    ]
    assert check_request("gemini", contents) == []


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("ctxd/importers/samples/session.jsonl", "anthropic"),
        ("../shared/transcripts/claude-code/long-three-compactions.jsonl", "anthropic"),
        ("../shared/transcripts/openai-chat/tau-airline-40.json", "openai-chat"),
        ("../shared/transcripts/swe-agent/function-calling.traj", "openai-chat"),
        ("../shared/transcripts/codex/rollout-123-calls.jsonl", "openai-responses"),
        ("../shared/transcripts/gemini/cli-session.json", "gemini"),
    ],
)
def test_every_recorded_request_passes(path: str, dialect: DialectName) -> None:
    if not (ROOT / path).exists():
        pytest.skip(f"{path} is not beside this checkout")
    for transcript in read_transcripts(ROOT / path):
        request: list[dict[str, Any]] = []
        for step in transcript.steps:
            if isinstance(step, Boundary):
                request = list(step.replacement)
                continue
            if isinstance(step, Response) and request:
                assert check_request(dialect, request) == [], f"line {step.line}"
            request += step.messages
