"""Which results give way and which never do: the rules, one result at a time.

Behaviour.md section 4; O section 11 and E section 5 with their weaknesses mended.
"""

from __future__ import annotations

import msgspec
import pytest

from ctxd.compaction.elision import candidates, working_set
from tests.compaction.elided import NOTHING_RECENT, OPTIONS, asks, chat, named, turn
from tests.support.behaviour import behaviour
from tests.support.session import Session, count

# Reasons


@behaviour("elision.stale")
def test_a_result_older_than_five_user_turns_is_stale() -> None:
    assert named(Session(chat("user: first", turn(1), turn(2), asks(5)))) == {}
    assert named(Session(chat("user: first", turn(1), turn(2), asks(6)))) == {"c1": "stale"}


@behaviour("elision.oversized")
def test_a_result_above_8192_bytes_is_oversized() -> None:
    session = Session(chat(turn(1, size=8_192), turn(2, size=8_193), turn(3)))
    assert named(session) == {"c2": "oversized"}


@behaviour("elision.oversized")
def test_a_size_rule_holds_for_each_item_and_not_only_for_large_totals() -> None:
    """Reports C.36: a 482k message in a 500k window was never elided."""
    assert named(Session(chat(turn(1, size=482_000), turn(2)))) == {"c1": "oversized"}


@behaviour("elision.superseded")
def test_a_newer_read_of_the_same_range_supersedes_the_older() -> None:
    session = Session(chat(turn(1, "Read", path="a.py"), turn(2, "Read", path="./a.py"), turn(3)))
    assert named(session) == {"c1": "superseded"}


def test_another_range_or_another_file_supersedes_nothing() -> None:
    session = Session(
        chat(
            "call c1 Read path=a.py limit=10\nresult c1 2000",
            "call c2 Read path=a.py limit=20\nresult c2 2000",
            turn(3, "Read", path="b.py"),
            turn(4),
        )
    )
    assert named(session) == {}


def test_the_first_reason_wins_superseded_before_stale_before_oversized() -> None:
    big = 9_000
    text = chat(
        "user: first",
        turn(1, "Read", size=big, path="a"),
        turn(2, "Bash", size=big),
        asks(6),
        turn(3, "Bash", size=big),
        turn(4, "Read", size=big, path="a"),
        turn(5),
    )
    assert named(Session(text)) == {
        "c1": "superseded",
        "c2": "stale",
        "c3": "oversized",
        "c4": "oversized",
    }


@behaviour("elision.snipped")
def test_turns_outside_the_newest_ten_are_snipped_once_there_are_thirty_messages() -> None:
    assert named(Session(chat(*(turn(n) for n in range(14))))) == {}
    assert list(named(Session(chat(*(turn(n) for n in range(15)))))) == ["c0", "c1", "c2", "c3", "c4"]
    assert set(named(Session(chat(*(turn(n) for n in range(15))))).values()) == {"snipped"}


@behaviour("elision.cold-cache")
def test_a_cold_cache_lets_go_of_all_but_the_newest_three_from_fifteen_messages() -> None:
    assert named(Session(chat(*(turn(n) for n in range(7)))), expired=True) == {}
    session = Session(chat(*(turn(n) for n in range(8))))
    assert named(session, expired=True) == {f"c{n}": "cacheExpired" for n in range(5)}


def test_a_warm_pass_inside_a_turn_names_only_what_is_oversized() -> None:
    """O section 11: deep history stays byte-stable between iterations."""
    text = chat(turn(1, "Read", path="a"), turn(2, "Read", path="a"), asks(6), turn(3, size=9_000), turn(4))
    assert named(Session(text), kind="oversizedOnly") == {"c3": "oversized"}


# Protections


@behaviour("elision.newest")
def test_the_newest_tool_turn_is_never_named_not_even_its_parallel_calls() -> None:
    newest = "call a Bash\ncall b Bash\nresult a 90000\n\nresult b 90000"
    assert named(Session(chat(newest, asks(9)))) == {}
    assert named(Session(chat(newest, asks(9), turn(1)))) == {"a": "stale", "b": "stale"}


def test_protected_ids_are_never_named() -> None:
    session = Session(chat(turn(1, size=9_000), turn(2, size=9_000), turn(3)))
    assert named(session, protected=("c1",)) == {"c2": "oversized"}


def test_a_pinned_message_keeps_its_results() -> None:
    session = Session(chat(turn(1, size=9_000), turn(2)))
    entry = session.state.view[1]
    entry.facts = msgspec.structs.replace(entry.facts, pinned=True)
    assert named(session) == {}


def test_an_elided_result_is_not_named_again_but_a_spilled_one_is() -> None:
    for reason, again in (("stale", {}), ("spilled", {"c1": "oversized"})):
        session = Session(chat(turn(1, size=90_000), turn(2)))
        [candidate] = candidates(session.state, "full", NOTHING_RECENT, count=count, expired=False)
        shown = msgspec.structs.replace(
            candidate.elision, reason=reason, saved=20_000, placeholder="x" * 10_000
        )
        session.elide(shown)
        assert named(session) == again


def test_a_placeholder_is_used_only_where_it_is_smaller() -> None:
    """O section 10, weakness: a placeholder could be longer than what it replaced."""
    session = Session(chat("user: a", turn(1, size=100), turn(2, size=400), asks(6), turn(3)))
    assert named(session) == {"c2": "stale"}
    for candidate in candidates(session.state, "full", NOTHING_RECENT, count=count, expired=False):
        assert candidate.elision.saved > 0
        assert candidate.elision.saved_bytes > 0


