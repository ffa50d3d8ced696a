"""How much of each message the model is shown, read from what was done to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.core import fidelity
from ctxd.core.fidelity import LEVELS, Shown
from ctxd.model.events import Elision, ElisionReason, ViewUndone
from tests.support.behaviour import behaviour
from tests.support.session import Session

WORK = "user: Look.\n\ncall c1 Read path=a.py\ncall c2 Read path=b.py\nresult c1 4000\nresult c2 4000"


def elision(message_id: str, call_id: str, reason: ElisionReason) -> Elision:
    return Elision(message_id=message_id, call_id=call_id, reason=reason, placeholder="[x]", saved=900)


def shown(session: Session) -> list[Shown]:
    return [fidelity.of_entry(entry, session.state) for entry in session.state.view]


@behaviour("fidelity.levels")
@pytest.mark.parametrize(
    ("reason", "level"),
    [
        ("spilled", "truncate"),
        ("clippedNewest", "truncate"),
        ("stale", "compact"),
        ("oversized", "compact"),
        ("superseded", "compact"),
        ("snipped", "compact"),
        ("cacheExpired", "compact"),
        ("byteBudget", "compact"),
    ],
)
def test_head_and_tail_is_truncate_and_one_line_is_compact(reason: ElisionReason, level: str) -> None:
    session = Session(WORK)
    session.elide(elision("m3", "c1", reason))
    assert [one.fidelity for one in shown(session)] == ["full", "full", level]
    assert shown(session)[2].handle == "c1"


def test_of_several_results_the_least_shown_gives_the_level_and_the_message_is_the_handle() -> None:
    session = Session(WORK)
    session.elide(elision("m3", "c1", "spilled"), elision("m3", "c2", "stale"))
    assert shown(session)[2] == Shown("compact", "m3")


def test_a_reused_call_id_is_no_handle() -> None:
    session = Session("call c1 Read path=a.py\nresult c1 4000")
    session.say("call c1 Read path=a.py\nresult c1 4000")
    session.elide(elision("m2", "c1", "stale"))
    assert shown(session)[1] == Shown("compact", "m2")


@behaviour("fidelity.levels")
def test_after_a_compaction_messages_are_whole_or_in_the_summary_and_undo_brings_them_back() -> None:
    session = Session(window=20_000)
    for number in range(30):
        session.say(f"user 400: ask{number}\n\nassistant: did {number}")
    session.commit(session.plan(requested=2_000))
    state = session.state
    fates = fidelity.departed(state)
    levels = [fidelity.of_message(facts.id, state, fates).fidelity for facts in state.transcript]
    assert levels[0] == "summary"
    assert levels[-1] == "full"
    assert set(levels) == {"full", "summary"}
    assert levels == sorted(levels, key=LEVELS.index, reverse=True)
    assert shown(session)[0] == Shown("summary")
    session.apply(ViewUndone(checkpoint_id="c1"))
    fates = fidelity.departed(state)
    assert {fidelity.of_message(f.id, state, fates).fidelity for f in state.transcript} == {"full"}


def test_a_message_that_no_checkpoint_speaks_of_and_no_view_shows_is_dropped() -> None:
    session = Session("user: a")
    assert fidelity.of_message("m9", session.state, {}) == Shown("dropped", "m9")


@given(st.lists(st.sampled_from(LEVELS)))
def test_the_lowest_level_is_one_of_those_given_and_none_is_lower(levels: list[str]) -> None:
    found = fidelity.lowest(level for level in LEVELS if level in levels)
    assert all(LEVELS.index(found) >= LEVELS.index(level) for level in LEVELS if level in levels)
    assert found in levels or not levels
