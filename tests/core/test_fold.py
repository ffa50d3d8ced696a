"""Events to state: what each event means, and that the same events always mean the same."""

from __future__ import annotations

import pytest

from ctxd.model.events import (
    Elision,
    Load,
    MessagesAppended,
    RequestReported,
    StageFailed,
    TokensCounted,
)
from ctxd.model.messages import Usage
from tests.support.behaviour import behaviour
from tests.support.session import Session, count, snapshot

TURN = "user: Look.\n\ncall c1 Read path=a.py\nresult c1 4000\n\nassistant: Seen."


def elision(session: Session, message_id: str, call_id: str, text: str = "[gone]") -> Elision:
    """An elision of one result, honest about what it saves."""
    facts = session.state.find(message_id)
    assert facts is not None
    result = next(r for r in facts.results if r.call_id == call_id)
    return Elision(
        message_id=message_id,
        call_id=call_id,
        reason="stale",
        placeholder=text,
        saved=result.tokens - count(text),
        saved_bytes=result.bytes - len(text),
        saved_media=result.media_tokens,
    )


def ids(session: Session) -> list[str]:
    return [entry.facts.id for entry in session.state.view]


def test_creation_sets_what_is_fixed() -> None:
    session = Session(window=1000, factor=1.2, system="s" * 40, model="gpt")
    state = session.state
    assert state.created is not None
    assert (state.model.id, state.system_tokens, state.ratio, state.revision) == ("gpt", 10, 1.2, 1)
    assert state.load == Load(fixed=10)


def test_an_update_changes_only_what_it_names() -> None:
    session = Session(system="s" * 40, model="one")
    session.update(tools="t" * 80)
    assert (session.state.model.id, session.state.system_tokens, session.state.tools_tokens) == (
        "one",
        10,
        20,
    )
    session.update(model="two", system="")
    assert (session.state.model.id, session.state.system, session.state.system_tokens) == ("two", "", 0)
    assert session.state.tools == "t" * 80


def test_appended_messages_grow_view_transcript_and_totals_alike() -> None:
    session = Session(TURN)
    state = session.state
    assert ids(session) == [facts.id for facts in state.transcript] == ["m1", "m2", "m3", "m4"]
    assert state.view_tokens == sum(facts.tokens for facts in state.transcript)
    assert state.view_bytes == sum(facts.bytes for facts in state.transcript)
    assert (state.revision, state.turn, state.generation) == (2, 1, 0)


def test_turns_count_what_people_say_and_nothing_else() -> None:
    session = Session("user: a\n\ncall c1 X\nresult c1: r\n\nuser: b")
    session.say("user: for the model alone", hidden=True)
    session.say("assistant: yes")
    assert session.state.turn == 2
    assert [entry.turn for entry in session.state.view] == [1, 1, 1, 2, 2, 2]


def test_a_message_is_found_by_id_and_unknown_ids_are_not() -> None:
    session = Session(TURN)
    assert session.state.find("m3") == session.state.view[2].facts
    assert session.state.find("nobody") is None


def test_a_reused_call_id_belongs_to_the_newest_call_before_the_result() -> None:
    session = Session(
        "call c X path=one\nresult c: 1\n\ncall c Read path=two\nresult c: 2", dialect="openai-chat"
    )
    first, second = session.state.results["c"]
    older, newer = session.state.call_of("c", first), session.state.call_of("c", second)
    assert older is not None
    assert newer is not None
    assert (older.target, newer.target) == ("one", "two")
    assert session.state.call_of("c") == newer
    assert session.state.call_of("nobody") is None


def test_a_result_in_front_of_the_call_of_its_id_answers_no_call() -> None:
    session = Session("result c: early\n\ncall c X\nresult c: late", dialect="openai-chat")
    assert session.state.call_of("c", "m1") is None


def test_a_client_id_remembers_the_revision_and_the_ids_it_was_answered_with() -> None:
    session = Session()
    given_ids = session.say(TURN, client_id="once")
    assert session.state.client_ids["once"] == (session.state.revision, tuple(given_ids))


@pytest.mark.parametrize("deferred", [True, False])
def test_counting_later_gives_the_totals_of_counting_at_once(deferred: bool) -> None:
    session, now = Session(), Session(TURN)
    session.say(TURN, deferred=deferred)
    if deferred:
        assert session.state.uncounted == {"m1", "m2", "m3", "m4"}
        assert session.state.view_tokens == 0
    session.settle()
    assert session.state.uncounted == set()
    assert session.state.view_tokens == now.state.view_tokens
    assert session.state.transcript == now.state.transcript
    assert session.state.view_digest() == now.state.view_digest()


def test_bookkeeping_does_not_move_the_revision() -> None:
    session = Session()
    session.say(TURN, deferred=True)
    before = session.state.revision
    session.settle()
    assert session.state.revision == before


def test_counts_of_unknown_or_counted_messages_change_nothing() -> None:
    session = Session(TURN)
    before = snapshot(session.state)
    session.apply(TokensCounted(counts=(("m1", 9_999, ()), ("nobody", 5, ()))))
    assert snapshot(session.state) == before


