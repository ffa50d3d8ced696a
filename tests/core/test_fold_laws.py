"""What holds of every session's events: any kind, any order."""

from __future__ import annotations

import hypothesis.strategies as st
import msgspec
from hypothesis import given, settings

from ctxd.core.fold import SessionState
from ctxd.model.events import MessagesAppended, Pinned, Unpinned, ViewUndone
from ctxd.model.messages import Usage
from tests.core.test_epochs import handoff
from tests.core.test_fold import elision
from tests.support.behaviour import behaviour
from tests.support.session import Session, fold, snapshot


@st.composite
def histories(draw: st.DrawFn) -> Session:
    """A session with events of every kind in some order."""
    session = Session(system="s" * 100, window=20_000)
    kinds = [
        "say",
        "say",
        "turn",
        "deferred",
        "late usage",
        "settle",
        "usage",
        "bare usage",
        "elide",
        "update",
    ]
    kinds += ["plan", "undo", "pin", "unpin", "handoff", "steer", "drain", "thought", "late thought"]
    for number, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=14))):
        match kind:
            case "say":
                session.say(f"user {draw(st.integers(1, 6000))}: word{number}")
            case "turn":
                size = draw(st.integers(1, 30_000))
                session.say(f"call c{number} Read path=f{number % 3}.py\nresult c{number} {size}")
            case "deferred":
                session.say(f"user 300: late{number}\n\nassistant: ok", deferred=True, client_id=f"k{number}")
            case "settle":
                session.settle()
            case "usage":
                tokens = draw(st.integers(0, 9_000))
                session.now += draw(st.integers(0, 90_000))
                session.answer(
                    f"assistant: said {number}", Usage(prompt=tokens, completion=7), predicted=tokens
                )
            case "bare usage":
                session.answer("", Usage(prompt=draw(st.integers(0, 9_000)), completion=7))
            case "late usage":
                session.say("assistant: late", deferred=True, usage=Usage(prompt=3_000, completion=2))
            case "undo":
                if session.state.checkpoints:
                    chosen = draw(st.sampled_from(session.state.checkpoints))
                    session.apply(ViewUndone(checkpoint_id=chosen.checkpoint_id))
            case "thought" | "late thought":
                facts = session.own(f"thought {number}" * draw(st.integers(1, 300)), "")
                facts = msgspec.structs.replace(facts, role="assistant", lapses=True)
                late = msgspec.structs.replace(facts, tokens=-1)
                session.apply(MessagesAppended(messages=(facts if kind == "thought" else late,)))
            case "pin":
                facts = session.own(f"pin {number}", "pin")
                session.apply(Pinned(pin_id=f"p{number}", tokens=facts.tokens, text="x", facts=facts))
            case "unpin":
                session.apply(Unpinned(pin_id=draw(st.sampled_from([*session.state.pins, "nobody"]))))
            case "handoff":
                session.apply(handoff(session))
            case "steer":
                pushed = draw(st.sampled_from(("followUp", "systemReminder", "requestPause", "cancel")))
                session.steer(f"w{number}", pushed, f"word{number}")
            case "drain":
                session.drain(begins_turn=draw(st.booleans()))
            case "elide":
                whole = [
                    e for e in session.state.view if e.facts.results and e.facts.tokens >= 0 and not e.elided
                ]
                if whole:
                    facts = draw(st.sampled_from(whole)).facts
                    session.elide(elision(session, facts.id, facts.results[0].call_id))
            case "update":
                session.update(system="s" * draw(st.integers(0, 900)))
            case _:
                if not session.state.uncounted:
                    session.commit(session.plan(requested=draw(st.integers(1, 4_000))))
    return session


@behaviour("fold.deterministic")
@settings(max_examples=120, deadline=None)
@given(session=histories(), data=st.data())
def test_folding_a_prefix_and_then_the_rest_is_folding_all(session: Session, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(session.events)))
    whole = fold(session.events)
    assert snapshot(fold(session.events[cut:], fold(session.events[:cut]))) == snapshot(whole)
    assert snapshot(whole) == snapshot(session.state)


@settings(max_examples=120, deadline=None)
@given(session=histories(), data=st.data())
def test_folding_many_events_at_once_is_folding_them_one_by_one(
    session: Session, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(session.events)))
    state = SessionState()
    state.apply_all(session.events[:cut])
    state.apply_all(session.events[cut:])
    assert snapshot(state) == snapshot(fold(session.events))


@settings(max_examples=120, deadline=None)
@given(session=histories())
def test_totals_kept_up_are_totals_summed_anew(session: Session) -> None:
    state: SessionState = session.state
    assert state.view_tokens == sum(entry.tokens for entry in state.view)
    assert state.view_media == sum(entry.media for entry in state.view)
    assert state.view_bytes == sum(entry.size for entry in state.view)
    newest = max((i for i, entry in enumerate(state.view) if entry.facts.role == "user"), default=-1)
    thoughts = [(i, entry) for i, entry in enumerate(state.view) if entry.facts.lapses]
    assert [entry.lapsed for _, entry in thoughts] == [i < newest for i, _ in thoughts]
    assert state.lapsing == [entry for i, entry in thoughts if i > newest]
    assert state.places == {entry.facts.id: i for i, entry in enumerate(state.view)}
    answers = [i for i, entry in enumerate(state.view) if entry.facts.role == "assistant"]
    assert state.newest_assistant == max(answers, default=-1)
    assert state.positions == {facts.id: i for i, facts in enumerate(state.transcript)}


@behaviour("fold.grows")
@settings(max_examples=80, deadline=None)
@given(session=histories())
def test_between_changes_of_the_view_it_only_grows_at_its_end(session: Session) -> None:
    state = SessionState()
    shown: list[bytes] = []
    generation = 0
    for event, at in session.events:
        state.apply(event, at)
        now = [entry.digest() for entry in state.view]
        if state.generation == generation:
            assert now[: len(shown)] == shown
        shown, generation = now, state.generation


@settings(max_examples=120, deadline=None)
@given(session=histories(), data=st.data())
def test_folding_many_at_once_is_folding_one_after_the_other(session: Session, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(session.events)))
    state = SessionState()
    state.apply_all(session.events[:cut])
    state.apply_all(session.events[cut:])
    assert snapshot(state) == snapshot(session.state)
