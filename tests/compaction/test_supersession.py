"""What a newer statement replaces and what it leaves alone, in plain words (tests/data/updates.json)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxd.compaction.constraints import GAP, STALE_KEPT, choose, resolve
from ctxd.model.summary import Quote
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

UPDATES = json.loads((Path(__file__).parents[1] / "data/updates.json").read_text())
TALK = ["Let's look at the logs first.", "How is it going?", "好的，继续。"]


def quotes(*texts: str) -> list[Quote]:
    return [Quote(text, f"m{n}") for n, text in enumerate(texts)]


def held(*texts: str) -> list[str]:
    """What still holds of messages said one after the other."""
    return [quote.text for quote in resolve(quotes(*texts))[0]]


@behaviour("words.newest-wins")
@pytest.mark.parametrize(("old", "new"), UPDATES["replaced"])
def test_an_update_replaces_what_it_updates_however_it_is_worded(old: str, new: str) -> None:
    now = held(TALK[0], old, *TALK[1:], new)
    assert old not in now
    assert now[-1] == new


@behaviour("words.near-duplicates")
@pytest.mark.parametrize(("old", "new"), UPDATES["kept"])
def test_near_duplicates_about_different_subjects_both_stay(old: str, new: str) -> None:
    assert held(TALK[0], old, *TALK[1:], new) == [TALK[0], old, *TALK[1:], new]


@pytest.mark.parametrize(("old", "new", "about"), UPDATES["bare"])
def test_a_bare_update_says_what_it_is_about_and_not_the_old_value(old: str, new: str, about: str) -> None:
    [*rest, last] = resolve(quotes(old, TALK[0], new))[0]
    assert [quote.text for quote in rest] == [TALK[0]]
    assert (last.text, last.about) == (new, about)
    [*_, again] = resolve([*rest, last, *quotes("and make that 19 instead")])[0]
    assert again.about == about


def test_an_old_value_goes_and_what_else_was_said_with_it_stays() -> None:
    text = "We talk a lot. The deadline is Friday. Never call the client."
    assert held(text, "Actually the deadline is Monday.")[0] == "We talk a lot.  Never call the client."
    kept = held("Branch spike/a-1 must stay unpushed and unreviewed.", "We moved to branch spike/b-2 now.")[0]
    assert kept == f"Branch {GAP} must stay unpushed and unreviewed."


def test_an_update_that_is_still_in_the_tail_already_counts() -> None:
    live, carried, _ = resolve(
        quotes("The deadline is Friday."), [Quote("Actually the deadline is Monday.", "t")]
    )
    assert live == []
    assert carried == (Quote("The deadline is Friday.", "m0", superseded_by="t"),)


def test_a_bare_update_in_the_tail_leaves_what_it_needs_to_be_understood() -> None:
    live, carried, _ = resolve(quotes("Use 8 workers."), [Quote("make that 12 instead", "t")])
    assert [quote.text for quote in live] == ["Use 8 workers."]
    assert carried == tuple(live)


def test_an_update_that_could_mean_two_things_replaces_neither() -> None:
    both = ["Hotel budget is $500.", "Flight budget is $300."]
    assert held(*both, "Actually the budget is $400.") == [*both, "Actually the budget is $400."]


def test_a_value_that_changes_again_and_again_leaves_only_the_newest() -> None:
    texts = [
        f"The deadline is {day} now." for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    ]
    live, carried, _ = resolve(quotes(*texts))
    assert [quote.text for quote in live] == texts[-1:]
    assert [quote.superseded_by for quote in carried] == ["m1", "m2", "m3", "m4", None]


def test_the_same_value_said_in_other_words_is_no_change() -> None:
    texts = ["Keep the budget at $500.", "As said, the budget is five hundred dollars now."]
    assert held(*texts) == texts


def test_superseded_quotes_are_bounded() -> None:
    texts = [f"The deadline is 2027-01-{n:02}." for n in range(1, 29)]
    live, carried, _ = resolve(quotes(*texts))
    assert len(live) == 1
    assert len(carried) == STALE_KEPT + 1


def test_a_stale_value_is_not_shown_even_where_all_words_fit() -> None:
    said = choose(quotes("The cap is $300.", "nice", "The cap is $700."), 10_000, count)
    assert [quote.text for quote in said.quotes] == ["nice", "The cap is $700."]


def test_once_replaced_always_replaced_through_compactions() -> None:
    work = "\n\ncall c{0} Bash\nresult c{0} 9000\n\nassistant 3000: x"
    session = Session("user: Use 8 workers for imports." + work.format(0), window=200_000)
    session.say("user: Never push to main." + work.format(1))
    session.commit(session.plan(requested=3_000))
    session.say("user: For imports, make it 12 workers instead." + work.format(2))
    for number in range(4):
        session.say(f"user: go on {number}" + work.format(number + 3))
        session.commit(session.plan(requested=3_000))
        words = session.items()[0].view.text
        assert "8 workers" not in words
        assert "make it 12 workers instead." in words
        assert "Never push to main." in words
