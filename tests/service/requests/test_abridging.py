"""What is shown of very large messages is what reading them whole would show, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects import registry
from ctxd.service.recall.large_bodies import LARGE_BYTES
from tests.service.host import Answer, LocalHost, Session
from tests.support import natives
from tests.support.behaviour import behaviour

ROWS = 'a row of "something"\n值' * (LARGE_BYTES // 20)


def expected(session: Session, dialect: str, message: Answer) -> Answer:
    """The message as it came, with what the daemon says stands for its results."""
    shown = dict(natives.results(dialect, session.messages("model")))
    assert all(len(text) < 10_000 for text in shown.values())
    return registry.get(dialect).with_results(message, shown)


@behaviour("budget.large")
@pytest.mark.parametrize("dialect", registry.NAMES)
def test_a_request_shows_of_a_large_result_what_the_whole_one_would(host: LocalHost, dialect: str) -> None:
    session = host.open(dialect=dialect)
    result = natives.answer(dialect, "c1", ROWS)
    session.append(natives.user(dialect, "go"), *natives.calling(dialect, ["c1"]), result)
    first = session.prepare()["messages"]
    assert first[-1] == expected(session, dialect, result)
    assert session.prepare("iteration")["messages"] == first
    (kept,) = host.registry.get(session.id).rendering.abridged.values()
    assert kept is not None
    assert len(kept.raw) < 1_000
    assert session.messages()[-1] == result
    host.reopen()
    session = host.open(dialect=dialect)
    assert session.prepare()["messages"] == first


def test_what_stands_beside_a_large_result_is_shown(host: LocalHost) -> None:
    """Long words of the user's in the same message, unknown members and other results stay."""
    session = host.open()
    said = "please read all of this\n" * (LARGE_BYTES // 20)
    content: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": "c1", "content": ROWS, "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": "c2", "content": "small", "odd": [1, {"a": None}]},
        {"type": "text", "text": said},
    ]
    message = {"role": "user", "content": content}
    session.append(natives.user("anthropic", "go"), *natives.calling("anthropic", ["c1", "c2"]), message)
    (shown,) = session.prepare()["messages"][-1:]
    assert shown["content"][1:] == content[1:]
    assert shown["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert len(shown["content"][0]["content"]) < 10_000


def test_a_large_result_after_a_lone_surrogate_is_shown(host: LocalHost) -> None:
    session = host.open(dialect="openai-chat")
    text = "\ud83d" + ROWS
    session.append(
        natives.user("openai-chat", "go"),
        *natives.calling("openai-chat", ["c1"]),
        natives.answer("openai-chat", "c1", text),
    )
    shown = session.prepare()["messages"][-1]["content"]
    assert shown.startswith(("?a row of", "\ufffda row of"))


def test_a_large_result_that_fits_is_shown_whole(host: LocalHost) -> None:
    host.configure({"recall": {"spillBytes": 10**8, "turnBytes": 10**8}, "wire": {"maxBytes": 10**8}})
    session = host.open()
    result = natives.answer("anthropic", "c1", ROWS)
    session.append(natives.user("anthropic", "go"), *natives.calling("anthropic", ["c1"]), result)
    assert session.prepare()["messages"][-1] == result
