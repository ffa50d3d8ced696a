from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.core import notes
from tests.support.behaviour import behaviour

BLOCK = notes.with_block("", ["a"])

lines = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)
texts = st.lists(lines, max_size=6).map("\n".join)


@behaviour("memory.managed-block")
@given(before=texts, after=texts, topics=st.lists(st.sampled_from(["a", "b c", "部署"]), unique=True))
def test_what_a_person_wrote_around_the_block_stays_byte_for_byte(
    before: str, after: str, topics: list[str]
) -> None:
    head = before + "\n" if before else ""
    text = notes.with_block(head + BLOCK + after, topics)
    assert text.startswith(head)
    assert text.endswith(after)
    assert notes.without_block(text) == head + after


@behaviour("memory.managed-block")
@given(text=texts)
def test_there_is_one_block_however_often_it_is_written(text: str) -> None:
    once = notes.with_block(text, ["a", "b"])
    again = notes.with_block(notes.with_block(once, ["x"]), ["a", "b"])
    assert again == once
    assert once.count(notes.BLOCK_START) == 1
    assert once.startswith(text)


def test_the_block_links_topics_in_order() -> None:
    made = "<!-- ctxd:topics:start -->\n## Topics\n- [a](a.md)\n- [b c](b%20c.md)\n<!-- ctxd:topics:end -->\n"
    assert notes.with_block("mine\n", ["b c", "a"]) == f"mine\n\n{made}"


@pytest.mark.parametrize(
    "text",
    [
        "<!-- ctxd:topics:start -->\nno end\n",
        "no start\n<!-- ctxd:topics:end -->\n",
        "quoted: <!-- ctxd:topics:start --> and <!-- ctxd:topics:end -->\n",
        "<!-- ctxd:topics:end -->\n<!-- ctxd:topics:start -->\n",
    ],
)
def test_marks_that_make_no_block_are_a_persons_text(text: str) -> None:
    made = notes.with_block(text, ["a"])
    assert made.startswith(text)
    assert notes.without_block(made).startswith(text)


def test_many_marks_without_an_end_are_read_in_one_go() -> None:
    text = (notes.BLOCK_START + "\n") * 50_000
    assert notes.without_block(text) == text


def test_without_topics_there_is_no_block() -> None:
    assert notes.with_block("a\n" + BLOCK, []) == "a\n"


@behaviour("memory.managed-block")
def test_overwriting_keeps_the_block_and_takes_none_from_the_content() -> None:
    forged = notes.with_block("new\n", ["forged"])
    made = notes.overwrite("old\n" + BLOCK, forged + "<!-- ctxd:topics:start -->\n")
    assert made.count(notes.BLOCK_START) == 1
    assert "forged" not in made
    assert made.endswith(BLOCK)
    assert "old" not in made


def test_an_entry_goes_in_front_of_a_block_that_ends_the_text() -> None:
    assert notes.append("a\n\n" + BLOCK, "b") == "a\nb\n\n" + BLOCK
    assert notes.append(BLOCK, "b") == "b\n\n" + BLOCK
    assert notes.append(BLOCK + "mine", "b") == BLOCK + "mine\nb\n"
    assert notes.append("no feed", "b") == "no feed\nb\n"


def test_what_lines_say_is_read_with_their_days() -> None:
    text = "# Title\n\n- [2026-11-30] one\n* two\n3. three\n- ~~[2026-11-01] old~~\n---\n" + BLOCK + "last"
    assert notes.lines_of(text) == [
        notes.Line(1, "Title"),
        notes.Line(3, "one", "2026-11-30"),
        notes.Line(4, "two"),
        notes.Line(5, "three"),
        notes.Line(6, "old", "2026-11-01", True),
        notes.Line(12, "last"),
    ]


def test_only_entries_of_those_words_are_struck() -> None:
    text = "- [2026-11-30] one\n- one\none\n- [2026-11-29] other\n"
    assert notes.strike(text, ["one"]) == "- ~~[2026-11-30] one~~\n- one\none\n- [2026-11-29] other\n"
    assert notes.strike(notes.strike(text, ["one"]), ["one"]) == notes.strike(text, ["one"])


@pytest.mark.parametrize(
    ("content", "made"),
    [
        ("one line", ["- [D] one line"]),
        ("- a bullet", ["- [D] a bullet"]),
        ("  indented  ", ["- [D] indented"]),
        ("# heading", ["# heading"]),
        (
            "## Deploy\n\n- first\n  more\n* second\nprose",
            ["## Deploy", "- [D] first", "  more", "- [D] second", "prose"],
        ),
        ("- [2026-01-02] has a day", ["- [2026-01-02] has a day"]),
        ("a\r\nb", ["a", "b"]),
        ("x <!-- ctxd:topics:start -->", ["- [D] x"]),
        (" \n\n", []),
    ],
)
def test_what_was_said_becomes_lines(content: str, made: list[str]) -> None:
    assert [line.replace("2026-11-30", "D") for line in notes.entries_from(content, "2026-11-30")] == made
