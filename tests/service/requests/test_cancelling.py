"""A cancelled request: what went to disk is known in memory too, whenever the cancellation came."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.service.host import Answer, LocalHost, Session
from tests.support.behaviour import behaviour


def user(text: str) -> Answer:
    return {"role": "user", "content": text}


def cancel_after(host: LocalHost, turns: int, method: str, params: dict[str, Any]) -> bool:
    """Begin a call, let the loop turn so many times, cancel it. True when it was cancelled in time."""

    async def run() -> bool:
        task = asyncio.create_task(host.ask(method, params))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    return host.run(run)


def standing(session: Session) -> tuple[Any, list[Answer], list[Answer]]:
    return session.project(), session.messages(), session.messages("model")


@behaviour("cancel.on-disk")
@pytest.mark.parametrize("turns", [0, 1, 2, 4, 8])
def test_an_append_cancelled_at_any_moment_is_there_or_not_but_never_half(
    host: LocalHost, turns: int
) -> None:
    session = host.open()
    session.append(user("one"))
    params = {"sessionId": "s1", "messages": [user("two")], "clientId": "k"}
    cancel_after(host, turns, "session/append", params)
    known = standing(session)
    host.reopen()
    session = host.open()
    assert standing(session) == known
    again = session.append(user("two"), clientId="k")
    assert session.messages() == [user("one"), user("two")]
    assert again["revision"] == session.revision == 3


@pytest.mark.parametrize("turns", [1, 3, 8, 21])
def test_a_compaction_cancelled_at_any_moment_leaves_the_view_before_or_after_it(
    host: LocalHost, turns: int
) -> None:
    session = host.open(model={"id": "m", "contextWindow": 60_000})
    for number in range(12):
        session.append(user(f"ask {number} " + "word " * 1000), {"role": "assistant", "content": "ok"})
    params = {"sessionId": "s1", "strategy": "deterministic"}
    cancel_after(host, turns, "context/compact", params)
    known = standing(session)
    assert len(known[2]) == 24 or "Background" in str(known[2][0])
    host.reopen()
    assert standing(host.open()) == known
    assert host.call("context/compact", **params)["outcome"] in ("applied", "noop")


@pytest.mark.parametrize("turns", [1, 2, 4, 8, 16])
def test_a_prepare_cancelled_at_any_moment_can_be_asked_again(host: LocalHost, turns: int) -> None:
    session = host.open(model={"id": "m", "contextWindow": 20_000})
    for number in range(12):
        session.append(user(f"ask {number} " + "word " * 900), {"role": "assistant", "content": "ok"})
    params = {"sessionId": "s1", "phase": "turnStart"}
    cancel_after(host, turns, "context/prepare", params)
    known = standing(session)
    host.reopen()
    session = host.open()
    assert standing(session) == known
    assert session.prepare()["messages"] == session.messages("model")


def test_a_second_append_waits_for_one_that_was_cancelled_while_it_was_written(host: LocalHost) -> None:
    session = host.open()
    session.append(user("one"))

    async def run() -> Any:
        first = asyncio.create_task(
            host.ask("session/append", {"sessionId": "s1", "messages": [user("two")]})
        )
        second = asyncio.create_task(
            host.ask("session/append", {"sessionId": "s1", "messages": [user("three")]})
        )
        for _ in range(4):
            await asyncio.sleep(0)
        first.cancel()
        return await asyncio.gather(first, second, return_exceptions=True)

    _, answer = host.run(run)
    assert answer["revision"] == session.revision
    known = standing(session)
    host.reopen()
    assert standing(host.open()) == known
