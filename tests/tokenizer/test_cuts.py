"""A text cut at safe places counts like the whole, and every cut that is made where one exists is safe."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.tokenizer.cuts import LIMIT, pieces
from ctxd.tokenizer.families import EncodingName
from tests.support.behaviour import behaviour
from tests.tokenizer.texts import ENCODINGS, HOSTILE, Counters, in_one_piece

SAFE = [chr(code) for code in range(0x110000) if next(pieces("a" + chr(code) + "b", 2)) == "a"]
"""Every character before which a cut is made, after a letter."""

TEXTS = st.lists(
    st.one_of(st.sampled_from([*HOSTILE, *SAFE]), st.text(max_size=30)), min_size=5, max_size=25
).map(lambda parts: "".join(parts).encode("utf-8", "replace").decode())


@given(text=st.text(max_size=200), limit=st.integers(2, 40))
def test_pieces_are_the_text_and_none_is_longer_than_the_limit(text: str, limit: int) -> None:
    cut = list(pieces(text, limit))
    assert "".join(cut) == text
    assert all(0 < len(piece) <= limit for piece in cut) or text == ""


@behaviour("counting.long-runs")
@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=TEXTS, limit=st.integers(8, 64))
@settings(max_examples=150, deadline=None)
def test_counts_at_safe_cuts_add_up(
    reference: Counters, encoding: EncodingName, text: str, limit: int
) -> None:
    counter = reference[encoding]
    for head, tail in pairwise(pieces(text, limit)):
        if head[-1].isalnum() and tail[0] in SAFE:
            apart = in_one_piece(counter, head) + in_one_piece(counter, tail)
            assert apart == in_one_piece(counter, head + tail)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_safe_character_starts_a_new_token(fast: Counters, encoding: EncodingName) -> None:
    """After a letter of each case and script, a digit and a numeral; before more of everything."""
    counter = fast[encoding]
    for before in ("a", "Z", "é", "中", "7", "²", "ʰ", "ا"):
        for mark in SAFE:
            for rest in ("", "s", " x", mark):
                head, tail = f"x {before}", f"{mark}{rest}"
                assert counter.count(head) + counter.count(tail) == counter.count(head + tail), (before, mark)


def test_safe_characters_are_ascii_or_punctuation_symbols_and_spaces_and_no_apostrophe() -> None:
    assert len(SAFE) > 150
    assert "'" not in SAFE
    assert all(code.isascii() or unicodedata.category(code)[0] in "PSZ" for code in SAFE)
    assert not any(code.isalnum() for code in SAFE)


def test_a_text_with_breaks_is_never_cut_hard(reference: Counters) -> None:
    text = ("word" * 3000 + ", ") * 40
    cut = list(pieces(text))
    assert len(cut) > 5
    assert all(len(piece) <= LIMIT and piece.endswith("d") for piece in cut[:-1])
    counter = reference["o200k_base"]
    assert counter.count(text) == in_one_piece(counter, text)


@pytest.mark.parametrize("run", ["a", "7", " ", "-", "\n", "的"])
def test_a_run_without_breaks_is_cut_where_its_groups_end(reference: Counters, run: str) -> None:
    text = run * (4 * LIMIT + 5)
    assert [len(piece) for piece in pieces(text)] == [LIMIT] * 4 + [5]
    counter = reference["o200k_base"]
    assert counter.count(text) == in_one_piece(counter, text)


def test_random_letters_cut_hard_are_off_by_a_token_at_most_for_each_cut(reference: Counters) -> None:
    text = "".join(chr(97 + (i * i * 7919 + i // 3) % 26) for i in range(3 * LIMIT))
    counter = reference["o200k_base"]
    assert abs(counter.count(text) - in_one_piece(counter, text)) <= 3 * 2
