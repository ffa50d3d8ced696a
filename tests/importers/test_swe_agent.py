"""SWE-agent trajectories: exact steps, outputs as they are."""

from __future__ import annotations

import json
from pathlib import Path

from ctxd.importers.detect import read_transcripts
from tests.importers.lawful import assert_lawful, counted, messages, noted, read, shared


def test_a_recorded_trajectory_imports_with_exact_counts_and_its_line_ends() -> None:
    path = shared("swe-agent/function-calling.traj")
    (transcript,) = read_transcripts(path)
    assert_lawful(transcript)
    assert counted(transcript.steps) == {"userInput": 1, "response": 13, "results": 13}
    assert transcript.notes == ()
    assert transcript.system[0]["content"].startswith("SETTING: You are an autonomous programmer")
    recorded = [m["content"] for m in json.loads(path.read_bytes())["history"] if m["role"] == "tool"]
    outputs = [m["content"] for step in messages(transcript) for m in step if m["role"] == "tool"]
    assert outputs == recorded
    assert sum(output.count("\r\n") for output in outputs) > 100


def test_only_what_was_sent_stays_and_demonstrations_are_noted(tmp_path: Path) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    history = [
        {"role": "system", "content": "s", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "shown", "is_demo": True},
        {"role": "user", "content": "go", "tags": ["x"]},
        {"role": "assistant", "content": "ls", "thought": "t", "action": "a", "tool_calls": [call]},
        {"role": "tool", "content": "a\r\n", "tool_call_ids": ["a"]},
        {"role": "assistant", "content": "done", "tool_calls": None},
    ]
    config = json.dumps({"agent": {"model": {"name": "anthropic/claude-x"}}})
    transcript = read(tmp_path / "x", {"history": history, "trajectory": [], "replay_config": config})
    assert (transcript.system, transcript.model) == ([{"role": "system", "content": "s"}], "claude-x")
    assert messages(transcript) == [
        [{"role": "user", "content": "go"}],
        [{"role": "assistant", "content": "ls", "tool_calls": [call]}],
        [{"role": "tool", "content": "a\r\n", "tool_call_id": "a"}],
        [{"role": "assistant", "content": "done"}],
    ]
    assert noted(transcript) == {"demonstration": (2,)}
