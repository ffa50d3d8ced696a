"""`kill -9` between two calls, and two daemons at one session: with the real process on real files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.remote import remote
from tests.service.recorded import SAMPLE, TIGHT, play, read_one
from tests.support.behaviour import behaviour
from tests.support.peer import PeerError

WINDOW = 20_000


@behaviour("crash.view")
def test_killed_between_any_two_calls_a_session_is_byte_for_byte_what_it_was(tmp_path: Path) -> None:
    transcript = read_one(SAMPLE)
    chance = random.Random(20)
    kills = 0
    model = {"id": "claude-sonnet-4-5", "contextWindow": WINDOW}
    with remote(tmp_path, TIGHT) as session:
        session.open(dialect="anthropic", model=model)
        for moment in play(session, transcript):  # type: ignore[arg-type]  # a Remote has the calls of a Session
            changed = moment.method == "context/prepare" and moment.answer["report"]["stages"]
            if chance.random() > (0.5 if changed else 0.03):
                continue
            expected = session.standing()
            session.kill()
            again = session.open()
            assert again["access"] == "write"
            assert session.standing() == expected
            kills += 1
    assert kills >= 5


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


@behaviour("crash.take-over")
def test_a_second_daemon_reads_what_the_first_writes_and_takes_over_when_it_is_dead(tmp_path: Path) -> None:
    with remote(tmp_path) as first, remote(tmp_path) as second:
        first.open(dialect="anthropic")
        first.append(user("one"))
        beside = second.open()
        assert beside["access"] == "readOnly"
        assert beside["holder"]["pid"] == first.peer.process.pid
        assert beside["revision"] == 2
        first.append({"role": "assistant", "content": "two"})
        assert second.standing() == first.standing()
        prepared = second.prepare()
        assert prepared["messages"] == [user("one"), {"role": "assistant", "content": "two"}]
        writes: dict[str, dict[str, Any]] = {
            "session/append": {"messages": [user("three")]},
            "session/update": {"model": {"id": "claude-haiku-4-5"}},
            "context/report": {"requestId": prepared["requestId"], "outcome": "ok"},
        }
        for method, params in writes.items():
            with pytest.raises(PeerError) as refused:
                second.call(method, **params)
            assert refused.value.kind == "sessionLocked", method
            assert refused.value.data["holder"]["pid"] == first.peer.process.pid
            assert refused.value.data["hint"]
        assert second.standing() == first.standing()
        first.kill()
        second.call("session/close")
        assert second.open()["access"] == "write"
        assert second.append(user("three"))["revision"] == 4
        assert first.open()["access"] == "readOnly"
