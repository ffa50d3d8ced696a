"""The predicted size of the next request: what anchors it, what is added, how sure it is.

Behaviour.md section 2 and E sections 2.2 to 2.5; a token is four characters here.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.core.projection import Projection
from ctxd.model.events import Load, RequestReported, ViewElided
from ctxd.model.messages import Usage
from tests.core.test_fold import elision
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

FRAMING = 4
"""Tokens of a message beside its text."""


def text(tokens: int, word: str = "user") -> str:
    """A message that weighs `tokens` with its framing."""
    return f"{word} {(tokens - FRAMING) * 4}: w"


def anchored(prompt: int = 10_000, completion: int = 50) -> Session:
    """A session whose request of 1 000 counted tokens came to `prompt`; the answer weighs 54."""
    session = Session(text(1_000), window=200_000)
    session.answer(text(54, "assistant"), Usage(prompt=prompt, completion=completion))
    return session


def seen(projection: Projection) -> tuple[int, str]:
    return projection.tokens, projection.source


@behaviour("projection.no-usage")
def test_without_any_usage_everything_is_estimated() -> None:
    session = Session(text(1_000), system="s" * 400)
    assert seen(session.project()) == (1_100, "local_estimate")
    assert session.project().pending is None


def test_an_empty_session_weighs_its_fixed_part() -> None:
    assert seen(Session(system="s" * 400).project()) == (100, "local_estimate")


@behaviour("projection.not-twice")
def test_the_provider_answer_is_not_counted_again() -> None:
    session = Session(text(1_000))
    session.answer("assistant 8000: long", Usage(prompt=10_000, completion=2_004))
    assert seen(session.project()) == (12_004, "provider")


def test_a_completion_reported_too_small_gives_way_to_what_the_answer_weighs() -> None:
    session = anchored(completion=1)
    assert session.project().tokens == 10_054


@behaviour("projection.floor")
def test_the_floor_is_the_larger_of_total_and_parts() -> None:
    session = Session(text(1_000))
    session.answer(text(54, "assistant"), Usage(prompt=700, completion=300, total=1_200))
    assert session.project().tokens == 1_200
    session.answer(text(54, "assistant"), Usage(prompt=800, completion=400, total=900))
    assert session.project().tokens == 1_200


def test_what_came_after_the_answer_is_added() -> None:
    session = anchored()
    session.say(text(500))
    projection = session.project()
    assert seen(projection) == (10_554, "provider_plus_estimate")
    assert projection.pending == 500


def test_pending_messages_are_added() -> None:
    session = anchored()
    assert seen(session.project(text(300))) == (10_354, "provider_plus_estimate")
    assert session.project(text(300)).bytes > session.project().bytes
    assert seen(Session(text(100)).project(text(300))) == (400, "local_estimate")


def test_an_answer_without_usage_clears_the_anchor() -> None:
    session = anchored()
    session.say(text(100))
    session.answer(text(54, "assistant"), None)
    assert session.project().source == "local_estimate"


def test_a_report_whose_request_is_no_longer_known_anchors_nothing() -> None:
    session = anchored()
    session.apply(RequestReported(request_id="r", outcome="ok", usage=Usage(prompt=9), load=None))
    assert session.project().source == "local_estimate"


def test_a_failed_request_leaves_the_anchor_as_it_was() -> None:
    session = anchored()
    session.apply(RequestReported(request_id="r", outcome="error", usage=Usage(prompt=9), load=Load()))
    assert session.project().tokens == 10_054


def test_an_answer_reported_without_messages_and_appended_later_is_not_counted_twice() -> None:
    session = Session(text(1_000))
    session.answer("", Usage(prompt=10_000, completion=54))
    session.say(text(54, "assistant"))
    session.say(text(100))
    assert session.project().tokens == 10_154


def test_an_answer_appended_before_its_report_is_not_counted_twice() -> None:
    session = Session(text(1_000))
    sent = session.state.load
    session.say(text(54, "assistant") + "\n\n" + text(100))
    session.apply(
        RequestReported(request_id="r", outcome="ok", usage=Usage(prompt=10_000, completion=54), load=sent)
    )
    assert session.project().tokens == 10_154


def test_a_user_message_at_the_boundary_makes_the_estimate_local() -> None:
    session = Session(text(1_000))
    session.answer("", Usage(prompt=10_000, completion=54))
    session.say(text(100))
    assert session.project().source == "local_estimate"


def test_a_user_message_appended_before_the_report_makes_the_estimate_local() -> None:
    session = Session(text(1_000))
    sent = session.state.load
    session.say(text(100))
    session.apply(RequestReported(request_id="r", outcome="ok", usage=Usage(prompt=10_000), load=sent))
    assert session.project().source == "local_estimate"


def test_usage_in_the_metadata_of_an_appended_answer_anchors_like_a_report() -> None:
    session = Session(text(1_000))
    session.say(text(54, "assistant"), usage=Usage(prompt=10_000, completion=50))
    session.say(text(500))
    assert seen(session.project()) == (10_554, "provider_plus_estimate")


def test_messages_counted_after_the_usage_came_are_not_added_to_it() -> None:
    session = Session()
    session.say(text(1_000), deferred=True)
    session.say(text(54, "assistant"), deferred=True, usage=Usage(prompt=10_000, completion=50))
    session.say(text(500), deferred=True)
    session.settle()
    assert seen(session.project()) == (10_554, "provider_plus_estimate")
    session.commit(session.plan(requested=5_000))
    at_once = Session(text(1_000))
    at_once.say(text(54, "assistant"), usage=Usage(prompt=10_000, completion=50))
    at_once.say(text(500))
    at_once.commit(at_once.plan(requested=5_000))
    assert session.project().tokens == at_once.project().tokens


def test_switching_the_model_keeps_at_least_the_floor() -> None:
    session = anchored()
    session.update(model="other")
    assert seen(session.project()) == (10_054, "provider_plus_estimate")


def test_growth_of_the_system_adds_exactly_the_difference() -> None:
    session = Session(text(1_000), system="s" * 400)
    session.answer(text(54, "assistant"), Usage(prompt=10_000, completion=50))
    session.update(system="s" * 1_000)
    assert session.project().tokens == 10_054 + 150
    session.update(tools="t" * 400)
    assert session.project().tokens == 10_054 + 250


def test_a_smaller_system_keeps_the_floor() -> None:
    session = Session(text(1_000), system="s" * 400)
    session.answer(text(54, "assistant"), Usage(prompt=10_000, completion=50))
    session.update(system="")
    assert session.project().tokens == 10_054


@behaviour("projection.elision")
def test_an_elision_keeps_the_anchor_and_subtracts_its_saving() -> None:
    session = Session("user: go\n\ncall c Read path=a\nresult c 8000")
    session.answer(text(54, "assistant"), Usage(prompt=10_000, completion=50))
    made = elision(session, "m3", "c")
    session.elide(made)
    assert seen(session.project()) == (10_054 - made.saved, "provider_plus_estimate")


def test_an_elision_between_request_and_report_is_subtracted_once() -> None:
    session = Session("user: go\n\ncall c Read path=a\nresult c 8000")
    sent = session.state.load
    made = elision(session, "m3", "c")
    session.elide(made)
    session.apply(
        RequestReported(
            request_id="r",
            outcome="ok",
            usage=Usage(prompt=10_000, completion=50),
            load=sent,
            message_ids=("x",),
        )
    )
    assert session.project().tokens == 10_050 - made.saved


@behaviour("projection.checkpoint")
def test_a_checkpoint_drops_the_anchor() -> None:
    session = Session("\n\n".join(f"user: a{n}\n\nassistant 4000: b{n}" for n in range(20)), window=100_000)
    session.answer(text(54, "assistant"), Usage(prompt=90_000))
    session.commit(session.plan(requested=2_000))
    projection = session.project()
    assert projection.source == "local_estimate"
    assert projection.tokens < 80_000


def test_what_the_provider_counted_and_nobody_told_ctxd_stays_in_local_estimates() -> None:
    session = anchored(prompt=10_000)
    session.answer(text(54, "assistant"), Usage(prompt=10_054 + 0, completion=50))
    session.commit(session.plan(requested=1_000))
    hidden = 10_054 - 1_054
    assert session.project().tokens == hidden + session.state.view_tokens


def test_a_usage_of_nothing_is_zero_and_not_unknown() -> None:
    session = Session()
    session.answer("assistant: hi", Usage(prompt=0, completion=0))
    assert seen(session.project()) == (count("hi") + FRAMING, "provider")


def test_images_are_added_by_formula_and_not_scaled() -> None:
    session = Session("user: look", factor=2.0)
    session.answer("assistant: ok", Usage(prompt=1_000, completion=0))
    before = session.project().tokens
    session.say("user: again\nimage 750x400")
    grown = session.project().tokens - before
    assert grown == round(2.0 * (FRAMING + 2)) + 400


@behaviour("projection.margin")
def test_a_local_estimate_decides_with_a_fifth_more_than_it_says() -> None:
    session = Session(text(1_001), window=100_000)
    assert (session.project().tokens, session.project().decisive) == (1_001, 1_202)
    session.answer(text(54, "assistant"), Usage(prompt=2_000, completion=54))
    assert session.project().decisive == session.project().tokens == 2_054


def test_an_unknown_window_has_no_phase_and_everything_is_reachable() -> None:
    projection = Session(text(1_000)).project()
    assert (projection.phase, projection.limits, projection.reachable) == ("unknown", None, True)


@behaviour("projection.unreachable")
def test_a_floor_at_the_threshold_cannot_be_compacted_away() -> None:
    session = Session(window=100_000, system="s" * 4 * 71_999)
    assert session.project().reachable
    session.update(system="s" * 4 * 72_000)
    assert not session.project().reachable


@behaviour("projection.interval")
def test_the_interval_holds_the_prediction_and_narrows_with_evidence() -> None:
    local, known = Session(text(50_000)), Session(text(50_000))
    assert (local.project().low, local.project().high) == (
        50_000 - int(50_000 * 0.35),
        50_000 + int(50_000 * 0.35) + 1,
    )
    known.answer(text(54, "assistant"), Usage(prompt=50_000, completion=54))
    before, now = local.project(), known.project()
    assert before.low <= before.tokens <= before.high
    assert now.high - now.low < (before.high - before.low) / 10


def test_projecting_changes_nothing() -> None:
    session = anchored()
    assert session.project("user: maybe") == session.project("user: maybe")
    assert session.project().tokens == 10_054


@behaviour("projection.restart")
def test_a_session_folded_anew_predicts_the_same() -> None:
    session = anchored()
    session.say(text(500))
    again = Session()
    again.state = session.replayed()
    again.window = session.window
    assert again.project() == session.project()


@settings(max_examples=200, deadline=None)
@given(
    prompt=st.integers(0, 2**53),
    completion=st.integers(0, 2**20),
    total=st.integers(0, 2**53),
    grown=st.integers(5, 4_000),
)
def test_a_prediction_is_never_below_the_floor_and_inside_its_interval(
    prompt: int, completion: int, total: int, grown: int
) -> None:
    session = Session(text(1_000), window=200_000)
    session.answer(text(54, "assistant"), Usage(prompt=prompt, completion=completion, total=total))
    session.say(text(grown))
    projection = session.project()
    assert projection.tokens >= max(total, prompt + completion)
    assert 0 <= projection.low <= projection.tokens <= projection.high


@pytest.mark.parametrize("stage", ["elision", "clip"])
def test_an_empty_batch_of_elisions_changes_no_number(stage: str) -> None:
    session = anchored()
    before = session.project()
    session.apply(ViewElided(elisions=(), stage=stage))
    assert session.project() == before
