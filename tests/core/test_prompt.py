"""Layers of a prompt: order, headings, slots, and what is volatile kept apart."""

from __future__ import annotations

from hypothesis import given as forall
from hypothesis import strategies as st

from ctxd.core.prompt import BACKGROUND, Layer, compose, given, supersede
from tests.support.behaviour import behaviour

TEXTS = st.sampled_from(["", " ", "one", "two", "three\n"])
EXTRAS = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), TEXTS), max_size=8)


@behaviour("prompt.order")
def test_layers_stand_in_order_trimmed_under_their_headings() -> None:
    layers = [
        given("base", "  Be careful.\n\n"),
        given("projectInstructions", "Run make.\n"),
        given("agents", "A reviewer."),
        given("extra", "Tabs.", "House style"),
        given("extra", "Be brief."),
    ]
    assert compose(layers).stable == (
        "Be careful.\n\n## Project Instructions\n\nRun make.\n\n## Available Agents\n\nA reviewer.\n\n"
        "## House style\n\nTabs.\n\nBe brief."
    )


def test_a_blank_layer_leaves_nothing_behind_not_even_its_heading() -> None:
    made = compose([given("base", "Base."), given("agents", " \n"), given("extra", "", "Title")])
    assert made.stable == "Base."
    assert [layer.skipped for layer in made.layers] == ["", "blank", "blank"]
    assert compose([]).stable == ""


@behaviour("prompt.volatile")
@forall(memory=st.text(max_size=20))
def test_memory_changes_no_byte_of_the_stable_part(memory: str) -> None:
    layers = [given("base", "Base."), given("extra", "More.")]
    without = compose(layers)
    made = compose([*layers, given("memory", memory)])
    assert made.stable == without.stable
    assert made.volatile == (BACKGROUND + memory.strip() if memory.strip() else "")


@forall(extras=EXTRAS)
def test_a_title_is_one_slot_whose_place_is_the_first_and_whose_text_the_last(
    extras: list[tuple[str, str]],
) -> None:
    placed = supersede([given("extra", text, title) for title, text in extras])
    titles = [title for title, _ in extras if title]
    assert [layer.title for layer in placed if layer.title] == list(dict.fromkeys(titles))
    assert [layer.text for layer in placed if not layer.title] == [t.strip() for n, t in extras if not n]
    newest = dict(extras)
    assert all(layer.text == newest[layer.title].strip() for layer in placed if layer.title)


def test_a_slot_that_was_emptied_keeps_its_place_for_what_fills_it_again() -> None:
    extras = [("a", "first"), ("", "middle"), ("a", ""), ("a", "again")]
    made = compose(supersede([given("extra", text, title) for title, text in extras]))
    assert made.stable == "## a\n\nagain\n\nmiddle"
    emptied = compose(supersede([given("extra", text, title) for title, text in extras[:3]]))
    assert emptied.stable == "middle"


def test_sizes_are_bytes_of_utf_8_also_of_halves_of_characters() -> None:
    assert given("base", "\u5b57").size == 3
    assert given("base", "\ud83d").size == 3
    assert Layer("base").size == 0
