"""OpenAI chat files: every shape they come in, exact counts, lawful pairs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ctxd.importers.detect import UnknownFormat, read_transcripts
from ctxd.importers.openai_chat import stream_steps
from ctxd.importers.steps import NoteTaker

TAU = Path(__file__).parents[2] / "../shared/transcripts/openai-chat/tau-airline-40.json"

SYSTEM = {"role": "system", "content": "policy"}
USER = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "hi"}


def test_the_tau_bench_runs_import_as_forty_sessions_with_nothing_dropped() -> None:
    if not TAU.exists():
        pytest.skip("the tau-bench file is not beside this checkout")
    transcripts = read_transcripts(TAU)
    steps = Counter(str(s.__struct_config__.tag) for t in transcripts for s in t.steps)
    assert len(transcripts) == 40
    assert dict(steps) == {"userInput": 357, "response": 571, "results": 254}
    assert all(t.notes == () and t.system[0]["role"] == "system" for t in transcripts)
    assert transcripts[0].name == "task 0, trial 0"


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"messages": m}, lambda m: [{"traj": m}]])
def test_every_shape_gives_the_same_steps(tmp_path: Path, wrap: Any) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(wrap([SYSTEM, USER, ANSWER])))
    (transcript,) = read_transcripts(path)
    assert transcript.system == [SYSTEM]
    assert [step.messages for step in transcript.steps if hasattr(step, "messages")] == [(USER,), (ANSWER,)]
    assert [step.line for step in transcript.steps] == [2, 3]


def test_tools_and_model_beside_the_messages_are_read(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look"}}
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"model": "gpt-4o", "tools": [tool], "messages": [USER, ANSWER]}))
    (transcript,) = read_transcripts(path)
    assert (transcript.model, transcript.tools, transcript.system) == ("gpt-4o", (tool,), None)


@pytest.mark.parametrize("document", [{}, [], 7, {"messages": []}, [1], [{"traj": [1]}], {"messages": [{}]}])
def test_a_document_without_messages_is_refused(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(document))
    with pytest.raises(UnknownFormat):
        read_transcripts(path)


def test_parallel_results_are_one_step_in_the_order_given() -> None:
    kinds, notes = _split(USER, _calls("a", "b"), _tool("b"), _tool("a"), ANSWER)
    assert kinds == [("userInput", 1), ("response", 1), ("results", 2), ("response", 1)]
    assert notes == {}


def test_a_call_id_used_again_in_a_later_turn_is_no_duplicate() -> None:
    kinds, notes = _split(USER, _calls("a"), _tool("a"), _calls("a"), _tool("a"))
    assert [kind for kind, _ in kinds].count("results") == 2
    assert notes == {}


def test_orphan_duplicate_empty_and_unknown_messages_are_dropped_and_noted() -> None:
    kinds, notes = _split(
        _tool("z"),
        USER,
        _calls("a"),
        _tool("a"),
        _tool("a"),
        {"role": "assistant", "content": None},
        {"role": "function", "content": "x"},
        {"role": "user", "content": ""},
        _tool(""),
    )
    assert kinds == [("userInput", 1), ("response", 1), ("results", 1)]
    assert notes == {
        "orphanResult": (1, 9),
        "duplicateResult": (5,),
        "emptyMessage": (6, 8),
        "unknownRole": (7,),
    }


def test_a_late_result_behind_a_user_message_is_an_orphan() -> None:
    kinds, notes = _split(USER, _calls("a", "b"), _tool("a"), USER, _tool("b"))
    assert [kind for kind, _ in kinds] == ["userInput", "response", "results", "userInput"]
    assert notes == {"orphanResult": (5,)}


def test_a_later_system_message_stays_in_place_as_user_input() -> None:
    kinds, _ = _split(USER, ANSWER, SYSTEM, USER, ANSWER)
    assert kinds == [("userInput", 1), ("response", 1), ("userInput", 2), ("response", 1)]


def _split(*messages: dict[str, Any]) -> tuple[list[tuple[str, int]], dict[str, tuple[int, ...]]]:
    notes = NoteTaker()
    steps = list(stream_steps(enumerate(messages, 1), notes))
    kinds = [(str(s.__struct_config__.tag), len(s.messages)) for s in steps if hasattr(s, "messages")]
    return kinds, {note.kind: note.lines for note in notes.notes()}


def _calls(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _tool(identity: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "fine"}
