"""Compacting inside a tool loop that thinks: the kept tail begins where the provider's law allows (A.12)."""

from __future__ import annotations

from typing import Any

from tests.service.host import LocalHost


def step(number: int, *, thinks: bool, words: int = 400) -> list[dict[str, Any]]:
    call = {
        "type": "tool_use",
        "id": f"call_{number}",
        "name": "Bash",
        "input": {"command": f"step {number}"},
    }
    thought = {"type": "thinking", "thinking": "Next.", "signature": "c2ln"}
    result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": f"line {number}\n" * words}
    return [
        {"role": "assistant", "content": [thought, call] if thinks else [call]},
        {"role": "user", "content": [result]},
    ]


def kept_tail(host: LocalHost, thinks: list[bool]) -> list[dict[str, Any]]:
    session = host.open(model={"id": "claude-opus-4-5", "contextWindow": 30_000})
    session.append({"role": "user", "content": "Do all the steps."})
    for number, flag in enumerate(thinks):
        session.append(*step(number, thinks=flag))
    report = session.call("context/compact", strategy="deterministic")
    assert report["outcome"] == "applied"
    view = session.call("session/history", view="model")["messages"]
    return [line["message"] for line in view if line["message"]["role"] == "assistant"]


def test_the_tail_begins_with_a_message_that_thinks_where_one_does(host: LocalHost) -> None:
    assistants = kept_tail(host, [number % 3 == 0 for number in range(18)])
    assert assistants
    assert assistants[0]["content"][0]["type"] == "thinking"


def test_a_loop_that_thought_once_is_still_compacted(host: LocalHost) -> None:
    assistants = kept_tail(host, [number == 0 for number in range(40)])
    assert 0 < len(assistants) < 40
