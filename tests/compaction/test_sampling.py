"""How a summary is asked for: three samples in all, shared by all trouble (E §6.5, §6.6)."""

from __future__ import annotations

import pytest

from ctxd.compaction.sampling import (
    UNKNOWN_WINDOW_BUDGET,
    Ask,
    GaveUp,
    Made,
    Sampling,
    Step,
    Trouble,
    share,
    trouble_of,
)
from ctxd.dialects.overflow import ProviderError
from ctxd.model.summary import Decision, SessionSummary
from tests.compaction.test_summary_prompt import chat, source
from tests.compaction.test_summary_reply import PLAIN
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

LONG = chat(40, 2_000)


def sampling(text: str | Session = LONG, window: int | None = 100_000, output: int = 8_000) -> Sampling:
    return Sampling(source(text), window=window, max_output=output, retry_delay_ms=500, count=count)


def asked(step: Step) -> Ask:
    assert isinstance(step, Ask)
    return step


def tokens(ask: Ask) -> int:
    return count(ask.prompt.system) + count(ask.prompt.user)


@behaviour("sampling.three")
@pytest.mark.parametrize("trouble", ["transient", "timeout"])
def test_trouble_is_answered_with_375_and_750_milliseconds_and_then_given_up(trouble: Trouble) -> None:
    made = sampling()
    steps = [made.begin(), made.take_trouble(trouble), made.take_trouble(trouble)]
    assert [(asked(s).attempt, asked(s).delay_ms) for s in steps] == [(1, 0), (2, 375), (3, 750)]
    assert made.take_trouble(trouble) == GaveUp("transientExhausted")
    assert made.attempts == 3


def test_the_pauses_double_up_to_eight_seconds() -> None:
    made = Sampling(source(LONG), window=100_000, max_output=8_000, retry_delay_ms=20_000, count=count)
    made.begin()
    assert asked(made.take_trouble("transient")).delay_ms == 6_000


def test_no_pause_where_none_is_wanted() -> None:
    made = Sampling(source(LONG), window=100_000, max_output=8_000, retry_delay_ms=0, count=count)
    made.begin()
    assert asked(made.take_trouble("timeout")).delay_ms == 0


@behaviour("sampling.three")
@pytest.mark.parametrize(
    ("reply", "failure"), [("", "emptyExhausted"), ("I'm sorry", "invalidOutput"), ("{}", "invalidOutput")]
)
def test_a_bad_answer_is_asked_for_again_twice(reply: str, failure: str) -> None:
    made = sampling()
    made.begin()
    assert asked(made.take_reply(reply, is_text=True)).delay_ms == 375
    assert asked(made.take_reply(reply, is_text=True)).attempt == 3
    assert made.take_reply(reply, is_text=True) == GaveUp(failure)  # type: ignore[arg-type]  # a Failure


def test_answers_that_are_no_text_end_as_empty_ones_do() -> None:
    made = sampling()
    made.begin()
    for _ in range(2):
        asked(made.take_reply("", is_text=False))
    assert made.take_reply("", is_text=False) == GaveUp("emptyExhausted")


@behaviour("sampling.three")
def test_all_kinds_of_trouble_share_the_three_samples() -> None:
    made = sampling()
    made.begin()
    assert asked(made.take_reply("", is_text=True)).delay_ms == 375
    third = asked(made.take_trouble("overflow"))
    assert (third.attempt, third.delay_ms) == (3, 0)
    assert made.take_trouble("timeout") == GaveUp("transientExhausted")


def test_a_good_answer_after_trouble_is_a_summary() -> None:
    made = sampling()
    made.begin()
    made.take_trouble("transient")
    assert isinstance(made.take_reply(PLAIN, is_text=True), Made)
    assert made.attempts == 2


def test_a_last_answer_is_not_asked_for_again() -> None:
    made = sampling()
    made.begin()
    assert made.take_reply("", is_text=True, last=True) == GaveUp("emptyExhausted")


@pytest.mark.parametrize(
    ("trouble", "end"),
    [
        ("fatal", GaveUp("deterministic")),
        ("declined", GaveUp("deterministic", counts=False)),
        ("unavailable", GaveUp("noSampler", counts=False)),
        ("gone", GaveUp("hostGone", counts=False)),
    ],
)
def test_what_will_not_get_better_ends_at_once(trouble: Trouble, end: GaveUp) -> None:
    made = sampling()
    made.begin()
    assert made.take_trouble(trouble) == end
    assert made.attempts == 1


# Overflow


@behaviour("sampling.shrinks")
def test_an_overflow_shrinks_the_input_one_step_and_asks_again_at_once() -> None:
    """E §6.6: 8 messages, 3 failures: omissions 2 and 2, reductions 2."""
    made = sampling(chat(8))
    steps = [made.begin(), made.take_trouble("overflow"), made.take_trouble("overflow")]
    assert [asked(s).prompt.omitted for s in steps] == [0, 2, 4]
    assert [asked(s).delay_ms for s in steps] == [0, 0, 0]
    assert made.take_trouble("overflow") == GaveUp("contextExhausted")
    assert (made.attempts, made.reductions) == (3, 2)


