"""Copilot CLI's events: steps from lines shaped like those in public, and what is left out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, Response
from tests.importers.lawful import assert_lawful, lines, messages, noted, read, tags
from tests.support.behaviour import behaviour

Record = dict[str, Any]


def event(kind: str, *, agent: str | None = None, **data: Any) -> Record:
    record = {"type": kind, "data": data, "id": f"{kind}{data}", "timestamp": "2026-01-01T00:00:00Z"}
    return {**record, "parentId": None, **({"agentId": agent} if agent else {})}


def user(text: str, **more: Any) -> Record:
    return event("user.message", content=text, **{"attachments": [], "interactionId": "i", **more})


def answer(text: str, *requests: Record, **more: Any) -> Record:
    return event("assistant.message", messageId="m", content=text, toolRequests=list(requests), **more)


def request(identity: str, arguments: Any = None, kind: str = "function") -> Record:
    return {"toolCallId": identity, "name": "bash", "arguments": arguments or {"command": "ls"}, "type": kind}


def complete(identity: str, text: str) -> Record:
    result = {"content": text, "detailedContent": text + text}
    return event("tool.execution_complete", toolCallId=identity, success=True, result=result)


START = event("session.start", sessionId="s", version=1, producer="copilot-agent", context={"cwd": "/x"})
SESSION = [
    START,
    event("session.model_change", newModel="gpt-5.4"),
    event("system.message", role="system", content="You are careful."),
    user("look", transformedContent="<now/>look"),
    event("assistant.turn_start", turnId="0"),
    answer("", request("a"), request("b", "*** patch", "custom"), outputTokens=7, model="gpt-5.4"),
    event("tool.execution_start", toolCallId="a", toolName="bash", arguments={"command": "ls"}),
    complete("b", "patched"),
    event("tool.execution_complete", toolCallId="a", success=False, error={"code": "x", "message": "no"}),
    event("assistant.turn_end", turnId="0"),
    answer("Done.", reasoningOpaque="x"),
]


def test_a_session_is_chat_with_the_systems_prompt_and_what_the_model_was_given(tmp_path: Path) -> None:
    transcript = read(tmp_path / "x", lines(*SESSION))
    assert (transcript.format, transcript.dialect, transcript.model) == (
        "copilot-cli",
        "openai-chat",
        "gpt-5.4",
    )
    assert transcript.system == [{"role": "system", "content": "You are careful."}]
    asked, called, given, done = messages(transcript)
    assert asked == [{"role": "user", "content": "<now/>look"}]
    assert called[0]["content"] is None
    assert called[0]["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
        {"id": "b", "type": "custom", "custom": {"name": "bash", "input": "*** patch"}},
    ]
    assert given == [
        {"role": "tool", "tool_call_id": "b", "content": "patched"},
        {"role": "tool", "tool_call_id": "a", "content": "no"},
    ]
    assert done == [{"role": "assistant", "content": "Done."}]
    response = transcript.steps[1]
    assert isinstance(response, Response)
    assert (response.prompt_reported, response.completion_reported) == (None, 7)
    assert noted(transcript) == {"reasoning": (11,)}


def test_what_subagents_say_is_left_out_and_noted(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            START, user("go"), answer("", request("a")), user("sub", agent="k") | {"agentId": "k"},
            answer("sub answer", parentToolCallId="a"), complete("a", "fine"), answer("done"),
        ),
    )  # fmt: skip
    assert noted(transcript) == {"sidechain": (4, 5)}
    assert tags(transcript.steps) == ["userInput", "response", "results", "response"]


def test_a_compaction_is_a_boundary_and_a_failed_one_is_noted(tmp_path: Path) -> None:
    good = event("session.compaction_complete", success=True, summaryContent="Sum.", preCompactionTokens=99)
    bad = event("session.compaction_complete", success=False, error="no")
    transcript = read(tmp_path / "x", lines(START, user("go"), answer("a"), bad, good, answer("b")))
    boundary = transcript.steps[2]
    assert isinstance(boundary, Boundary)
    assert (boundary.pre_tokens, boundary.replacement) == (99, ({"role": "user", "content": "Sum."},))
    assert noted(transcript) == {"failedCompaction": (4,)}


def test_what_was_cut_broken_off_or_repeated_is_noted(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            START, user("go"), user("go"), user("see", attachments=[{"path": "p"}]) | {"id": "9"},
            event("session.truncation"), event("abort", reason="user"), answer(" "), answer("done"),
        ),
    )  # fmt: skip
    assert noted(transcript) == {
        "repeatedRecord": (3,),
        "attachment": (4,),
        "truncation": (5,),
        "abortedTurn": (6,),
        "emptyMessage": (7,),
    }


@pytest.mark.parametrize(
    "record",
    [
        event("user.message", content=7),
        event("assistant.message", content=None, toolRequests=[7, {"toolCallId": 7}, {}]),
        event("tool.execution_complete", toolCallId=[], result=7),
        event("session.compaction_complete", summaryContent=7),
        {"type": "user.message", "data": None},
        {"type": 7, "data": {}},
    ],
)
def test_a_malformed_event_costs_no_more_than_itself(tmp_path: Path, record: Record) -> None:
    transcript = read(tmp_path / "x", lines(START, record, user("go"), answer("done")))
    assert tags(transcript.steps) == ["userInput", "response"]


CUT = lines(*SESSION)


@behaviour("importers.any-cut")
@given(cut=st.integers(min_value=0, max_value=len(CUT)), junk=st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_a_log_cut_at_any_byte_imports_lawfully(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x"
    path.write_bytes(CUT[:cut] + junk + b"\n" + CUT)
    (transcript,) = read_transcripts(path, format="copilot-cli")
    assert_lawful(transcript)
