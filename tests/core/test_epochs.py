"""Undo, pins and handoffs as the fold sees them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ctxd.core import epochs
from ctxd.model.events import HandoffRecorded, Pinned, Placed, Unpinned, ViewUndone
from tests.core.test_fold import elision
from tests.support.behaviour import behaviour
from tests.support.session import Session, snapshot

WORK = "user: Do it.\n\n" + "\n\n".join(
    f"call c{n} Run n={n}\nresult c{n} 6000\n\nassistant 400: step{n}" for n in range(12)
)


def shown_ids(session: Session) -> list[str]:
    return [entry.facts.id for entry in session.state.view]


def handoff(session: Session, observed: int = 75, **changed: Any) -> HandoffRecorded:
    event = HandoffRecorded(
        version=1,
        observed_prompt_tokens=observed,
        available_for_input=100,
        handoff_threshold=70,
        compaction_threshold=80,
        facts=session.own("rollover is near", "handoff"),
    )
    if "message_id" in changed:
        changed["facts"] = msgspec.structs.replace(event.facts, id=changed.pop("message_id"))
    return msgspec.structs.replace(event, **changed)


@behaviour("fold.undo")
def test_undo_brings_back_the_view_before_the_checkpoint_byte_for_byte() -> None:
    session = Session(WORK)
    before = session.state.view_digest()
    session.commit(session.plan(requested=2_500))
    assert session.state.view[-1].elided or session.state.view_digest() != before
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert session.state.view_digest() == before
    assert session.state.checkpoints == []
    assert session.state.summary == Session().state.summary


def test_what_a_checkpoint_clipped_is_whole_again_after_undo() -> None:
    session = Session("user: Do it.\n\ncall a Run\nresult a 400\n\ncall b Run\nresult b 40000")
    plan = session.plan(requested=1_000)
    assert [e.call_id for e in plan.elisions] == ["b"]
    before = session.state.view_tokens
    session.commit(plan)
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert [entry.elided for entry in session.state.view] == [()] * 5
    assert session.state.view_tokens == before


def test_messages_since_the_checkpoint_follow_the_view_that_came_back() -> None:
    session = Session(WORK)
    before = shown_ids(session)
    session.commit(session.plan(requested=2_500))
    later = session.say("user: more")
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert shown_ids(session) == [*before, *later]


def test_undoing_the_first_of_two_checkpoints_takes_the_second_with_it() -> None:
    session = Session(WORK)
    before = session.state.view_digest()
    session.commit(session.plan(requested=2_500))
    session.commit(session.plan(requested=1_200))
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert session.state.view_digest() == before
    assert session.state.epoch == 0


def test_undoing_the_second_checkpoint_alone_brings_back_what_the_first_made() -> None:
    session = Session(WORK)
    session.commit(session.plan(requested=2_500))
    between, summary = session.state.view_digest(), session.state.summary
    session.say(WORK.replace("c1", "d1").replace("call c", "call e").replace("result c", "result e"))
    view = session.state.view_digest()
    session.commit(session.plan(requested=2_500))
    session.apply(ViewUndone(checkpoint_id="c2"))
    assert session.state.view_digest() == view != between
    assert session.state.summary == summary
    assert session.state.epoch == 1


def test_a_message_that_an_earlier_checkpoint_took_does_not_come_back_with_a_later_undo() -> None:
    session = Session(WORK)
    session.commit(session.plan(requested=2_500))
    gone = {facts.id for facts in session.state.transcript} - set(shown_ids(session))
    plan = session.plan(requested=1_200)
    session.apply(Pinned(pin_id="p1", tokens=5, text="hold", facts=session.own("hold", "pin")))
    session.say("user: later")
    covers = len(session.state.view) - 2
    session.commit(plan)
    checkpoint = msgspec.structs.replace(session.state.checkpoints[-1], covers=covers)
    fresh = Session(WORK)
    for event, _ in session.events[2:-1]:
        fresh.apply(event)
    fresh.apply(checkpoint)
    fresh.apply(ViewUndone(checkpoint_id="c2"))
    assert gone.isdisjoint(shown_ids(fresh))


def test_undoing_what_is_not_known_changes_nothing_but_the_revision() -> None:
    session = Session(WORK)
    before = snapshot(session.state)
    session.apply(ViewUndone(checkpoint_id="nobody"))
    assert {k for k, v in snapshot(session.state).items() if v != before[k]} == {"revision"}


def test_a_pinned_text_is_shown_once_and_leaves_when_it_is_let_go() -> None:
    session = Session(WORK)
    before = session.state.view_tokens
    facts = session.own("hold", "pin")
    session.apply(Pinned(pin_id="p1", tokens=5, text="hold", facts=facts))
    assert shown_ids(session)[-1] == facts.id
    assert session.state.view_tokens == before + facts.tokens
    session.apply(Unpinned(pin_id="p1"))
    assert facts.id not in shown_ids(session)
    assert session.state.view_tokens == before


@behaviour("fold.pins")
def test_a_pinned_message_stays_through_a_compaction_word_for_word() -> None:
    session = Session("user: The port is 8081.\n\n" + WORK)
    session.apply(Pinned(pin_id="p1", tokens=5, message_id="m1"))
    session.commit(session.plan(requested=2_500))
    assert "m1" in shown_ids(session)


def test_letting_go_of_a_pin_that_is_not_there_changes_nothing_but_the_revision() -> None:
    session = Session(WORK)
    before = snapshot(session.state)
    session.apply(Unpinned(pin_id="nobody"))
    assert {k for k, v in snapshot(session.state).items() if v != before[k]} == {"revision"}


@behaviour("handoff.once")
def test_a_handoff_is_shown_once_an_epoch() -> None:
    session = Session(WORK)
    session.apply(handoff(session))
    assert session.state.view[-1].facts.inserted == "handoff"
    assert not session.state.handoff.is_open
    session.commit(session.plan(requested=2_500))
    assert session.state.handoff.is_open


@behaviour("handoff.once")
def test_a_second_handoff_suppresses_the_epoch() -> None:
    session = Session(WORK)
    before = session.state.view_digest()
    session.apply(handoff(session))
    session.apply(handoff(session))
    assert session.state.handoff == epochs.Handoff(suppressed=True)
    assert session.state.view_digest() == before


@behaviour("handoff.once")
@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2},
        {"observed": 69},
        {"observed": 80},
        {"observed": -1},
        {"compaction_threshold": 101},
        {"available_for_input": 0},
        {"message_id": "h\n"},
        {"message_id": "h" * 129},
        {"message_id": ""},
    ],
)
def test_a_malformed_handoff_suppresses_the_epoch(changed: dict[str, Any]) -> None:
    session = Session(WORK)
    before = shown_ids(session)
    session.apply(handoff(session, **changed))
    assert session.state.handoff.suppressed
    assert shown_ids(session) == before


def test_an_elision_after_a_checkpoint_is_not_in_the_view_before_it() -> None:
    session = Session(WORK)
    before = session.state.view_digest()
    session.commit(session.plan(requested=4_000))
    kept = next(e for e in reversed(session.state.view) if e.facts.results and not e.elided)
    session.elide(elision(session, kept.facts.id, kept.facts.results[0].call_id))
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert session.state.view_digest() == before


def test_the_handoff_shown_before_a_checkpoint_is_shown_again_and_no_second_one_may_follow() -> None:
    session = Session(WORK)
    session.apply(handoff(session))
    before = session.state.view_digest()
    session.commit(session.plan(requested=2_500))
    session.apply(handoff(session))
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert session.state.view_digest() == before
    assert not session.state.handoff.is_open
    assert not session.state.handoff.suppressed


def test_a_handoff_of_an_undone_epoch_is_gone_with_it() -> None:
    session = Session(WORK)
    before = session.state.view_digest()
    session.commit(session.plan(requested=2_500))
    session.apply(handoff(session))
    session.apply(ViewUndone(checkpoint_id="c1"))
    assert session.state.view_digest() == before
    assert session.state.handoff.is_open


def test_undoing_a_checkpoint_of_the_beginning_brings_back_all_that_stood_behind_it() -> None:
    session = Session(WORK)
    session.apply(Pinned(pin_id="p1", tokens=5, message_id="m2"))
    session.commit(session.plan(requested=2_500))
    session.apply(Pinned(pin_id="p2", tokens=5, text="hold", facts=session.own("hold", "pin")))
    session.say("user: newest")
    before, ids = session.state.view_digest(), shown_ids(session)
    summary = session.own("the beginning", "summary")
    checkpoint = msgspec.structs.replace(
        session.state.checkpoints[-1], checkpoint_id="c2", covers=1, replacement=(Placed(summary, 0),)
    )
    session.apply(msgspec.structs.replace(checkpoint, elisions=()))
    assert shown_ids(session) == [summary.id, *ids[1:]]
    later = session.say("user: later")
    session.apply(ViewUndone(checkpoint_id="c2"))
    assert shown_ids(session) == [*ids, *later]
    for message_id in later:
        assert session.state.places[message_id] == len(ids)
    fresh = session.replayed(len(session.events) - 3)
    assert fresh.view_digest() == before


def test_what_is_elided_after_an_undo_stays_elided_through_an_earlier_undo() -> None:
    session = Session(WORK)
    session.commit(session.plan(requested=2_500))
    later = session.say("call z1 Run\nresult z1 6000\n\nassistant: ok\n\ncall z2 Run\nresult z2 6000")
    session.commit(session.plan(requested=2_500))
    session.apply(ViewUndone(checkpoint_id="c2"))
    session.elide(elision(session, later[1], "z1"))
    session.apply(ViewUndone(checkpoint_id="c1"))
    entry = session.state.view[session.state.places[later[1]]]
    assert [e.call_id for e in entry.elided] == ["z1"]
