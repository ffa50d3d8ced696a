"""Claude Code transcripts: exact steps and notes, lawful pairs, no file that raises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.importers.claude_code import open_sources, stream_steps
from ctxd.importers.json_lines import read_records
from ctxd.importers.steps import Boundary, NoteTaker, Response, Results, Step, Transcript, UserInput
from ctxd.importers.weaving import OPENING
from tests.support.behaviour import behaviour

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared/transcripts/claude-code"
SAMPLE = ROOT / "ctxd/importers/samples/session.jsonl"
IMAGE = ROOT / "tests/data/image-result.jsonl"

COUNTS: dict[str, tuple[dict[str, int], int, dict[str, tuple[int, ...]]]] = {
    "chinese.jsonl": ({"userInput": 3, "response": 32, "results": 30}, 31, {"repeatedRecord": (49,)}),
    "image-result.jsonl": ({"userInput": 1, "response": 2, "results": 1}, 1, {"openedWithoutUser": (1,)}),
    "long-three-compactions.jsonl": (
        {"userInput": 37, "response": 225, "results": 188, "boundary": 3},
        206,
        {"syntheticResponse": (104,)},
    ),
    "one-compaction.jsonl": (
        {"userInput": 2, "response": 12, "results": 10, "boundary": 1},
        10,
        {"syntheticResponse": (7,)},
    ),
    "orphans.jsonl": (
        {"userInput": 1, "response": 7, "results": 6},
        6,
        {"orphanResult": (1,), "openedWithoutUser": (3,)},
    ),
    "torn-line.jsonl": (
        {"userInput": 4, "response": 42, "results": 38},
        41,
        {"fusedLine": (128,), "repeatedRecord": (131,)},
    ),
}


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_a_recorded_session_imports_with_exact_counts(name: str) -> None:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    steps, results, noted = COUNTS[name]
    transcript = read_transcript(path)
    assert dict(Counter(_tag(step) for step in transcript.steps)) == steps
    assert len(_results(transcript.steps)) == results
    assert {note.kind: note.lines for note in transcript.notes} == noted
    _assert_lawful(transcript.steps)


def test_the_bundled_session_imports_with_its_fused_line() -> None:
    transcript = read_transcript(SAMPLE)
    assert dict(Counter(_tag(step) for step in transcript.steps)) == {
        "userInput": 2,
        "response": 34,
        "results": 32,
    }
    assert {note.kind: note.lines for note in transcript.notes} == {
        "fusedLine": (128,),
        "repeatedRecord": (131,),
    }
    assert transcript.model == "claude-opus-4-5-20251101"
    _assert_lawful(transcript.steps)


def test_an_image_inside_a_result_stays_a_block() -> None:
    (result,) = _results(read_transcript(IMAGE).steps)
    assert result["content"][0]["source"]["media_type"] == "image/png"


def test_the_compactions_of_a_long_session_carry_size_and_summary() -> None:
    path = SHARED / "long-three-compactions.jsonl"
    if not path.exists():
        pytest.skip("the long session is not beside this checkout")
    boundaries = [step for step in read_transcript(path).steps if isinstance(step, Boundary)]
    assert [b.pre_tokens for b in boundaries] == [156699, 155241, 155413]
    assert all(b.replacement[0]["content"].startswith("This session is") for b in boundaries)


@behaviour("importers.merged")
def test_lines_of_one_message_id_are_one_response_with_the_last_usage() -> None:
    steps, notes = _import(
        _user("go"),
        _assistant("m1", [_text("a")], {"input_tokens": 5, "output_tokens": 1}),
        _assistant(
            "m1", [_call("c1")], {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 9}
        ),
    )
    assert notes == {}
    response = steps[1]
    assert isinstance(response, Response)
    assert response.messages == ({"role": "assistant", "content": [_text("a"), _call("c1")]},)
    assert (response.prompt_reported, response.completion_reported) == (12, 9)


def test_a_result_between_the_lines_of_one_message_comes_after_it() -> None:
    steps, notes = _import(
        _user("go"),
        _assistant("m1", [_call("c1")]),
        _user([_result("c1")]),
        _assistant("m1", [_call("c2")]),
        _user([_result("c2")]),
        _assistant("m2", [_text("done")]),
    )
    assert notes == {}
    assert [_tag(step) for step in steps] == ["userInput", "response", "results", "response"]
    assert [block["id"] for block in steps[1].messages[0]["content"]] == ["c1", "c2"]
    assert [b["tool_use_id"] for b in steps[2].messages[0]["content"]] == ["c1", "c2"]


def test_words_after_results_join_their_message_behind_the_results() -> None:
    steps, _ = _import(
        _user("go"),
        _assistant("m1", [_call("c1"), _call("c2")]),
        _user([_result("c2")]),
        _user("stop that"),
        _user([_result("c1")]),
        _assistant("m2", [_text("ok")]),
    )
    results = steps[2]
    assert isinstance(results, Results)
    assert results.spoken
    assert [b["type"] for b in results.messages[0]["content"]] == ["tool_result", "tool_result", "text"]


def test_a_single_plain_user_message_stays_as_it_was_written() -> None:
    steps, _ = _import(_user("héllo \u2028"), _assistant("m1", [_text("hi")]))
    assert steps[0].messages == ({"role": "user", "content": "héllo \u2028"},)


def test_what_the_model_never_saw_or_wrote_is_left_out_and_noted() -> None:
    steps, notes = _import(
        _user("go"),
        {**_assistant("x", [_text("No response requested.")]), "message": _message("<synthetic>")},
        {**_user("caveat"), "isMeta": True},
        _assistant("m1", [_text(" "), _text("hi")]),
    )
    assert notes == {"syntheticResponse": (2,), "emptyText": (4,)}
    assert [b["text"] for b in steps[0].messages[0]["content"]] == ["go", "caveat"]
    assert steps[1].messages[0]["content"] == [_text("hi")]


def test_orphan_and_repeated_results_are_dropped_and_noted() -> None:
    steps, notes = _import(
        _user("go"),
        _assistant("m1", [_call("c1")]),
        _user([_result("c1"), _result("c1"), _result("nobody")]),
        _assistant("m2", [_call("c2")]),
        _user([_result("c1")]),
    )
    assert notes == {"duplicateResult": (3, 5), "orphanResult": (3,)}
    assert [b["tool_use_id"] for b in _results(steps)] == ["c1"]


def test_a_call_without_a_result_is_kept() -> None:
    steps, notes = _import(_user("go"), _assistant("m1", [_call("c1")]), _user("never mind"))
    assert notes == {}
    assert [_tag(step) for step in steps] == ["userInput", "response", "userInput"]


def test_a_line_of_a_message_that_ended_before_is_noted() -> None:
    steps, notes = _import(
        _user("go"),
        _assistant("m1", [_text("a")]),
        _user("more"),
        _assistant("m2", [_text("b")]),
        _assistant("m1", [_text("late")]),
    )
    assert notes == {"lateBlock": (5,)}
    assert len(steps) == 4


def test_a_boundary_stands_between_the_epochs_with_its_summary() -> None:
    steps, _ = _import(
        _user("go"),
        _assistant("m1", [_call("c1")]),
        _user([_result("c1")]),
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"preTokens": 99}},
        {**_user("Summary."), "isCompactSummary": True},
        _assistant("m2", [_text("on")]),
    )
    assert [_tag(step) for step in steps] == ["userInput", "response", "results", "boundary", "response"]
    boundary = steps[3]
    assert isinstance(boundary, Boundary)
    assert (boundary.pre_tokens, boundary.replacement) == (99, ({"role": "user", "content": "Summary."},))


def test_a_boundary_whose_summary_is_lost_still_stands() -> None:
    steps, _ = _import(
        _user("go"),
        _assistant("m1", [_text("a")]),
        {"type": "system", "subtype": "compact_boundary"},
        _user("on"),
        _assistant("m2", [_text("b")]),
    )
    assert [_tag(s) for s in steps] == ["userInput", "response", "boundary", "userInput", "response"]


def test_a_recording_that_begins_with_a_response_gets_a_stand_in_for_the_user() -> None:
    steps, notes = _import(_assistant("m1", [_text("hi")]))
    assert notes == {"openedWithoutUser": (1,)}
    assert steps[0].messages == ({"role": "user", "content": OPENING},)


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user"},
        {"type": "user", "message": 7},
        {"type": "user", "message": {"role": "user", "content": [1]}},
        {"type": "assistant", "message": {"content": None}},
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": 3},
        {"type": "assistant", "uuid": [], "message": {"id": {}, "content": [{"type": "tool_use", "id": []}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": {}}]}},
        {"type": ["user"]},
        {},
    ],
)
def test_a_malformed_record_costs_only_itself(record: dict[str, Any]) -> None:
    steps, _ = _import(_user("go"), record, _assistant("m1", [_text("hi")]))
    assert _tag(steps[0]) == "userInput"
    assert any(isinstance(step, Response) for step in steps)


@behaviour("importers.any-cut")
@given(cut=st.integers(min_value=0, max_value=SAMPLE.stat().st_size), junk=st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_a_file_cut_at_any_byte_imports_lawfully(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("cut") / "session.jsonl"
    path.write_bytes(SAMPLE.read_bytes()[:cut] + junk)
    _assert_lawful(read_transcript(path).steps)


def read_transcript(path: Path) -> Transcript:
    (source,) = open_sources(path)
    return source.read()


def _assert_lawful(steps: tuple[Step, ...]) -> None:
    """Starts with the user, results answer calls of the response before, each once."""
    calls: list[str] = []
    for place, step in enumerate(steps):
        if place == 0:
            assert isinstance(step, UserInput)
        if isinstance(step, Response):
            content = step.messages[0]["content"]
            calls = [block["id"] for block in content if block["type"] == "tool_use"]
        elif isinstance(step, Results):
            answered = [b["tool_use_id"] for b in _results([step])]
            assert len(set(answered)) == len(answered)
            assert set(answered) <= set(calls)


def _results(steps: Any) -> list[dict[str, Any]]:
    return [
        block
        for step in steps
        if isinstance(step, Results)
        for message in step.messages
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def _tag(step: Step) -> str:
    return str(step.__struct_config__.tag)


def _import(*records: dict[str, Any]) -> tuple[list[Any], dict[str, tuple[int, ...]]]:
    notes = NoteTaker()
    lines = enumerate((json.dumps(record, ensure_ascii=False).encode() for record in records), 1)
    steps = list(stream_steps(read_records(lines, notes), notes))
    return steps, {note.kind: note.lines for note in notes.notes()}


def _user(content: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}}


def _assistant(identity: str, blocks: list[Any], usage: dict[str, int] | None = None) -> dict[str, Any]:
    message = {"id": identity, "role": "assistant", "model": "m", "content": blocks, "usage": usage or {}}
    return {"type": "assistant", "message": message}


def _message(model: str) -> dict[str, Any]:
    return {"id": "x", "role": "assistant", "model": model, "content": [_text("No response requested.")]}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(identity: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "Read", "input": {}}


def _result(identity: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": "fine"}
