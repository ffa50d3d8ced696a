"""The second opinion refuses what providers refuse, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, Response
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


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        ("ctxd/importers/samples/session.jsonl", "anthropic"),
        ("../shared/transcripts/claude-code/long-three-compactions.jsonl", "anthropic"),
        ("../shared/transcripts/openai-chat/tau-airline-40.json", "openai-chat"),
    ],
)
def test_every_recorded_request_passes(path: str, dialect: Literal["anthropic", "openai-chat"]) -> None:
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
