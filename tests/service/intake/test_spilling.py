"""Results too large to be shown whole: head, tail and an exact handle, whatever else the message holds."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from tests.service.host import LocalHost

BIG = "\n".join(f"row {number:06}" for number in range(4000))


def ask(call_id: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "dump"}}],
    }


def answer(call_id: str, content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": content}]}


def handle_in(text: str) -> dict[str, Any]:
    found = re.search(r"recall (\{.*?\})", text)
    assert found is not None
    return dict(json.loads(found[1]))


def test_a_reused_id_is_named_with_the_occurrence_that_was_spilled(tmp_path: Any) -> None:
    with LocalHost(tmp_path / "state", {"recall": {"spillBytes": 10_000}}) as host:
        session = host.open(dialect="openai-chat")
        for number in range(2):
            call = {"id": "c", "type": "function", "function": {"name": "dump", "arguments": "{}"}}
            session.append(
                {"role": "user", "content": "dump"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": f"{number}\n{BIG}"},
            )
        shown = [line["message"] for line in session.call("session/history", view="model")["messages"]]
        results = [message["content"] for message in shown if message["role"] == "tool"]
        for number, text in enumerate(results):
            assert text.startswith(f"{number}\nrow 000000")
            part = session.call("recall/fetch", **handle_in(text))
            assert part["content"].startswith(f"{number}\n")


def test_a_spilled_result_with_an_image_weighs_no_image_any_more(tmp_path: Any) -> None:
    image = {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(b"\x89PNG" + bytes(60_000)).decode(),
        },
    }
    with LocalHost(tmp_path / "state", {"recall": {"spillBytes": 10_000}}) as host:
        session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
        session.append(
            {"role": "user", "content": "dump"},
            ask("c"),
            answer("c", [{"type": "text", "text": BIG}, image]),
        )
        categories = session.call("context/project", detail="categories")["categories"]
        assert not [c for c in categories if c["name"] == "media"]
        shown = session.call("session/history", view="model")["messages"][-1]["message"]
        assert image["source"]["data"] not in json.dumps(shown)
        assert session.call("context/project")["bytes"]["value"] < 15_000
