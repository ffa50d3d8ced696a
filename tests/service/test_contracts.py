"""A declared contract through real compactions: what it names is still there, after a restart too."""

from __future__ import annotations

import json
from typing import Any

from tests.service.host import LocalHost

INVARIANT = "The public API must stay backwards compatible."


def turn(number: int, path: str) -> list[dict[str, Any]]:
    """One tool turn that writes a file and prints a lot."""
    call_id = f"call_{number}"
    use = {"type": "tool_use", "id": call_id, "name": "Write", "input": {"file_path": path, "content": "x"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": f"wrote {path}\n" + "line\n" * 400}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def test_what_a_contract_names_stands_after_every_compaction(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 20_000})
    session.call(
        "contract/declare",
        artifacts=[{"name": "slides", "pattern": "out/slide-*.png"}],
        invariants=[INVARIANT, "This sentence was never said."],
        validators=[{"id": "lint"}],
    )
    session.append({"role": "user", "content": "Make the slides."})
    session.append({"role": "assistant", "content": f"Noted. {INVARIANT} I begin."})
    for number in range(12):
        session.append(*turn(number, f"out/slide-{number:02}.png"))
    for _ in range(3):
        report = session.call("context/compact", strategy="deterministic")
        assert report["outcome"] == "applied"
        audit = report["audit"]
        assert audit["invariants"]["total"] == 1, "what was never said cannot be lost"
        assert audit["artifacts"]["total"] == 12
        assert audit["artifacts"]["referenced"] + audit["artifacts"]["reinjected"] == 12
        shown = json.dumps(session.call("session/history", view="model")["messages"])
        assert INVARIANT in shown
        assert all(f"out/slide-{number:02}.png" in shown for number in range(12))
        session.append({"role": "user", "content": "Go on. " + "more words " * 2000})
        session.append({"role": "assistant", "content": "Going on."})
