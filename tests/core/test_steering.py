"""The queue of what is said into a turn: order, bounds, ids, and whose turn a control belongs to."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from ctxd.core.steering import CAPACITY, CONTENT_BYTES, Steer, Steering
from ctxd.model.events import Rewound
from ctxd.model.messages import Usage
from ctxd.model.steering import SteeringDrained, SteerKind
from tests.support.behaviour import behaviour
from tests.support.session import Session, snapshot

KINDS: list[SteerKind] = list(get_args(SteerKind))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.sampled_from("abcdefgh"), st.sampled_from(KINDS)),
        st.tuples(st.just("drain"), st.booleans(), st.booleans()),
        st.tuples(st.just("say"), st.none(), st.none()),
    ),
    max_size=40,
)


def ids(steers: tuple[Steer, ...]) -> list[str]:
    return [steer.id for steer in steers]


@behaviour("steering.order")
@given(steps=STEPS)
def test_messages_come_once_and_in_the_order_they_were_pushed_whatever_happens_between(
    steps: list[tuple[str, object, object]],
) -> None:
    session = Session()
    pushed: list[str] = []
    delivered: list[str] = []
    controls: list[str] = []
    for step, one, two in steps:
        match step:
            case "push":
                kind = next(kind for kind in KINDS if kind == two)
                fresh = str(one) not in session.state.steering.known
                session.steer(str(one), kind, f"say {one}")
                if fresh and kind in ("followUp", "systemReminder"):
                    pushed.append(str(one))
            case "drain":
                due = session.drain(begins_turn=bool(one), retries=bool(two))
                delivered += ids(due.messages)
                controls += ids((*due.controls, *due.stale))
            case _:
                session.say("user: go on\n\nassistant: yes")
    waiting = [s.id for s in session.state.steering.waiting.values() if not s.is_control]
    assert delivered + waiting == pushed, "nothing lost, nothing twice, nothing out of order"
    assert len(set(controls)) == len(controls)
    shown = [facts.steered for facts in session.state.transcript if facts.steered]
    assert len(shown) == len(delivered)
    assert snapshot(session.replayed()) == snapshot(session.state)


@behaviour("steering.no-turn")
def test_what_is_said_into_a_turn_begins_no_turn_and_ages_nothing() -> None:
    session = Session("user: Look.\n\ncall c1 Read path=a.py\nresult c1 4000")
    for number in range(8):
        session.steer(f"w{number}", content="and this")
        session.drain()
    assert session.state.turn == 1
    assert {entry.turn for entry in session.state.view} == {1}
    assert session.state.transcript[-1].user_turn, "a person said it"
    session.say("user: next")
    assert session.state.turn == 2


def test_the_bound_of_messages_stops_no_control_and_that_of_controls_no_message() -> None:
    queue = Steering()
    for number in range(CAPACITY):
        assert not queue.is_full("followUp")
        queue.add(Steer(f"m{number}", "followUp", "x", 1))
    assert queue.is_full("followUp")
    assert queue.is_full("systemReminder")
    for number in range(CAPACITY):
        assert not queue.is_full("cancel")
        queue.add(Steer(f"c{number}", "cancel", "", 1))
    assert queue.is_full("requestPause")
    assert (CAPACITY, CONTENT_BYTES) == (16, 65_536)


def test_controls_are_told_before_messages_and_a_cancel_before_a_pause() -> None:
    session = Session("user: go")
    session.steer("a")
    session.steer("b", "requestPause")
    due = session.drain()
    assert (ids(due.controls), ids(due.messages)) == (["b"], ["a"])
    session.steer("c", "requestPause")
    session.steer("d", "cancel")
    assert ids(session.drain().controls) == ["d", "c"]


@behaviour("steering.leftovers")
def test_a_cancelled_request_takes_in_no_message_and_the_next_turn_does() -> None:
    session = Session("user: go")
    session.steer("a", content="also this")
    session.steer("b", "cancel")
    due = session.drain()
    assert (ids(due.controls), ids(due.messages)) == (["b"], [])
    session.say("assistant: stopped\n\nuser: now that")
    assert ids(session.drain(begins_turn=True).messages) == ["a"]


def test_a_retry_takes_in_controls_alone() -> None:
    session = Session("user: go")
    session.steer("a")
    session.steer("b", "requestPause")
    due = session.drain(retries=True)
    assert (ids(due.controls), ids(due.messages)) == (["b"], [])


@behaviour("steering.stale-controls")
def test_a_control_whose_turn_has_ended_stops_nothing() -> None:
    session = Session("user: go\n\nassistant: done")
    session.steer("late", "cancel")
    session.steer("words")
    session.say("user: another thing")
    due = session.drain(begins_turn=True)
    assert (ids(due.controls), ids(due.messages), ids(due.stale)) == ([], ["words"], ["late"])
    assert not session.state.steering.waiting


def test_a_control_outlives_what_a_person_says_inside_its_turn() -> None:
    session = Session("user: go")
    session.steer("stop", "cancel")
    session.say("user: wait")
    assert ids(session.drain().controls) == ["stop"]


def test_a_rewind_leaves_the_words_and_takes_the_controls_their_turn() -> None:
    session = Session("user: one\n\nassistant: yes\n\nuser: two")
    session.steer("stop", "cancel")
    session.steer("words")
    session.apply(Rewound(to="m3"))
    session.say("user: three")
    due = session.drain(begins_turn=True)
    assert (ids(due.controls), ids(due.messages), ids(due.stale)) == ([], ["words"], ["stop"])


def test_a_rewind_to_what_was_said_into_a_turn_stays_in_that_turn() -> None:
    session = Session("user: one\n\nassistant: yes\n\nuser: two")
    session.steer("words")
    session.drain()
    steered = session.state.transcript[-1].id
    session.say("assistant: both")
    session.apply(Rewound(to=steered))
    assert (session.state.turn, session.state.view[-1].facts.id) == (2, "m3")


def test_an_id_is_taken_once_and_unknown_ids_of_a_drain_change_nothing() -> None:
    session = Session("user: go")
    session.steer("a", content="one")
    session.steer("a", content="two")
    assert [s.content for s in session.state.steering.waiting.values()] == ["one"]
    assert session.state.steering.is_same("a", "followUp", "one")
    assert not session.state.steering.is_same("a", "systemReminder", "one")
    session.apply(SteeringDrained(steer_ids=("nobody",)))
    assert list(session.state.steering.waiting) == ["a"]


def test_the_projection_counts_what_was_taken_in_on_top_of_its_anchor() -> None:
    session = Session("user: go", window=20_000)
    session.answer("assistant: yes", Usage(prompt=1_000, completion=10))
    before = session.project()
    session.steer("a", content="w" * 400)
    session.drain()
    after = session.project()
    assert after.source == "provider_plus_estimate"
    assert 100 <= after.tokens - before.tokens <= 120
