"""The byte budget: oldest media first, then the largest outputs, never the newest unit."""

from __future__ import annotations

import base64
from typing import Any

from tests.service.host import LocalHost

LIMIT = 300_000


def image(size: int) -> dict[str, Any]:
    """A picture of few pixels and many bytes."""
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x08\x00\x00\x00\x08\x08\x02\x00\x00\x00"
    data = base64.b64encode(header + bytes(size)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def shot(number: int, size: int) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"c{number}", "name": "Screenshot", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [image(size)]}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def test_pictures_of_few_tokens_and_many_bytes_give_way_oldest_first(tmp_path: Any) -> None:
    with LocalHost(tmp_path / "state", {"wire": {"maxBytes": LIMIT}}) as host:
        session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
        session.append({"role": "user", "content": "look"})
        for number in range(5):
            session.append(*shot(number, 70_000))
        request = session.call("context/prepare", phase="turnStart")
        assert request["projection"]["bytes"]["value"] <= LIMIT
        assert [stage["reason"] for stage in request["report"]["stages"]] == ["byteBudget"]
        results = [m["content"][0]["content"] for m in request["messages"][2::2]]
        whole = [isinstance(content, list) for content in results]
        assert whole == sorted(whole), "the oldest went first"
        assert whole[-1], "the newest unit stays"
        again = session.call("context/prepare", phase="iteration")
        assert again["messages"] == request["messages"]


def test_a_picture_in_a_users_message_gives_way_to_a_note_that_names_its_handle(tmp_path: Any) -> None:
    with LocalHost(tmp_path / "state", {"wire": {"maxBytes": LIMIT}}) as host:
        session = host.open()
        for number in range(4):
            content = [{"type": "text", "text": f"picture {number}"}, image(80_000)]
            session.append({"role": "user", "content": content}, {"role": "assistant", "content": "seen"})
        request = session.call("context/prepare", phase="turnStart")
        first = request["messages"][0]["content"]
        message_id = session.call("session/history")["messages"][0]["messageId"]
        assert first[0] == {"type": "text", "text": "picture 0"}
        assert message_id in first[1]["text"]
        assert "image" in session.call("recall/fetch", messageId=message_id)["content"]
