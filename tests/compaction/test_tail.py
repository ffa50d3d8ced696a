"""The kept tail: newest units by tokens, results clipped where they do not fit."""

from __future__ import annotations

from ctxd.compaction.tail import Tail, choose_tail, clip_unit
from ctxd.core.units import divide
from tests.support.session import Session, count


def tail_of(session: Session, budget: int, keep: int = 6, *, ratio: float = 1.0, least: int = 0) -> Tail:
    items = session.items()
    units = divide([item.entry.facts for item in items])
    return choose_tail(session.state, items, units, budget, keep, ratio=ratio, count=count, least=least)


def answers(*sizes: int) -> Session:
    """Assistant messages that weigh so many tokens."""
    return Session("\n\n".join(f"assistant {(size - 4) * 4}: a{n}" for n, size in enumerate(sizes)))


def test_newest_units_are_kept_while_they_fit_together() -> None:
    assert tail_of(answers(100, 100, 100, 100), 300) == Tail(1, 300, 0)
    assert tail_of(answers(100, 100, 100, 100), 299) == Tail(2, 200, 0)
    assert tail_of(answers(100, 100, 100, 100), 10_000) == Tail(0, 400, 0)


def test_it_goes_by_tokens_and_not_by_the_number_of_messages() -> None:
    """E section 6, weakness: a tail of 20 % of the messages failed the gate on one huge result."""
    many, few = answers(*[10] * 50), answers(*[10] * 10, 5_000)
    assert tail_of(many, 300).first == 20
    assert tail_of(few, 300).first == 10


def test_the_newest_unit_stays_whatever_it_costs() -> None:
    assert tail_of(answers(100, 9_000), 50) == Tail(1, 9_000, 0)


def test_the_newest_tool_turn_is_clipped_to_fit() -> None:
    session = Session("call c1 Bash\nresult c1 40000")
    kept = tail_of(session, 1_000)
    assert kept.first == 0
    assert kept.tokens <= 1_000
    [cut] = kept.elisions
    assert (cut.reason, cut.call_id) == ("clippedNewest", "c1")
    assert kept.tokens == session.state.view_tokens - cut.saved


def test_parallel_results_are_clipped_largest_first_and_small_ones_stay_whole() -> None:
    session = Session("call a Bash\ncall b Bash\ncall c Bash\nresult a 400\nresult b 40000\nresult c 20000")
    assert [e.call_id for e in tail_of(session, 2_000).elisions] == ["b", "c"]
    assert [e.call_id for e in tail_of(session, 8_000).elisions] == ["b"]


def test_one_boundary_unit_is_clipped_once_enough_messages_are_kept() -> None:
    turns = "\n\n".join(f"call c{n} Bash\nresult c{n} 4000" for n in range(5))
    kept = tail_of(Session(turns), 3_000, keep=2)
    assert [e.call_id for e in kept.elisions] == ["c2"]
    assert kept.first == 2


def test_while_few_messages_are_kept_more_units_are_clipped() -> None:
    turns = "\n\n".join(f"call c{n} Bash\nresult c{n} 4000" for n in range(5))
    kept = tail_of(Session(turns), 1_500, keep=6)
    assert [e.call_id for e in kept.elisions] == ["c3"]
    assert kept.first == 3
    assert kept.tokens <= 1_500


def test_a_unit_that_cannot_be_clipped_small_enough_ends_the_tail() -> None:
    session = Session("assistant 40000: big\n\ncall c Bash\nresult c 400")
    assert tail_of(session, 1_000) == Tail(1, session.state.view[1].tokens + session.state.view[2].tokens, 0)


def test_units_before_the_least_are_not_considered() -> None:
    assert tail_of(answers(10, 10, 10, 10), 1_000, least=3) == Tail(3, 10, 0)
    assert tail_of(answers(10, 10), 1_000, least=2) == Tail(2, 0, 0)


def test_images_take_their_place_scaled_to_base_tokens() -> None:
    text = "assistant 384: a\n\nuser: see\nimage 750x200\n\nassistant 384: b"
    assert tail_of(Session(text), 405).first == 0
    assert tail_of(Session(text), 404).first == 1
    assert tail_of(Session(text), 305, ratio=2.0).first == 0
    assert tail_of(Session(text), 300, ratio=2.0).first == 1


def test_the_image_in_a_clipped_result_is_no_longer_counted() -> None:
    session = Session("call c Shot\nresult c 40000 image 750x200")
    kept = tail_of(session, 1_000)
    [cut] = kept.elisions
    assert (kept.media, cut.saved_media) == (0, 200)
    session.elide(cut)
    assert (session.state.view_media, session.state.view_tokens) == (0, kept.tokens)


def test_what_was_spilled_is_clipped_further_and_counted_once() -> None:
    session = Session("call c Bash\nresult c 40000")
    items = session.items()
    [unit] = divide([item.entry.facts for item in items])
    [(first, _)] = clip_unit(session.state, items, unit, 3_000, count)
    session.elide(first)
    shown = session.state.view_tokens
    [(second, before)] = clip_unit(session.state, session.items(), unit, 500, count)
    assert before == first.saved
    session.elide(second)
    assert session.state.view_tokens == shown - (second.saved - first.saved) <= 500


def test_a_unit_that_fits_is_not_touched() -> None:
    session = Session("call c Bash\nresult c 4000")
    items = session.items()
    [unit] = divide([item.entry.facts for item in items])
    assert clip_unit(session.state, items, unit, session.state.view_tokens, count) == []


def test_an_arguments_heavy_unit_does_not_end_the_walk_before_newer_ones() -> None:
    """E section 7, weakness: a big Write call made the unit unfittable and left an empty tail."""
    text = f"call w Write path=a body={'x' * 40_000}\nresult w: ok\n\n" + "call c Bash\nresult c 400"
    assert tail_of(Session(text), 1_000).first == 1