def test_an_elision_shows_its_placeholder_and_subtracts_its_saving() -> None:
    session = Session(TURN)
    before, digest = session.state.view_tokens, session.state.view_digest()
    made = elision(session, "m3", "c1")
    session.elide(made)
    assert session.state.view_tokens == before - made.saved
    assert session.state.view_digest() != digest
    assert session.state.generation == 1
    assert session.shown()[2]["content"][0]["content"] == "[gone]"


def test_a_second_elision_of_a_result_replaces_the_first() -> None:
    session = Session(TURN)
    whole = session.state.view_tokens
    session.elide(elision(session, "m3", "c1", "x" * 400))
    last = elision(session, "m3", "c1")
    session.elide(last)
    assert session.state.view[2].elided == (last,)
    assert session.state.view_tokens == whole - last.saved


def test_an_elision_of_a_message_that_is_gone_changes_no_total() -> None:
    session = Session(TURN)
    before = session.state.view_tokens
    session.apply(
        MessagesAppended(
            messages=(),
            elisions=(Elision(message_id="nobody", call_id="c1", reason="stale", placeholder="", saved=99),),
        )
    )
    assert session.state.view_tokens == before


def test_results_spilled_on_arrival_are_shown_short_without_a_new_generation() -> None:
    whole = Session(TURN)
    made = elision(whole, "m3", "c1")
    session = Session()
    appended = whole.events[1][0]
    assert isinstance(appended, MessagesAppended)
    session.apply(MessagesAppended(messages=appended.messages, elisions=(made,)))
    assert session.state.view_tokens == whole.state.view_tokens - made.saved
    assert session.state.generation == 0
    whole.elide(made)
    assert session.state.view_digest() == whole.state.view_digest()


def test_an_image_inside_an_elided_result_leaves_with_it_and_its_neighbour_stays() -> None:
    session = Session("call a X\ncall b X\n\nresult a image 750x100\nresult b image 750x200")
    assert session.state.view_media == 300
    session.elide(elision(session, "m2", "a"))
    assert session.state.view_media == 200
    session.elide(elision(session, "m2", "b"))
    assert session.state.view_media == 0


@behaviour("fold.checkpoint")
def test_a_checkpoint_replaces_the_view_and_carries_its_summary() -> None:
    session = Session("\n\n".join(f"user: ask {n}\n\nassistant 4000: answer{n}" for n in range(20)))
    plan = session.plan(requested=2_000)
    session.commit(plan)
    state = session.state
    assert state.view[0].facts.inserted == "summary"
    assert state.summary == plan.state
    assert (state.generation, state.epoch, len(state.checkpoints)) == (1, 1, 1)
    assert state.view_tokens == sum(entry.tokens for entry in state.view)
    assert len(state.transcript) == 40


def test_messages_that_came_behind_what_a_checkpoint_covers_stay_in_order() -> None:
    text = "\n\n".join(f"user: ask {n}\n\nassistant 4000: answer{n}" for n in range(20))
    early, late = Session(text), Session(text)
    plan = early.plan(requested=2_000)
    early.commit(plan)
    checkpoint = early.events[-1][0]
    later = late.say("user: meanwhile\n\nassistant: yes")
    late.apply(checkpoint)
    assert ids(late)[: len(ids(early))] == ids(early)
    assert ids(late)[len(ids(early)) :] == later
    assert late.state.view_tokens == sum(entry.tokens for entry in late.state.view)


def test_elisions_of_kept_messages_survive_a_checkpoint() -> None:
    session = Session(
        "\n\n".join(f"user: ask {n}\n\ncall c{n} X\nresult c{n} 4000\n\nassistant: ok" for n in range(12))
    )
    last = session.state.results["c11"][0]
    session.elide(elision(session, last, "c11"))
    session.commit(session.plan(requested=2_000))
    kept = next(entry for entry in session.state.view if entry.facts.id == last)
    assert kept.elided[0].placeholder == "[gone]"


def test_a_failed_stage_is_remembered_by_the_revision_alone() -> None:
    session = Session(TURN)
    before = snapshot(session.state)
    session.apply(StageFailed(stage="pipeline", kind="storageFull"))
    after = snapshot(session.state)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"revision"}


def test_time_comes_from_the_events() -> None:
    session = Session(TURN)
    session.now = 61_000
    session.answer("assistant: hi", Usage(prompt=10))
    assert (session.state.created_at, session.state.updated_at, session.state.last_call_at) == (
        1_000,
        61_000,
        61_000,
    )


@pytest.mark.parametrize("outcome", ["error", "aborted"])
def test_a_request_that_failed_is_no_call_of_the_provider(outcome: str) -> None:
    session = Session(TURN)
    session.answer("assistant: hi", Usage(prompt=10))
    anchor, calls = session.state.anchor, session.state.provider_calls
    session.now += 1
    session.apply(RequestReported(request_id="x", outcome=outcome, usage=Usage(prompt=5), load=Load(view=1)))  # type: ignore[arg-type]
    assert (session.state.anchor, session.state.provider_calls) == (anchor, calls)
