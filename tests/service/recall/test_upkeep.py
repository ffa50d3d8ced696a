"""Indexes filled ahead: begun by a very large output alone, and given up when the session is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.service.host import LocalHost, Session
from tests.support.behaviour import behaviour

GO = {"role": "user", "content": "go"}
ROWS = "a row of something\n" * 60_000


def ran(session: Session, call_id: str, text: Any) -> None:
    call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    session.append(GO, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})


async def everything_else() -> None:
    """Wait for every task but this one."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others)


def indexed(host: LocalHost, session: Session) -> int:
    return host.registry.get(session.id).output_index.mark().position


@behaviour("search.ahead")
@pytest.mark.parametrize(("text", "position"), [(ROWS, 3), (ROWS[:200_000], 0), ("small", 0)])
def test_a_very_large_output_is_indexed_before_anybody_asks(
    host: LocalHost, text: str, position: int
) -> None:
    session = host.open()
    ran(session, "c1", text)
    host.run(everything_else)
    assert indexed(host, session) == position
    assert session.call("recall/search", query="row something small")["hits"]


def test_what_is_appended_meanwhile_is_found_as_well(host: LocalHost) -> None:
    session = host.open()
    ran(session, "c1", ROWS)
    ran(session, "c2", ROWS)
    ran(session, "c3", "a marmot")
    (hit,) = session.call("recall/search", query="marmot")["hits"]
    assert hit["toolCallId"] == "c3"
    host.run(everything_else)
    assert len(session.call("recall/search", query="row")["hits"]) == 2


@pytest.mark.parametrize("ending", ["session/close", "session/delete", "daemon"])
def test_a_session_that_is_closed_meanwhile_is_closed_and_indexed_later(host: LocalHost, ending: str) -> None:
    session = host.open()
    ran(session, "c1", ROWS * 8)
    if ending == "daemon":
        host.reopen()
    else:
        session.call(ending)
    assert host.run(_nothing_runs)
    session = host.open()
    if ending != "session/delete":
        assert session.call("recall/search", query="row")["hits"]


async def _nothing_runs() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


def test_an_index_that_cannot_be_filled_ends_nothing(host: LocalHost) -> None:
    session = host.open()
    ran(session, "c0", "small")
    session.call("recall/search", query="small")
    (index,) = host.root.rglob("outputs.sqlite3")
    opened = host.registry.get(session.id)
    opened.output_index.close()
    for path in index.parent.glob("outputs.sqlite3*"):
        path.unlink()
    index.mkdir()
    ran(session, "c1", ROWS)
    host.run(everything_else)
    assert session.fetch("c1")["totalBytes"] == len(ROWS)