def test_a_tiny_message_that_overflows_is_given_up() -> None:
    """E §6.6: attempts 1, reductions 0, context exhausted."""
    made = sampling("user: hi")
    made.begin()
    assert made.take_trouble("overflow") == GaveUp("contextExhausted")
    assert (made.attempts, made.reductions) == (1, 0)


def test_a_limit_that_the_provider_names_is_met_in_one_go() -> None:
    """O §20.4 [W]: a retry that shrinks by a fixed step alone overflows again."""
    made = sampling(window=None)
    first = asked(made.begin())
    second = asked(made.take_trouble("overflow", limit=8_192))
    assert tokens(first) > 8_192
    assert second.max_tokens == 4_096
    assert tokens(second) + second.max_tokens <= 8_192
    assert second.attempt == 2


def test_a_limit_above_what_was_sent_still_shrinks() -> None:
    made = sampling()
    first = asked(made.begin())
    assert tokens(asked(made.take_trouble("overflow", limit=10**9))) < tokens(first)


# The summariser's window


@behaviour("sampling.budgeted")
@pytest.mark.parametrize("window", [4_096, 8_192, 20_000, 32_000, 200_000])
def test_prompt_and_answer_fit_the_window_before_anything_is_sent(window: int) -> None:
    """E §6 [W]: the prompt was not budgeted, and three attempts could not shrink a long history."""
    made = sampling(chat(300, 4_000), window=window)
    first = asked(made.begin())
    assert tokens(first) * 13 // 10 + first.max_tokens <= window
    assert first.attempt == 1


def test_an_answer_never_takes_more_than_half_of_a_small_window() -> None:
    assert share(200_000, 8_000) == (147_692, 8_000)
    assert share(8_192, 8_000) == (3_150, 4_096)
    assert share(None, 8_000) == (UNKNOWN_WINDOW_BUDGET, 8_000)
    assert share(0, 8_000) == (UNKNOWN_WINDOW_BUDGET, 8_000)


def test_an_answer_is_not_starved_by_what_will_be_kept_of_it() -> None:
    """O §7 [W]: the output cap followed the budget and starved reasoning models."""
    assert asked(sampling("user: hi").begin()).max_tokens == 8_000


def test_an_unknown_window_is_taken_for_a_small_one() -> None:
    first = asked(sampling(chat(300, 4_000), window=None).begin())
    assert 10_000 < tokens(first) <= UNKNOWN_WINDOW_BUDGET


def test_a_window_too_small_for_any_prompt_asks_nobody() -> None:
    made = sampling(window=600)
    assert made.begin() == GaveUp("contextExhausted")
    assert made.attempts == 0


def test_what_shrank_before_sending_is_counted() -> None:
    assert sampling(chat(300, 4_000), window=8_192).reductions > 3
    assert sampling("user: hi").reductions == 0


def test_no_source_is_too_hard_for_the_smallest_input() -> None:
    """A known state of any size, instructions aside, never makes a prompt that cannot shrink."""
    session = Session(chat(3, 90_000))
    assert tokens(asked(sampling(session, window=6_000, output=1_000).begin())) < 5_000


def test_what_the_model_was_not_shown_is_known() -> None:
    made = sampling(chat(300, 4_000), window=8_192)
    omitted = asked(made.begin()).prompt.omitted
    assert omitted > 200
    assert made.unshown == {f"m{n + 1}" for n in range(omitted)}
    assert sampling("user: hi").unshown == frozenset()


def test_decisions_that_did_not_fit_the_prompt_are_not_made_stale_by_silence() -> None:
    session = Session(LONG)
    known = tuple(Decision(n, f"decision {n} " + "x" * 280) for n in range(100))
    session.state.summary = SessionSummary(decisions=known)
    made = sampling(session)
    shown = asked(made.begin()).prompt.decisions
    assert 0 < shown < 100
    step = made.take_reply(PLAIN, is_text=True)
    assert isinstance(step, Made)
    assert step.digest.decisions[: 100 - shown] == known[: 100 - shown]
    assert len(step.digest.decisions) == 100 - shown + 1


# Errors


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (ProviderError(status=429, message="Rate limit reached"), "transient"),
        (ProviderError(status=529, body={"error": {"type": "overloaded_error"}}), "transient"),
        (ProviderError(status=500), "transient"),
        (ProviderError(status=408), "transient"),
        (ProviderError(status=409), "transient"),
        (ProviderError(message="stream closed"), "transient"),
        (ProviderError(status=429, body={"error": {"code": "insufficient_quota"}}), "fatal"),
        (ProviderError(status=400, message="Your credit balance is too low"), "fatal"),
        (ProviderError(status=402), "fatal"),
        (ProviderError(message="余额不足"), "fatal"),
        (ProviderError(status=401), "fatal"),
        (ProviderError(status=404), "fatal"),
        (ProviderError(status=400, message="prompt is too long: 9000 tokens > 8192 maximum"), "overflow"),
        (ProviderError(status=413), "overflow"),
    ],
)
def test_errors_are_told_apart_by_what_helps(error: ProviderError, trouble: Trouble) -> None:
    assert trouble_of(error)[0] == trouble


def test_an_overflow_carries_the_limit_it_names() -> None:
    assert trouble_of(ProviderError(message="prompt is too long: 9000 tokens > 8192 maximum")) == (
        "overflow",
        8_192,
    )
