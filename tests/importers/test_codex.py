"""Codex rollouts: exact steps and usage in both layouts, compactions, turns taken back, damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, Response
from tests.importers.lawful import assert_lawful, counted, lines, messages, noted, read, shared, tags
from tests.support.behaviour import behaviour

Record = dict[str, Any]


def wrapped(kind: str, **payload: Any) -> Record:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(**payload: Any) -> Record:
    return wrapped("response_item", **payload)


def said(role: str, text: str) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


def call(identity: str) -> Record:
    return item(type="function_call", name="shell", arguments="{}", call_id=identity)


def output(identity: str) -> Record:
    return item(type="function_call_output", call_id=identity, output="fine")


def thought(sealed: str = "gAAA") -> Record:
    return item(type="reasoning", summary=[], content=None, encrypted_content=sealed)


def usage(prompt: int, completion: int, total: int | None = None) -> Record:
    last = {
        "input_tokens": prompt,
        "cached_input_tokens": 3,
        "output_tokens": completion,
        "reasoning_output_tokens": 1,
        "total_tokens": prompt + completion,
    }
    sums = {"total_tokens": total or prompt + completion}
    info = {"last_token_usage": last, "total_token_usage": sums, "model_context_window": 1000}
    return wrapped("event_msg", type="token_count", info=info)


META = wrapped("session_meta", id="i", timestamp="t", base_instructions={"text": "Be careful."})
TURN = wrapped("turn_context", model="gpt-5-codex", cwd="/x")


def sizes(transcript: Any) -> list[tuple[int | None, int | None]]:
    steps = [step for step in transcript.steps if isinstance(step, Response)]
    return [(step.prompt_reported, step.completion_reported) for step in steps]


def test_a_recorded_rollout_imports_with_exact_counts_and_every_usage_at_its_response() -> None:
    (transcript,) = read_transcripts(shared("codex/rollout-123-calls.jsonl"))
    assert_lawful(transcript)
    assert counted(transcript.steps) == {"userInput": 13, "response": 132, "results": 123}
    assert noted(transcript) == {"abortedTurn": (169, 262, 552, 615)}
    assert (transcript.model, transcript.window) == ("gpt-5-codex", 272_000)
    reported = sizes(transcript)
    assert (reported[0], reported[1], reported[-1]) == ((2895, 246), (3741, 78), (93_537, 157))
    assert all(prompt and completion for prompt, completion in reported)
    first = transcript.steps[1]
    assert isinstance(first, Response)
    assert [message["type"] for message in first.messages] == ["reasoning", "function_call"]
    assert first.usage == {
        "input_tokens": 2895,
        "output_tokens": 246,
        "total_tokens": 3141,
        "input_tokens_details": {"cached_tokens": 2560},
        "output_tokens_details": {"reasoning_tokens": 192},
    }


def test_usage_in_front_of_the_items_belongs_to_the_items_behind_it(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            META, said("user", "go"), TURN, usage(10, 1), thought(), call("a"), output("a"), TURN,
            usage(20, 2, 99), said("assistant", "done"),
        ),
    )  # fmt: skip
    assert sizes(transcript) == [(10, 1), (20, 2)]
    assert tags(transcript.steps) == ["userInput", "response", "results", "response"]
    assert (transcript.system, transcript.window) == ("Be careful.", 1000)


def test_usage_behind_the_items_belongs_to_them_before_or_after_their_outputs(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            META, TURN, said("user", "go"), thought(), call("a"), usage(10, 1), output("a"),
            thought("b"), call("b"), output("b"), usage(20, 2, 50), said("assistant", "done"),
            usage(30, 3, 90),
        ),
    )  # fmt: skip
    assert sizes(transcript) == [(10, 1), (20, 2), (30, 3)]
    assert tags(transcript.steps) == [
        "userInput", "response", "results", "response", "results", "response"
    ]  # fmt: skip


def test_a_parallel_batch_that_is_interleaved_with_its_outputs_is_one_response(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            META, said("user", "go"), usage(10, 1), call("a"), output("a"), call("b"), output("b"),
            usage(20, 2, 50), said("assistant", "done"),
        ),
    )  # fmt: skip
    assert [[m.get("call_id") for m in step] for step in messages(transcript)[1:3]] == [
        ["a", "b"],
        ["a", "b"],
    ]


def test_the_bare_layout_imports_the_same(tmp_path: Path) -> None:
    head = {"id": "i", "timestamp": "t", "instructions": "Be careful.", "git": {}}
    bare = [
        record["payload"]
        for record in (said("user", "go"), thought(), call("a"), output("a"), call("b"), output("b"))
    ]
    transcript = read(tmp_path / "x", lines(head, {"record_type": "state"}, *bare))
    assert transcript.system == "Be careful."
    assert tags(transcript.steps) == ["userInput", "response", "results", "response", "results"]
    assert noted(transcript) == {}


def test_a_member_that_is_null_is_left_out_and_all_others_stay(tmp_path: Path) -> None:
    odd = item(
        type="reasoning", id=None, summary=[], content=None, encrypted_content="x", later={"y": [None]}
    )
    transcript = read(tmp_path / "x", lines(META, said("user", "go"), odd, said("assistant", "done")))
    assert messages(transcript)[1][0] == {
        "type": "reasoning", "summary": [], "encrypted_content": "x", "later": {"y": [None]}
    }  # fmt: skip


def test_usage_that_is_reported_again_or_without_a_response_is_noted(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(META, said("user", "go"), said("assistant", "a"), usage(10, 1), usage(10, 1), usage(11, 1)),
    )
    assert sizes(transcript) == [(10, 1)]
    assert noted(transcript) == {"repeatedUsage": (5,), "unmatchedUsage": (6,)}


def test_a_compaction_carries_its_recorded_replacement(tmp_path: Path) -> None:
    kept = [said("user", "go")["payload"], {"type": "compaction", "encrypted_content": "x"}]
    kept += [{"type": "ghost_snapshot", "ghost_commit": {}}]
    compacted = wrapped("compacted", message="", replacement_history=kept)
    transcript = read(
        tmp_path / "x",
        lines(META, said("user", "go"), said("assistant", "a"), compacted, said("assistant", "b")),
    )
    boundary = transcript.steps[2]
    assert isinstance(boundary, Boundary)
    assert [message["type"] for message in boundary.replacement] == ["message", "compaction"]


def test_a_compaction_without_one_is_the_users_messages_and_the_summary(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            META, said("user", "one"), said("assistant", "a"), said("user", "two"), said("assistant", "b"),
            wrapped("compacted", message="What was."), said("user", "three"),
        ),
    )  # fmt: skip
    boundary = transcript.steps[4]
    assert isinstance(boundary, Boundary)
    assert [m["content"][0]["text"] for m in boundary.replacement] == ["one", "two", "What was."]


def test_turns_that_were_taken_back_are_left_out_and_noted(tmp_path: Path) -> None:
    context = said("user", "<environment_context>x</environment_context>")
    transcript = read(
        tmp_path / "x",
        lines(
            META, context, said("user", "one"), said("assistant", "a"), said("user", "two"), call("b"),
            output("b"), wrapped("event_msg", type="thread_rolled_back", num_turns=1),
            said("user", "three"), said("assistant", "c"),
        ),
    )  # fmt: skip
    assert noted(transcript) == {"rolledBack": (5, 6, 7)}
    assert [m["content"][0]["text"] for m in messages(transcript)[2]] == ["three"]


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (item(type="ghost_snapshot", ghost_commit={}), "ghostItem"),
        (item(name="nothing"), "unreadableItem"),
        ({"type": 7}, "unknownRecord"),
        (output("nobody"), "orphanResult"),
    ],
)
def test_what_is_no_part_of_the_conversation_is_noted(tmp_path: Path, record: Record, kind: str) -> None:
    transcript = read(tmp_path / "x", lines(META, said("user", "go"), record, said("assistant", "a")))
    assert noted(transcript) == {kind: (3,)}
    assert counted(transcript.steps) == {"userInput": 1, "response": 1}


@pytest.mark.parametrize(
    "record",
    [
        wrapped("event_msg", type="token_count", info=7),
        wrapped("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": "x"}}),
        wrapped("turn_context", model=7),
        wrapped("compacted", message=None, replacement_history=[7, {}]),
        wrapped("event_msg", type="thread_rolled_back", num_turns=9),
        {"type": "response_item", "payload": None},
        {"type": "session_meta", "payload": {"base_instructions": 7, "instructions": []}},
        item(type="message", role="user", content=None),
    ],
)
def test_a_malformed_record_costs_no_more_than_itself(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "x"
    path.write_bytes(lines(META, record, said("user", "go"), said("assistant", "a")))
    (transcript,) = read_transcripts(path, format="codex")
    assert counted(transcript.steps)["response"] == 1


CUT = lines(
    META, TURN, said("user", "gö"), usage(10, 1), thought(), call("a"), output("a"), call("b"), output("b"),
    wrapped("event_msg", type="turn_aborted"), wrapped("compacted", message="Sum."), usage(20, 2, 50),
    said("assistant", "dône"), said("user", "more"),
    wrapped("event_msg", type="thread_rolled_back", num_turns=1),
)  # fmt: skip


@behaviour("importers.any-cut")
@given(cut=st.integers(min_value=0, max_value=len(CUT)), junk=st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_a_rollout_cut_at_any_byte_imports_lawfully(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x"
    path.write_bytes(CUT[:cut] + junk + b"\n" + CUT)
    (transcript,) = read_transcripts(path, format="codex")
    assert_lawful(transcript)
