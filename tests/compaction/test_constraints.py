"""The user's own words: whole while they fit, then bulk clipped, then what binds before the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.compaction.constraints import BULK_CHARS, BULK_HEAD, BULK_TAIL, Words, binding, choose, clip
from ctxd.model.summary import Quote
from tests.support.conversation import filler
from tests.support.session import count


def quotes(*texts: str) -> list[Quote]:
    return [Quote(text, f"m{n}") for n, text in enumerate(texts)]


def chosen(budget: int, *texts: str) -> list[str]:
    return [quote.text for quote in choose(quotes(*texts), budget, count).quotes]


def test_everything_stays_verbatim_while_it_fits() -> None:
    texts = ("hello", "line one\n  line two", filler("paste", 3_000))
    cost = sum(count(text) + 12 for text in texts)
    assert choose(quotes(*texts), cost, count) == Words(tuple(quotes(*texts)), cost, 0)


def test_pasted_bulk_is_clipped_before_anything_is_left_out() -> None:
    paste = "BEGIN " + filler("paste", 6_000) + " END"
    [first, second, last] = chosen(600, "Keep the port.", paste, "ok")
    assert (first, last) == ("Keep the port.", "ok")
    assert second.startswith("BEGIN")
    assert second.endswith("END")
    assert f"{len(paste) - BULK_HEAD - BULK_TAIL} characters: recall this message" in second


def test_a_message_at_the_bulk_bound_is_not_clipped() -> None:
    assert clip(Quote("x" * BULK_CHARS, "m")).text == "x" * BULK_CHARS
    assert clip(Quote("x" * (BULK_CHARS + 1), "m")).message_id == "m"
    assert len(clip(Quote("x" * (BULK_CHARS + 1), "m")).text) < BULK_CHARS


def test_sentences_that_bind_stay_before_the_rest() -> None:
    talk = [f"That looks interesting, tell me more about part {n} of it" for n in range(40)]
    rule = "Never push to main."
    found = chosen(300, rule, *talk)
    assert found[0] == rule
    assert found[-1] == talk[-1]
    assert len(found) < 41


def test_only_the_sentences_that_bind_stay_when_the_whole_does_not_fit() -> None:
    long = "I was thinking about this a lot lately. " * 20 + "Always use tabs. " + "It was a nice day. " * 20
    found = choose(quotes(long, *("chat " * 60,) * 10), 120, count)
    assert [q.text for q in found.quotes if q.message_id == "m0"] == ["Always use tabs."]


def test_of_what_binds_the_newest_stay() -> None:
    rules = [f"Always do thing number {n} in exactly this way." for n in range(60)]
    found = chosen(200, *rules)
    assert found == rules[-len(found) :]
    assert 3 < len(found) < 60


def test_rules_with_values_stay_before_rules_without() -> None:
    """They cannot be guessed again."""
    vague = [f"Please always be careful with everything, {'really ' * n}" for n in range(1, 30)]
    assert "Use port 8081." in chosen(150, "Use port 8081.", *vague)


def test_what_is_left_out_is_counted() -> None:
    texts = [f"word {n} " * 20 for n in range(30)]
    found = choose(quotes(*texts), 200, count)
    assert found.left_out == 30 - len(found.quotes) > 0


@pytest.mark.parametrize(
    "sentence",
    [
        "Never edit config.py directly.",
        "Use v1.2 always.",
        "You must keep https://example.org/a.b?c=d as it is.",
        "Don't touch the database.",
        "Don’t touch the database.",
        "The budget is 500 dollars.",
        "Prefer composition over inheritance.",
        "Please use tabs instead of spaces.",
        "From now on, answer in French.",
        "At most 3 retries.",
        "Actually, change the port to 9090.",
        "不要改 config.py。",
        "端口必须是 8081。",
        "以后请用中文回答。",
        "最多 200 字。",
        "改成 9090。",
        "统一使用空格缩进。",
    ],
)
def test_a_sentence_that_binds_is_kept_as_it_stands(sentence: str) -> None:
    assert binding(sentence) == sentence
    talk = "那天天气很好。" if sentence[-1] == "。" else "It was a nice day."
    assert sentence in binding(f"{talk} {sentence} {talk}")


@pytest.mark.parametrize(
    "sentence", ["Thanks!", "What does this do?", "Looks good to me.", "谢谢！", "这是什么？", ""]
)
def test_a_sentence_that_does_not_bind_is_not_kept(sentence: str) -> None:
    assert binding(sentence) == ""


def test_lines_are_sentences_too() -> None:
    assert binding("Rules:\n- never push\n- be nice\n- always test") == "- never push - always test"


@settings(max_examples=200, deadline=None)
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
def test_the_share_is_never_exceeded_and_nothing_is_reworded(texts: list[str], budget: int) -> None:
    found = choose(quotes(*texts), budget, count)
    assert found.tokens <= max(0, budget)
    assert sum(count(q.text) + 12 for q in found.quotes) == found.tokens
    order = [int(q.message_id[1:]) for q in found.quotes]
    assert order == sorted(set(order))
    for quote in found.quotes:
        said = texts[int(quote.message_id[1:])]
        shown = clip(Quote(said, quote.message_id)).text
        assert quote.text == said or quote.text == shown or quote.text == binding(shown)


@given(st.text(max_size=400))
def test_binding_sentences_are_pieces_of_the_text(text: str) -> None:
    joined = "".join(text.split())
    assert "".join(binding(text).split()) == "" or all(
        "".join(part.split()) in joined for part in binding(text).split()
    )


def test_long_runs_without_an_end_are_read_in_one_pass() -> None:
    assert binding("never " + "a.b" * 200_000).startswith("never a.b")
    assert binding("." * 300_000) == ""
