"""The user's own words: whole while they fit, then bulk clipped, then what binds before the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.compaction.constraints import BULK_CHARS, choose, clip
from ctxd.model.summary import Quote
from tests.support.conversation import filler
from tests.support.session import count

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
