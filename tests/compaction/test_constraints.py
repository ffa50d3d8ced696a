"""The user's own words: whole while they fit, then bulk clipped, then what binds before the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.compaction import fallback, ledger
from ctxd.compaction.constraints import BULK_CHARS, CARRIED_CHARS, GAP, choose, clip
from ctxd.model.summary import Quote
from tests.support.behaviour import behaviour
from tests.support.conversation import filler
from tests.support.session import Session, count

TALK = [
    f"I wondered about {one} {two} for a while, it was a nice walk"
    for one in ("red", "green", "blue", "white", "black", "brown", "golden", "grey")
    for two in ("houses", "boats", "birds", "trees", "clouds")
]
"""Forty messages, about 16 tokens each, of which none binds."""


def quotes(*texts: str) -> list[Quote]:
    return [Quote(text, f"m{n}") for n, text in enumerate(texts)]


def chosen(budget: int, *texts: str) -> list[str]:
    return [quote.text for quote in choose(quotes(*texts), budget, count).quotes]


def shown(session: Session, plan: fallback.Plan) -> str:
    """The summary and the kept tail in words."""
    return "\n".join([plan.summary.text, *(item.view.text for item in session.items()[plan.tail :])])


def test_everything_stays_verbatim_while_it_fits() -> None:
    texts = ["hello", "line one\n  line two", filler("paste", 3_000)]
    assert chosen(sum(count(text) + 15 for text in texts), *texts) == texts


def test_pasted_bulk_is_clipped_before_anything_is_left_out() -> None:
    paste = "BEGIN " + filler("paste", 6_000) + " END"
    [first, second, last] = chosen(600, "Keep the port.", paste, "ok")
    assert (first, last) == ("Keep the port.", "ok")
    assert second.startswith("BEGIN")
    assert second.endswith("END")
    assert "characters: recall this message" in second


def test_a_message_at_the_bulk_bound_is_not_clipped() -> None:
    assert clip(Quote("x" * BULK_CHARS, "m")).text == "x" * BULK_CHARS
    assert clip(Quote("x" * (BULK_CHARS + 1), "m")).message_id == "m"
    assert len(clip(Quote("x" * (BULK_CHARS + 1), "m")).text) < BULK_CHARS


def test_sentences_that_bind_stay_before_the_rest() -> None:
    found = chosen(300, "Never push to main.", *TALK)
    assert found[0] == "Never push to main."
    assert len(found) < 41


def test_what_is_left_out_is_counted() -> None:
    found = choose(quotes(*TALK), 200, count)
    assert found.left_out == 40 - len(found.quotes) > 0


@pytest.mark.parametrize(
    "sentence",
    [
        "Never edit config.py directly.",
        "Use v1.2 always.",
        "You must keep https://example.org/a.b?c=d as it is.",
        "Don't touch the database.",
        "Don’t touch the database.",
        "Please use tabs instead of spaces.",
        "From now on, answer in French.",
        "At most 3 retries.",
        "不要改 config.py。",
        "端口必须是 8081。",
        "以后请用中文回答。",
        "最多 200 字。",
        "统一使用空格缩进。",
    ],
)
def test_a_sentence_that_binds_is_kept_as_it_stands_among_any_talk(sentence: str) -> None:
    assert any(sentence in text for text in chosen(120, *TALK[:20], sentence, *TALK[20:]))
    around = f"It was a nice day and we walked. {sentence} Then we came home."
    assert any(sentence in text for text in chosen(120, *TALK[:20], around, *TALK[20:]))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=200),
            st.sampled_from(["Never do x.", "不要改 config.py。", "Use port 8081.", filler("bulk", 4_000)]),
        ),
        max_size=25,
    ),
    st.integers(-5, 4_000),
)
def test_the_share_is_never_exceeded_and_order_is_kept(texts: list[str], budget: int) -> None:
    found = choose(quotes(*texts), budget, count)
    assert found.tokens <= max(0, budget)
    assert sum(count(quote.text) for quote in found.quotes) <= max(0, budget)
    order = [int(quote.message_id[1:]) for quote in found.quotes]
    assert order == sorted(set(order))


def test_long_runs_without_an_end_are_read_in_linear_time() -> None:
    """A quadratic reading of these would take minutes."""
    for text in ("never " + "a.b" * 100_000, "." * 200_000, "?!x" * 60_000):
        assert choose(quotes(text), 50, count).tokens <= 50


def test_a_rule_in_the_middle_of_a_long_message_is_not_clipped_with_it() -> None:
    text = filler("paste", 3_000) + ". Never push to main. " + filler("paste", 3_000)
    assert "Never push to main." in clip(Quote(text, "m")).text
    assert len(clip(Quote(text, "m")).text) < BULK_CHARS


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*TALK, "Never do x. Then rest. 不要改 config.py。好的。", "Use port 8081.\n- or 8082"]
        )
    ),
    st.integers(0, 600),
)
def test_what_is_chosen_stands_in_the_message_sentence_by_sentence(texts: list[str], budget: int) -> None:
    said = {quote.message_id: quote.text for quote in quotes(*texts)}
    for quote in choose(quotes(*texts), budget, count).quotes:
        assert all(part.strip() in said[quote.message_id] for part in quote.text.split(GAP))


def test_rules_come_before_wishes_before_exact_values_before_goals_before_talk() -> None:
    said = [
        "I wondered about part one for a while, it was a nice walk",
        "The next step is to look at the parser again.",
        "The staging host is a1.example.com.",
        "I prefer short function names.",
        "Never push to main.",
    ]
    found = [text for budget in range(200) for text in chosen(budget, *said)]
    first = sorted(said, key=found.index)
    assert first == said[::-1]


def test_handles_go_before_a_statement_does_and_then_words_that_only_announce() -> None:
    said = [f"Note: never call service {name} again." for name in ("alpha", "beta", "gamma", "delta")]
    whole = choose(quotes(*said), 1_000, count)
    assert not whole.plain
    needed = sum(count(f"- {text}") + 1 for text in said)
    tight = choose(quotes(*said), needed, count)
    assert (tight.plain, tight.short) == (True, False)
    assert [quote.text for quote in tight.quotes] == said
    tighter = choose(quotes(*said), needed - 2, count)
    assert not tighter.short
    assert [quote.text for quote in tighter.quotes] == [text.removeprefix("Note: ") for text in said]


def test_what_is_held_counts_every_binding_sentence_shown_or_not() -> None:
    said = [f"Never call service {n}." for n in range(30)]
    found = choose(quotes(*said, *TALK), 60, count)
    assert found.short
    assert [quote.text for quote in found.held] == said


def test_a_message_shown_elsewhere_is_carried_and_not_placed() -> None:
    found = choose(quotes("Never push.", "Go on."), 1_000, count, elsewhere="m1")
    assert [quote.text for quote in found.quotes] == ["Never push."]
    assert [quote.text for quote in found.carried] == ["Never push.", "Go on."]


def test_carried_words_are_bounded_and_what_binds_outlives_what_does_not() -> None:
    """The checkpoint of a session that never ends stays small."""
    talk = "It was a nice walk and we saw a lot of trees along the river. " * 16
    said = [f"{talk}Never call service {n}. {talk}" for n in range(200)]
    carried = choose(quotes(*said), 10_000, count).carried
    assert sum(len(quote.text) for quote in carried) <= CARRIED_CHARS < sum(map(len, said))
    assert all(f"Never call service {n}." in quote.text for n, quote in enumerate(carried))
    assert carried[-1].text == said[-1]
    again = choose(carried, 10_000, count)
    assert {quote.text for quote in again.held} == {f"Never call service {n}." for n in range(200)}


@behaviour("words.people-only")
@pytest.mark.parametrize(
    "talk",
    [
        "call c Bash command=x\nresult c: Never push to main.",
        "assistant: Never push to main.",
        "think: Never push to main.\nassistant: ok",
    ],
)
def test_no_quote_comes_from_a_tool_the_model_or_its_thinking(talk: str) -> None:
    """Reports E.54 and E.56."""
    session = Session(
        f"user: hi\n\n{talk}\n\nassistant 9000: x\n\nuser: go on\n\nassistant: y", window=200_000
    )
    plan = session.plan(requested=1_000)
    assert plan.tail >= 3
    assert [quote.text for quote in plan.state.constraints] == ["hi"]
    assert plan.binding == ()


def test_what_the_host_says_inside_the_conversation_is_kept_too() -> None:
    session = Session("user: hi", dialect="openai-chat", window=200_000)
    session.append([{"role": "developer", "content": "Never reveal the internal price list."}])
    session.say("assistant 9000: x\n\nuser: go on\n\nassistant: y")
    plan = session.plan(requested=1_000)
    assert "Never reveal the internal price list." in plan.summary.text


def test_the_tail_gives_way_where_not_all_that_binds_would_fit() -> None:
    rules = "\n\n".join(
        f"user: Never call service number {n}, whatever I say.\n\nassistant: ok" for n in range(200)
    )
    session = Session(rules + "\n\n" + "\n\n".join(f"assistant 400: a{n}\n\nuser: b{n}" for n in range(60)))
    plan = session.plan(requested=5_000)
    assert plan.after <= 5_000
    assert [n for n in range(200) if f"service number {n}," not in shown(session, plan)] == []
    words = sum(count(quote.text) for quote in plan.quotes)
    assert words > 5_000 * fallback.WORDS_SHARE // 100
    assert words <= 5_000 * fallback.BINDING_SHARE // 100


def test_a_tiny_target_has_a_brief_frame_and_its_room_goes_to_the_words() -> None:
    rules = "\n\n".join(f"user: Never call service {n}.\n\nassistant: ok" for n in range(20))
    session = Session(rules + "\n\nuser: go on\n\nassistant: y", window=200_000)
    plan = session.plan(requested=180)
    assert plan.after <= 180
    assert plan.summary.text.startswith(ledger.BRIEF_NOTICE)
    assert [n for n in range(20) if f"service {n}." not in shown(session, plan)] == []
