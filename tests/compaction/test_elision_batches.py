"""In what order results give way, when it is enough, and when a batch is worth making.

Behaviour.md section 4; E section 5 with its weaknesses mended.
"""

from __future__ import annotations

import msgspec

from ctxd.compaction.elision import candidates
from ctxd.model.messages import Usage
from ctxd.model.settings import CacheOptions, ElisionOptions
from tests.compaction.elided import NOTHING_RECENT, asks, chat, ids, planned, turn
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

# Order, and stopping


@behaviour("elision.order")
def test_reads_go_before_writes_and_errors_last_oldest_first() -> None:
    """E section 5, weakness: the ranking was inert, since every candidate was removed."""
    options = ElisionOptions(recent_files=0, keep_turns=1, min_messages=1, start_at=0.5, target=0.4)
    session = Session(
        chat(
            turn(1, "Grep", mark="!"),
            turn(2, "Edit", path="a"),
            turn(3, "Grep"),
            turn(4, "Bash"),
            turn(5, "Grep"),
            turn(6),
        )
    )
    order: list[str] = []
    for needed in range(1, 6):
        got = set(ids(planned(session, 50_000 + 0, _stop_after(options, needed))))
        order += sorted(got - set(order))
    assert order == ["c3", "c5", "c2", "c4", "c1"]


def _stop_after(options: ElisionOptions, number: int) -> ElisionOptions:
    """Options under which exactly `number` results of 2 000 bytes are enough to free."""
    return msgspec.structs.replace(options, target=(50_000 - 430 * number) / 100_000)


def test_a_superseded_read_goes_before_a_stale_one_and_that_before_a_large_one() -> None:
    session = Session(
        chat(
            "user: x",
            turn(1, size=9_000),
            asks(6),
            turn(2, size=9_000),
            turn(3, "Read", path="a", size=9_000),
            turn(4, "Read", path="a"),
            turn(5),
        )
    )
    found = sorted(
        candidates(session.state, "full", NOTHING_RECENT, count=count, expired=False), key=lambda c: c.rank
    )
    assert [c.elision.call_id for c in found] == ["c3", "c1", "c2"]


def test_it_stops_as_soon_as_enough_is_freed() -> None:
    session = Session(chat(*(turn(n, size=20_000) for n in range(40))))
    assert len(ids(planned(session, 50_000))) == 3
    assert len(ids(planned(session, 60_000))) == 5


def test_a_spilled_result_frees_only_what_it_still_shows() -> None:
    session = Session(chat(*(turn(n, size=20_000) for n in range(40))))
    every = candidates(session.state, "full", NOTHING_RECENT, count=count, expired=False)
    whole = {c.elision.call_id: c for c in every}
    first = whole["c0"].elision
    session.elide(msgspec.structs.replace(first, reason="spilled", placeholder="x" * 1_000, saved=4_750))
    batch = planned(session, 52_000)
    assert batch is not None
    assert ids(batch) == ["c0", "c1", "c2", "c3"]
    assert batch.saved == sum(whole[f"c{n}"].elision.saved for n in range(4)) - 4_750
    before = session.state.view_tokens
    session.elide(*batch.elisions)
    assert before - session.state.view_tokens == batch.saved


# Pressure


@behaviour("elision.pressure")
def test_below_half_the_budget_nothing_is_touched() -> None:
    """Reports E.62 and E section 5: by pressure only, never at a fixed cadence."""
    session = Session(chat(*(turn(n, size=20_000) for n in range(40))))
    assert planned(session, 49_999) is None
    assert planned(session, 50_000) is not None


def test_start_at_zero_elides_whatever_a_rule_names() -> None:
    session = Session(chat(*(turn(n, size=20_000) for n in range(40))))
    options = msgspec.structs.replace(NOTHING_RECENT, start_at=0.0)
    assert len(ids(planned(session, 1, options))) == 39


