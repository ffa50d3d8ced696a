"""A host in a few lines, against the real daemon; names on the wire as the protocol has them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.client import Client, ClientError, Session
from tests.support.behaviour import behaviour

ECHO = [sys.executable, str(Path(__file__).parents[1] / "support/echo_daemon.py")]
CALL = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "print('hi')\n"}


@behaviour("client.native")
def test_fields_are_camel_case_absent_ones_left_out_and_native_values_untouched() -> None:
    native = {"role": "user", "content": None, "snake_key": {"inner_key": None}}

    async def main() -> Any:
        async with Client.start(Path.cwd(), command=ECHO) as client:
            session = Session(client, {"sessionId": "s1"})
            return await session.call("echo", tool_call_id="c", page=None, messages=[native])

    assert anyio.run(main) == {"sessionId": "s1", "toolCallId": "c", "messages": [native]}


def test_a_host_talks_turn_by_turn_and_finds_everything_again_after_a_crash(tmp_path: Path) -> None:
    options = {"storage": {"root": str(tmp_path / "state")}}
    question = {"role": "user", "content": "what is in a.py?"}
    asks = {"role": "assistant", "content": [CALL]}
    gives = {"role": "user", "content": [RESULT]}
    answers = {"role": "assistant", "content": [{"type": "text", "text": "a print"}]}

    async def talk() -> str:
        async with Client.start(tmp_path, options=options) as client:
            model = {"id": "claude-sonnet-4-5", "contextWindow": 200_000}
            session = await Session.open(
                client, tmp_path, dialect="anthropic", model=model, system="Be brief."
            )
            await session.append([question])
            prepared = await session.prepare("turnStart")
            assert (prepared["messages"], prepared["system"]) == ([question], "Be brief.")
            await session.report([asks], usage={"input_tokens": 40, "output_tokens": 9})
            await session.append([gives], client_id="results-1")
            await session.steer("requestPause", "lunch")
            prepared = await session.prepare("iteration")
            assert prepared["messages"] == [question, asks, gives]
            assert [note["content"] for note in prepared["steering"]] == ["lunch"]
            assert prepared["projection"]["source"] == "provider_plus_estimate"
            await session.report([answers], usage={"input_tokens": 62, "output_tokens": 4})
            assert (await session.project())["tokens"] >= 66
            client.kill()
            return session.id

    async def resume(session_id: str) -> None:
        async with Client.start(tmp_path, options=options) as client:
            session = await Session.open(client, tmp_path, session_id=session_id, mode="resume")
            history = await session.history("model")
            assert [entry["message"] for entry in history["messages"]] == [question, asks, gives, answers]
            assert (await session.fetch("c1"))["content"] == RESULT["content"]
            with pytest.raises(ClientError) as unknown:
                await session.fetch("nobody")
            assert unknown.value.kind == "notFound"
            assert (await session.compact(dry_run=True))["outcome"] in ("planned", "noop")
            await session.close()

    anyio.run(resume, anyio.run(talk))
