"""The fingerprint of a request: the same for the same parts, another for any other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ctxd.core.fingerprint import fingerprint
from ctxd.core.fold import SessionState
from tests.core.test_fold import elision
from tests.support.behaviour import behaviour
from tests.support.session import Session

TEXT = "user: hi\n\ncall c Read path=a\nresult c 4000\n\nassistant: ok"


def session() -> Session:
    return Session(TEXT, system="be brief", model="one")


@behaviour("fingerprint.stable")
def test_the_same_events_give_the_same_fingerprint_after_a_restart() -> None:
    one = session()
    assert fingerprint(one.state) == fingerprint(one.replayed()) == fingerprint(session().state)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(model="two"),
        lambda s: s.update(system="be long"),
        lambda s: s.update(tools="[]"),
        lambda s: s.say("user: more"),
        lambda s: s.elide(elision(s, "m3", "c")),
        lambda s: s.commit(s.plan(requested=1)),
    ],
    ids=["model", "system", "tools", "history", "elision", "checkpoint"],
)
def test_every_part_of_the_request_is_in_it(change: Callable[[Session], object]) -> None:
    one = session()
    before = fingerprint(one.state)
    change(one)
    assert fingerprint(one.state) != before


def test_pending_messages_are_in_it() -> None:
    state = session().state
    assert len({fingerprint(state), fingerprint(state, b"{}"), fingerprint(state, b"{}{}")}) == 3


def test_what_stands_in_one_part_is_not_taken_for_another() -> None:
    one, two = SessionState(), SessionState()
    one.system, one.tools = "ab", "c"
    two.system, two.tools = "a", "bc"
    assert fingerprint(one) != fingerprint(two)


def test_lone_surrogates_have_a_fingerprint() -> None:
    state = SessionState()
    state.system = "\ud800"
    assert len(fingerprint(state)) == 64