def test_an_unknown_window_still_elides() -> None:
    """Behaviour.md section 2: unknown is said, and micro and snip still run."""
    session = Session(chat(*(turn(n, size=20_000) for n in range(40))))
    assert len(ids(planned(session, 10**9, limits=None))) == 39


def test_disabled_means_nothing_is_elided() -> None:
    session = Session(chat(*(turn(n, size=20_000) for n in range(40))))
    assert planned(session, 99_000, msgspec.structs.replace(NOTHING_RECENT, enabled=False)) is None


def test_where_nothing_is_named_there_is_no_batch() -> None:
    assert planned(Session(chat("user: a", turn(1))), 99_000) is None


# The cost of rewriting a cached prefix


@behaviour("elision.worth-it")
def test_a_small_saving_in_front_of_a_long_prefix_is_not_worth_it() -> None:
    session = Session(chat("user: a", turn(1, size=9_000), *(f"user 80000: w{n}" for n in range(3)), turn(2)))
    assert planned(session, 60_000, expired=False) is None
    assert ids(planned(session, 60_000, expired=True)) == ["c1"]


def test_when_compaction_is_due_a_poor_batch_is_better_than_none() -> None:
    session = Session(chat("user: a", turn(1, size=9_000), *(f"user 80000: w{n}" for n in range(3)), turn(2)))
    assert planned(session, 79_999, expired=False) is None
    assert ids(planned(session, 80_000, expired=False)) == ["c1"]


def test_the_batch_says_what_it_costs() -> None:
    session = Session(chat("user: a", turn(1, size=40_000), "user 4000: w", turn(2)))
    batch = planned(session, 60_000, expired=False)
    assert batch is not None
    behind = sum(entry.tokens for entry in session.state.view[2:]) - batch.saved
    assert batch.first == 2
    assert batch.rewritten == behind
    assert batch.break_even == -(-behind * 1.15 // (batch.saved * 0.1))


def test_a_session_that_grows_slowly_has_more_calls_to_pay_in() -> None:
    session = Session(chat("user: a", turn(1, size=40_000), "user 50000: w", turn(2)))
    slow, fast = (
        planned(session, 60_000, expired=False, calls=600),
        planned(session, 60_000, expired=False, calls=2),
    )
    assert slow is not None
    assert fast is None


def test_free_rewriting_is_always_worth_it() -> None:
    session = Session(chat("user: a", turn(1, size=9_000), *(f"user 80000: w{n}" for n in range(3)), turn(2)))
    free = CacheOptions(write_premium=0.1, read_factor=0.1)
    assert ids(planned(session, 60_000, expired=False, cache=free)) == ["c1"]


# What a batch does to the session


@behaviour("elision.idempotent")
def test_calls_ids_order_and_prose_stay_and_the_pass_is_idempotent() -> None:
    """E section 5, weakness: assistant prose and decisions vanished with removed turns."""
    session = Session(chat(*(f"assistant: step {n}\n{turn(n, size=20_000)}" for n in range(20)), "user: go"))
    before = session.shown()
    batch = planned(session, 90_000)
    assert batch is not None
    session.elide(*batch.elisions)
    after = session.shown()
    assert [m["role"] for m in after] == [m["role"] for m in before]
    assert [m for m in after if m["role"] == "assistant"] == [m for m in before if m["role"] == "assistant"]
    assert set(ids(planned(session, 90_000))).isdisjoint(ids(batch))


def test_eliding_does_not_destroy_the_anchor() -> None:
    """E section 2, weakness: snip reset the baseline almost always."""
    session = Session(chat(*(turn(n, size=20_000) for n in range(20))))
    session.answer("assistant: ok", Usage(prompt=100_000, completion=5))
    batch = planned(session, 90_000)
    assert batch is not None
    before = session.project().tokens
    session.elide(*batch.elisions)
    after = session.project()
    assert after.source == "provider_plus_estimate"
    assert after.tokens == before - batch.saved