def test_dedup_leaves_tiny_results_alone() -> None:
    """O section 11, weakness: dedup replaced even tiny results, a net growth."""
    session = Session(chat(turn(1, "Read", size=100, path="a"), turn(2, "Read", size=100, path="a"), turn(3)))
    assert named(session) == {}


def test_a_tool_that_prints_a_placeholder_is_not_taken_for_an_elided_result() -> None:
    """O section 10, weakness: a tool could output the prefix itself and pass as already pruned."""
    session = Session(chat(turn(1, size=9_000), turn(2)))
    [first] = candidates(session.state, "full", NOTHING_RECENT, count=count, expired=False)
    forged = (first.elision.placeholder + " ") * 80
    assert named(Session(chat(f"call c1 Bash\nresult c1: {forged}", turn(2)))) == {"c1": "oversized"}


def test_hidden_and_inserted_messages_age_nothing() -> None:
    """O section 11, weakness: notices counted as user turns and inflated ages."""
    session = Session(chat("user: first", turn(1)))
    for number in range(9):
        session.say(f"user: notice {number}", hidden=True)
    session.say(turn(2))
    assert named(session) == {}


# The working set


@behaviour("elision.recent-files")
def test_the_newest_read_of_each_of_the_five_most_recently_touched_files_stays() -> None:
    reads = [turn(n, "Read", size=9_000, path=f"f{n}") for n in range(7)]
    assert list(named(Session(chat(*reads, turn(9))), OPTIONS)) == ["c0", "c1"]


def test_a_write_is_a_touch_and_keeps_the_earlier_read() -> None:
    reads = [turn(n, "Read", size=9_000, path=f"f{n}") for n in range(6)]
    session = Session(chat(*reads, turn(8, "Edit", path="./f0"), turn(9)))
    assert list(named(session, OPTIONS)) == ["c1"]


def test_an_error_never_supersedes_content_and_is_never_what_stays() -> None:
    """O section 11, weakness: a failed read replaced the real body."""
    session = Session(chat(turn(1, "Read", path="a"), turn(2, "Read", mark="!", path="a"), turn(3)))
    assert named(session) == {}
    assert working_set(session.state, 5).pinned == {("m2", "c1")}


@pytest.mark.parametrize("size", [900, 5_000])
def test_an_unchanged_stub_never_supersedes_content(size: int) -> None:
    """O section 11, weakness: the stub "file unchanged" superseded the body it pointed to."""
    stub = "call c2 Read path=a\nresult c2: File unchanged since it was last read."
    session = Session(chat(turn(1, "Read", size=size, path="a"), stub, turn(3)))
    assert named(session) == {}
    assert working_set(session.state, 5).pinned == {("m2", "c1")}


def test_a_small_read_behind_a_write_is_content() -> None:
    session = Session(
        chat(
            turn(1, "Read", size=5_000, path="a"),
            turn(2, "Write", path="a"),
            "call c3 Read path=a\nresult c3: emptied",
            turn(4),
        )
    )
    assert named(session) == {"c1": "superseded"}
    assert working_set(session.state, 5).pinned == {("m6", "c3")}


def test_a_view_by_an_editor_tool_is_superseded_like_any_read() -> None:
    look = "call c{0} str_replace_editor command=view path=a\nresult c{0} 3000"
    assert named(Session(chat(look.format(1), look.format(2), turn(3)))) == {"c1": "superseded"}


def test_a_reused_call_id_does_not_share_its_neighbours_fate() -> None:
    """O section 11, weakness: a reused id mapped to the first tool and its pin status."""
    session = Session(
        chat(
            "call c Read path=a\nresult c 9000",
            "call c Bash command=x\nresult c 9000",
            "call c Read path=b\nresult c 100",
            turn(9),
        ),
        dialect="openai-chat",
    )
    found = candidates(session.state, "full", OPTIONS, count=count, expired=False)
    assert [(c.elision.message_id, 'occurrence": 1' in c.elision.placeholder) for c in found] == [
        ("m4", True)
    ]


def test_a_placeholder_names_its_occurrence_before_the_id_is_used_again() -> None:
    session = Session(chat("call c Bash\nresult c 9000", turn(9)), dialect="openai-chat")
    [candidate] = candidates(session.state, "full", OPTIONS, count=count, expired=False)
    assert '{"toolCallId": "c", "occurrence": 0}' in candidate.elision.placeholder


# Images


def test_each_result_saves_its_own_images_and_no_others() -> None:
    two = "call a Shot\ncall b Shot\nresult a 100 image 750x200\nresult b 100 image 750x300"
    session = Session(chat("user: see\nimage 750x400", two, asks(6), turn(1)))
    found = candidates(session.state, "full", NOTHING_RECENT, count=count, expired=False)
    assert [c.elision.saved_media for c in found] == [200, 300]
    session.elide(*(c.elision for c in found))
    assert session.state.view_media == 400


def test_an_image_smaller_than_its_placeholder_stays() -> None:
    tiny = "call a Shot\nresult a image 75x10"
    assert named(Session(chat("user: x", tiny, asks(6), turn(1)))) == {}
