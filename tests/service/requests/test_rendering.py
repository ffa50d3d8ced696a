"""The view as bytes: kept up as it grows it is what rendering anew would make, and old parts stand still."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.dialects.registry import NAMES, get
from ctxd.service.requests.rendering import Rendering
from tests.dialects.lists import any_list, lawful_list
from tests.dialects.notation import Messages, read, write
from tests.service.host import LocalHost, Refused, Session
from tests.support.behaviour import behaviour

_names = itertools.count()
_checked = settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def render_anew(session: Session) -> Messages:
    inner = session.host.registry.get(session.id)

    async def render() -> Messages:
        rendering = Rendering()
        natives = await inner.natives(rendering.stale(inner.state))
        shown, _ = rendering.render(inner.state, natives)
        return [json.loads(item.raw) for item in shown]

    return session.host.run(render)


@behaviour("rendering.kept-up")
@pytest.mark.parametrize("dialect", NAMES)
@_checked
@given(data=st.data())
def test_a_view_that_was_kept_up_is_the_view_rendered_at_once(
    daemon: LocalHost, dialect: str, data: st.DataObject
) -> None:
    session = daemon.open(f"s{next(_names)}", dialect)
    for message in data.draw(any_list(dialect) | lawful_list(dialect), "messages"):
        try:
            session.append(message)
        except Refused:
            continue
        assert session.prepare()["messages"] == render_anew(session)


@pytest.mark.parametrize("dialect", NAMES)
@_checked
@given(data=st.data())
def test_what_stands_before_an_assistant_turn_never_changes_again(
    daemon: LocalHost, dialect: str, data: st.DataObject
) -> None:
    session = daemon.open(f"s{next(_names)}", dialect)
    frozen: Messages = []
    for message in data.draw(any_list(dialect) | lawful_list(dialect), "messages"):
        try:
            session.append(message)
        except Refused:
            continue
        made = session.prepare()["messages"]
        assert made[: len(frozen)] == frozen
        roles = [get(dialect).view(shown).role for shown in made]
        start = len(made)
        while start > 0 and roles[start - 1] != "assistant":
            start -= 1
        while start > 0 and roles[start - 1] == "assistant":
            start -= 1
        if start < len(made) and "assistant" in roles:
            frozen = made[:start]


CALLS = {
    "anthropic": "U A(1) A(2) U(1) U(2) A",
    "openai-chat": "U A(1,2) R(2) R(1) A",
    "openai-responses": "U A(think) A(1) A(2) R(2) R(1) A",
    "gemini": "U A(1,2) U(2,1) A",
}


@pytest.mark.parametrize("dialect", NAMES)
def test_parallel_calls_that_come_one_by_one_keep_their_results(host: LocalHost, dialect: str) -> None:
    session = host.open(dialect=dialect)
    codec = host.registry.get(session.id).dialect
    for message in read(CALLS[dialect], dialect):
        session.append(message)
        session.prepare()
    assert write(session.messages("model"), codec) == CALLS[dialect]


def test_contents_that_are_joined_do_not_keep_older_ones_from_being_settled(host: LocalHost) -> None:
    session = host.open(dialect="gemini")
    for number in range(30):
        for text in (f"U(ask) A(think) A({number}) U({number})", "A(t) A(more)"):
            for message in read(text, "gemini"):
                session.append(message)
        session.prepare()
    inner = host.registry.get(session.id)
    assert len(inner.rendering.stale(inner.state)) == 2
    assert session.prepare()["messages"] == render_anew(session)


def test_what_a_person_says_between_call_and_result_goes_behind_the_result(host: LocalHost) -> None:
    session = host.open()
    codec = host.registry.get(session.id).dialect
    for message in read("U A(1) U(wait) U(1) A", "anthropic"):
        session.append(message)
        session.prepare()
    assert write(session.messages("model"), codec) == "U A(1) U(1) U(wait) A"


def test_a_lone_surrogate_is_kept_in_the_log_and_shown_as_a_replacement(host: LocalHost) -> None:
    session = host.open()
    session.append({"role": "user", "content": "half \ud83d of a pair"})
    assert session.messages() == [{"role": "user", "content": "half \ud83d of a pair"}]
    assert session.prepare()["messages"] == [{"role": "user", "content": "half \ufffd of a pair"}]
    host.reopen()
    assert host.open().messages() == [{"role": "user", "content": "half \ud83d of a pair"}]
