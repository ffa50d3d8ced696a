"""The words of a query lead to where they stand together."""

from __future__ import annotations

from ctxd.core.closeness import closest, weigh_terms
from ctxd.core.terms import positions


def spot_of(text: str, query: str, *, width: int = 60, rarity: dict[str, float] | None = None) -> str:
    asked = [term for term, _ in positions(query)]
    spot = closest(text, asked, weigh_terms(rarity or dict.fromkeys(asked, 10.0)), width)
    return text[spot.start : spot.end]


FILLER = "nothing of interest here " * 20


def test_words_together_outweigh_the_same_words_apart() -> None:
    text = f"port {FILLER} server {FILLER} the server listens on port 8081 now {FILLER} listens"
    assert spot_of(text, "server listens port") == "server listens on port"


def test_rare_words_outweigh_common_ones() -> None:
    text = f"a common word, one more word {FILLER} rare"
    assert spot_of(text, "common word rare", rarity={"common": 1, "word": 1, "rare": 400}) == "rare"


def test_the_order_of_the_query_tells_one_row_from_another() -> None:
    text = "origin A destination B number 11 date 3 | origin B destination A number 12 date 3 |"
    assert spot_of(text, "origin B destination A number", width=40).endswith("A number")
    assert spot_of(text, "origin A destination B number", width=40).endswith("B number")


def test_no_stretch_is_wider_than_asked() -> None:
    text = "one " + "x" * 100 + " two"
    assert spot_of(text, "one two", width=50) in ("one", "two")


def test_a_text_without_the_words_has_no_worth() -> None:
    spot = closest("nothing", ["port"], {"port": 1.0}, 100)
    assert (spot.start, spot.end, spot.score) == (0, 0, 0.0)


def test_a_word_repeated_counts_once() -> None:
    weights = {"port": 1.0}
    once = closest("port", ["port"], weights, 100)
    assert closest("port port port", ["port"], weights, 100).score == once.score
