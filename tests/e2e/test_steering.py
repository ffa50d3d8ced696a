"""`kill -9` while somebody speaks into a turn: what was acknowledged is there, once and in order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.e2e.remote import Remote, remote
from tests.support.behaviour import behaviour

WORDS = ("followUp", "systemReminder")


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def shown(session: Remote) -> str:
    return str(session.call("session/history", view="model")["messages"])


@behaviour("steering.killed")
def test_killed_between_any_two_calls_nothing_said_is_lost_or_said_twice(tmp_path: Path) -> None:
    chance = random.Random(28)
    pushed: list[str] = []
    delivered: list[str] = []
    kinds: dict[str, str] = {}
    with remote(tmp_path) as session:
        session.open(dialect="anthropic", model={"id": "claude-sonnet-4-5"})
        session.append(user("Go."))
        for number in range(60):
            match chance.choice(("push", "push", "prepare", "kill", "again")):
                case "push":
                    text = f"word-{number:02}"
                    kinds[text] = chance.choice(WORDS)
                    answer = session.call("steer/push", kind=kinds[text], content=text, id=text)
                    pushed.append(text)
                    assert answer == {"id": text, "pending": len(pushed) - len(delivered)}
                case "prepare":
                    made = session.prepare("iteration")
                    delivered += [note["id"] for note in made["steering"]]
                    session.report(made["requestId"], said(f"answer {number}"))
                case "again" if pushed:
                    text = chance.choice(pushed)
                    before = session.standing()
                    session.call("steer/push", kind=kinds[text], content=text, id=text)
                    assert session.standing() == before
                case _:
                    expected = session.standing(), session.call("steer/pending")
                    session.kill()
                    session.open()
                    assert (session.standing(), session.call("steer/pending")) == expected
        delivered += [note["id"] for note in session.prepare("iteration")["steering"]]
        text = shown(session)
    assert delivered == pushed
    assert [text.count(word) for word in pushed] == [1] * len(pushed)
    assert sorted(pushed, key=text.index) == pushed


@behaviour("steering.killed")
def test_killed_in_the_midst_of_a_push_or_a_prepare_it_is_there_once(tmp_path: Path) -> None:
    """Nobody waits for the answer: the call is on its way when the daemon dies."""
    chance = random.Random(9)
    sent: list[str] = []
    with remote(tmp_path) as session:
        session.open(dialect="anthropic", model={"id": "claude-sonnet-4-5"})
        session.append(user("Go."))
        for number in range(12):
            text = f"word-{number:02}"
            sent.append(text)
            params = {"sessionId": session.id, "kind": "followUp", "content": text, "id": text}
            session.call("steer/push", kind="requestPause", id=f"pause-{number}")
            asked = session.peer.ask("steer/push", params)
            session.peer.ask("context/prepare", {"sessionId": session.id, "phase": "iteration"})
            if chance.random() < 0.5:
                session.peer.wait(asked)
            session.kill()
            session.open()
            session.call("steer/push", kind="followUp", content=text, id=text)
            told = session.prepare("iteration")
            assert f"pause-{number}" in [note["id"] for note in told["steering"]], "the host was never told"
            session.report(told["requestId"], said(f"answer {number}"))
        assert session.call("steer/pending") == {"items": []}
        text = shown(session)
    assert [text.count(word) for word in sent] == [1] * len(sent)
    assert sorted(sent, key=text.index) == sent
