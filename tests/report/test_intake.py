"""What of a recording reaches the daemon: usage that still holds, all that the daemon takes, no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.client import Client
from ctxd.importers.steps import Boundary, NoteTaker, Response, Results, Source, Step, UserInput
from ctxd.report import intake
from ctxd.report.intake import Intake, take_in


def said(text: str, line: int = 1) -> UserInput:
    return UserInput(messages=({"role": "user", "content": text},), line=line)


def answered(*calls: str, line: int = 2) -> Response:
    blocks = [{"type": "tool_use", "id": call, "name": "Read", "input": {}} for call in calls]
    content: list[Any] = [{"type": "text", "text": "so"}, *blocks]
    usage = {"input_tokens": 900, "output_tokens": 5}
    return Response(messages=({"role": "assistant", "content": content},), line=line, usage=usage)


def gave(call: str, content: str = "fine", line: int = 3) -> Results:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    return Results(messages=({"role": "user", "content": [block]},), line=line)


def import_steps(folder: Path, *steps: Step) -> tuple[Intake, list[Any], dict[str, Any]]:
    """The intake, the messages as the daemon has them, and its projection."""
    source = Source(
        format="claude-code", dialect="anthropic", name="x", steps=iter(steps), notes=NoteTaker(), model="m"
    )

    async def main() -> tuple[Intake, list[Any], dict[str, Any]]:
        async with Client.start(folder, options={"storage": {"root": str(folder / "state")}}) as client:
            done = await take_in(client, folder, source, "x.jsonl", "x")
            opening = {"workspace": folder.as_uri(), "sessionId": "x", "mode": "resume"}
            await client.request("session/open", opening)
            history = await client.request("session/history", {"sessionId": "x", "view": "transcript"})
            projection = await client.request("context/project", {"sessionId": "x"})
            return done, [entry["message"] for entry in history["messages"]], projection

    return anyio.run(main)


def test_usage_behind_a_recorded_compaction_is_left_out_and_so_is_its_summary(tmp_path: Path) -> None:
    summary = {"role": "user", "content": "never imported"}
    done, messages, projection = import_steps(
        tmp_path,
        said("go"),
        answered("a"),
        gave("a"),
        answered(),
        Boundary(line=4, replacement=(summary,)),
        said("more"),
        answered(),
    )
    assert (done.messages, done.responses, done.usages) == (6, 3, 2)
    assert summary not in messages
    assert projection["tokens"] > 905


def test_every_message_arrives_in_order_however_small_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "BATCH_BYTES", 1)
    steps = [step for n in range(20) for step in (said(str(n)), answered(f"c{n}"), gave(f"c{n}"))]
    done, messages, _ = import_steps(tmp_path, *steps)
    assert messages == [message for step in steps for message in step.messages]
    assert done.error == ""


def test_what_the_daemon_refuses_is_left_out_and_noted_with_its_line(tmp_path: Path) -> None:
    twice = answered("a", "a", line=7)
    done, messages, _ = import_steps(tmp_path, said("go"), answered("b"), gave("b"), twice, said("on", 9))
    assert [(note.kind, note.lines) for note in done.notes] == [("refused", (7,))]
    assert done.messages == len(messages) == 4
    assert messages[-1]["content"] == "on"
    assert done.error == ""
