"""Appends too large for the loop: described and counted elsewhere, written whole, weighed all the same."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec

from ctxd.model.events import Model
from ctxd.model.messages import Native
from ctxd.model.settings import Settings, Storage
from ctxd.service.counting import Counting
from ctxd.service.environment import Environment, fresh_id
from ctxd.service.intake import append
from ctxd.service.intake.description import Meta
from ctxd.service.opening import Fixed
from ctxd.service.registry import Registry
from ctxd.service.session import Session
from tests.service.host import LocalHost

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def said(number: int, size: int) -> dict[str, Any]:
    return {"role": "user", "content": f"{number} " + "some words of a person " * (size // 23)}


def turns(count: int, size: int) -> list[dict[str, Any]]:
    """Calls with results of about `size` bytes, an image in every tenth."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"/{number}"}}
        content: list[dict[str, Any]] = [{"type": "text", "text": said(number, size)["content"]}]
        if number % 10 == 0:
            source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
            content.append({"type": "image", "source": source})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": content}
        found += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return found


def test_an_append_of_more_than_a_megabyte_is_counted_when_it_matters_and_weighs_the_same(
    host: LocalHost,
) -> None:
    messages = [said(0, 10), *turns(300, 5_000)]
    at_once, bit_by_bit = host.open("once"), host.open("bits")
    at_once.append(*messages)
    for start in range(0, len(messages), 20):
        bit_by_bit.append(*messages[start : start + 20])
    one, other = (host.registry.get(name).state for name in ("once", "bits"))
    assert len(one.uncounted) == len(messages)
    assert not other.uncounted
    projections = [session.call("context/project") for session in (at_once, bit_by_bit)]
    assert not one.uncounted
    assert projections[0]["tokens"] == projections[1]["tokens"]
    assert one.view_media == other.view_media > 0
    host.reopen()
    assert host.open("once", dialect=None).call("context/project") == projections[0]


def test_thousands_of_tiny_messages_fit_their_records(host: LocalHost) -> None:
    """Their facts take more room than their text, and a record has a limit."""
    session = host.open()
    answer = session.append(*({"role": "user", "content": str(number)} for number in range(80_000)))
    assert len(set(answer["messageIds"])) == 80_000
    state = host.reopen().open(dialect=None).host.registry.get("s1").state
    assert [facts.id for facts in state.transcript] == answer["messageIds"]


def test_what_is_large_is_described_and_put_into_records_away_from_the_loop(folder: Path) -> None:
    made: list[tuple[str, bool]] = []
    loop = threading.get_ident()

    def new_id(prefix: str) -> str:
        made.append((prefix, threading.get_ident() == loop))
        return fresh_id(prefix)

    async def appended(session: Session, *messages: dict[str, Any]) -> list[tuple[str, bool]]:
        made.clear()
        natives = [Native(msgspec.json.encode(message), message) for message in messages]
        await append.append(session, natives, [Meta()] * len(natives))
        return list(made)

    async def run() -> None:
        session = await registry.open(
            str(folder),
            session_id="s",
            mode="create",
            read_only=False,
            dialect="anthropic",
            fixed=Fixed(model=Model(id="claude-sonnet-4-5")),
        )
        assert await appended(session, said(1, 1_000)) == [("m", True), ("e", True)]
        assert await appended(session, said(2, 400_000)) == [("m", False), ("e", False)]
        await registry.close()

    settings = Settings(storage=Storage(root=str(folder / "state")))
    registry = Registry(settings, environment=Environment(settings, Counting(), new_id=new_id))
    asyncio.run(run())
