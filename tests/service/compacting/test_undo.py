"""Taking a compaction back, trying one out, and compacting only the beginning (behaviour.md §10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reports.checks import calls, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 200_000}


@pytest.fixture
def session(host: LocalHost) -> Session:
    opened = host.open(model=MODEL)
    talk(opened, 10)
    return opened


def compact(session: Session, target: int = 1_500, **fields: Any) -> Answer:
    report = session.compact(strategy="deterministic", targetTokens=target, **fields)
    assert report["outcome"] == "applied", report
    return report


def undo(session: Session, checkpoint_id: str | None = None) -> Answer:
    fields = {} if checkpoint_id is None else {"checkpointId": checkpoint_id}
    answer: Answer = session.call("context/undo", **fields)
    return answer


def view(session: Session) -> list[tuple[str, Answer]]:
    """(message id, message) of the model view."""
    return [(line["messageId"], line["message"]) for line in session.lines("model", limit=5_000)]


def everything(session: Session) -> Answer:
    """All a host can see of a session, but for what only counts events."""
    projection = session.project(detail="items")
    return {
        "model": session.history_bytes("model"),
        "transcript": session.history_bytes("transcript"),
        "projection": {k: v for k, v in projection.items() if k not in ("revision", "generation")},
        "pins": session.call("context/pins"),
    }


@behaviour("undo.view")
def test_undo_brings_back_the_view_byte_for_byte(session: Session) -> None:
    before = view(session)
    compact(session)
    assert view(session) != before
    answer = undo(session)
    assert view(session) == before
    assert answer["projection"]["tokens"] == session.project()["tokens"]
    sent(session)


def test_what_came_since_follows_what_came_back(session: Session) -> None:
    before = view(session)
    compact(session)
    talk(session, 3, name="later")
    later = view(session)[-12:]
    undo(session)
    assert view(session) == [*before, *later]
    sent(session)


def test_the_newest_is_taken_back_first_and_then_the_one_before(session: Session) -> None:
    zero = view(session)
    compact(session)
    one = view(session)
    talk(session, 8, name="u")
    grown = view(session)
    compact(session)
    undo(session)
    assert view(session) == grown
    undo(session)
    assert view(session) == [*zero, *grown[len(one) :]]
    with pytest.raises(Refused) as refused:
        undo(session)
    assert refused.value.kind == "notFound"


def test_a_named_checkpoint_is_taken_back_with_those_after_it(session: Session) -> None:
    zero = view(session)
    first = compact(session)["checkpointId"]
    kept = len(view(session))
    talk(session, 8, name="u")
    added = view(session)[kept:]
    second = compact(session)["checkpointId"]
    undo(session, first)
    assert view(session) == [*zero, *added]
    for gone in (first, second, "nobody"):
        with pytest.raises(Refused) as refused:
            undo(session, gone)
        assert refused.value.kind == "notFound"


def test_after_a_restart_the_same_can_be_taken_back(host: LocalHost, session: Session) -> None:
    before = view(session)
    checkpoint = compact(session)["checkpointId"]
    talk(session, 3, name="u")
    later = view(session)[-12:]
    host.reopen()
    session = host.open()
    undo(session, checkpoint)
    after = view(session)
    assert after == [*before, *later]
    host.reopen()
    assert view(host.open()) == after


@behaviour("undo.pins")
def test_pins_are_as_they_are_now(session: Session) -> None:
    session.call("context/pin", text="old words")
    old = session.call("context/pins")["pins"][0]["pinId"]
    before = [message for _, message in view(session)]
    compact(session)
    session.call("context/unpin", pinId=old)
    session.call("context/pin", text="new words")
    undo(session)
    messages = [message for _, message in view(session)]
    assert "old words" not in str(messages)
    assert str(messages).count("new words") == 1
    assert [m for m in messages if "new words" not in str(m)] == [
        m for m in before if "old words" not in str(m)
    ]
    sent(session)


def test_the_typed_state_is_what_it_was(session: Session) -> None:
    first = compact(session)["ledger"]
    talk(session, 8, name="u")
    again = compact(session)["ledger"]
    assert again != first
    undo(session)
    assert compact(session)["ledger"] == again


def test_the_model_sees_outputs_again_that_had_left(session: Session) -> None:
    assert session.call("context/contains", handle="t0a")["inContext"]
    compact(session)
    assert not session.call("context/contains", handle="t0a")["inContext"]
    undo(session)
    assert session.call("context/contains", handle="t0a")["inContext"]


def test_the_transcript_is_never_touched(session: Session) -> None:
    before = session.history_bytes("transcript")
    compact(session)
    undo(session)
    assert session.history_bytes("transcript") == before


def test_undo_is_a_change_of_the_view_that_the_cache_report_names(session: Session) -> None:
    compact(session)
    compacted = session.prepare()
    undo(session)
    request = session.prepare()
    assert request["generation"] == compacted["generation"] + 1
    assert request["cache"]["invalidatedAt"] == 0


# Dry runs


def test_a_dry_run_changes_nothing_and_says_what_would_be(host: LocalHost, session: Session) -> None:
    before, revision = everything(session), session.revision
    report = session.compact(strategy="deterministic", targetTokens=1_500, dryRun=True)
    assert report["outcome"] == "planned"
    assert "checkpointId" not in report
    assert (everything(session), session.revision) == (before, revision)
    host.reopen()
    assert everything(host.open()) == before


def test_a_committed_plan_is_what_was_shown(session: Session) -> None:
    plan = session.compact(strategy="deterministic", targetTokens=1_500, dryRun=True)
    done = session.call("context/commit", planId=plan["planId"])
    assert done["outcome"] == "applied"
    for member in ("after", "target", "units", "ledger", "audit"):
        assert done[member] == plan[member]
    assert len(session.lines("model", limit=5_000)) == plan["after"]["messages"]


def test_a_plan_fits_only_the_revision_it_was_made_for(session: Session) -> None:
    plan = session.compact(strategy="deterministic", targetTokens=1_500, dryRun=True)
    revision = session.revision
    session.append(user("one more"))
    before = everything(session)
    with pytest.raises(Refused) as refused:
        session.call("context/commit", planId=plan["planId"])
    assert (refused.value.kind, refused.value.data["expected"], refused.value.data["actual"]) == (
        "revisionConflict",
        revision,
        revision + 1,
    )
    assert everything(session) == before


def test_a_plan_is_committed_once(session: Session) -> None:
    plan = session.compact(strategy="deterministic", targetTokens=1_500, dryRun=True)
    session.call("context/commit", planId=plan["planId"])
    for plan_id in (plan["planId"], "nobody"):
        with pytest.raises(Refused) as refused:
            session.call("context/commit", planId=plan_id)
        assert refused.value.kind in ("notFound", "revisionConflict")


def test_a_committed_plan_can_be_taken_back(session: Session) -> None:
    before = view(session)
    plan = session.compact(strategy="deterministic", targetTokens=1_500, dryRun=True)
    session.call("context/commit", planId=plan["planId"])
    undo(session)
    assert view(session) == before


# The beginning alone


@behaviour("partial.newer")
@pytest.mark.parametrize("turn", [2, 5, 8])
def test_everything_newer_stays_byte_for_byte(session: Session, turn: int) -> None:
    before = view(session)
    cut = 4 * (turn + 1)
    compact(session, upTo=before[cut - 1][0])
    after = view(session)
    assert after[-(len(before) - cut) :] == before[cut:]
    assert len(after) < len(before)
    sent(session)


@pytest.mark.parametrize("place", [1, 2])
def test_a_unit_is_covered_whole_whichever_of_its_messages_is_named(session: Session, place: int) -> None:
    before = view(session)
    compact(session, upTo=before[20 + place][0])
    assert view(session)[-(len(before) - 23) :] == before[23:]
    sent(session)


@behaviour("partial.units")
def test_a_call_that_waits_is_never_covered(session: Session) -> None:
    session.append(user("go"), calls("w1", "w2"), results(("w1", "one")))
    before = view(session)
    compact(session, upTo=before[-1][0])
    assert view(session)[-2:] == before[-2:]
    session.append(results(("w2", "two")), said("done"))
    assert calls("w1", "w2") in sent(session)


@behaviour("partial.request")
def test_a_request_being_worked_on_is_repeated_when_its_words_are_covered(session: Session) -> None:
    session.append(user("Rename the parser module, and keep every test green."))
    for number in range(8):
        session.append(calls(f"p{number}"), results((f"p{number}", "word " * 400)))
    before = view(session)
    compact(session, upTo=before[-7][0])
    after = view(session)
    assert after[-6:] == before[-6:]
    shown = str([message for _, message in after])
    assert "Rename the parser module, and keep every test green." in shown
    assert "The request being worked on" in shown
    sent(session)


def test_a_newer_request_needs_no_repeating(session: Session) -> None:
    before = view(session)
    compact(session, upTo=before[19][0])
    assert "The request being worked on" not in str(view(session))


def test_a_partial_compaction_can_be_taken_back_with_messages_since(session: Session) -> None:
    compact(session)
    talk(session, 8, name="u")
    session.call("context/pin", text="hold")
    before = view(session)
    compact(session, 600, upTo=before[-10][0])
    talk(session, 2, name="v")
    later = view(session)[-8:]
    undo(session)
    assert view(session) == [*before, *later]
    sent(session)


def test_pins_before_the_cut_stay(session: Session) -> None:
    before = view(session)
    session.call("context/pin", messageId=before[0][0])
    compact(session, upTo=before[-9][0])
    after = view(session)
    assert before[0] in after
    assert after[-8:] == before[-8:]


def test_an_unknown_message_is_not_found(session: Session) -> None:
    with pytest.raises(Refused) as refused:
        session.compact(strategy="deterministic", upTo="nobody")
    assert refused.value.kind == "notFound"


def test_nothing_before_the_first_message_is_no_compaction(session: Session) -> None:
    first = view(session)[0][0]
    report = session.compact(strategy="deterministic", upTo=first)
    assert report["outcome"] == "noop"


def test_a_dry_run_of_a_part_is_committed_as_a_part(session: Session) -> None:
    before = view(session)
    plan = session.compact(strategy="deterministic", upTo=before[19][0], dryRun=True)
    session.call("context/commit", planId=plan["planId"])
    assert view(session)[-(len(before) - 20) :] == before[20:]


def test_a_loop_that_began_with_signed_thinking_is_not_cut_apart(host: LocalHost) -> None:
    session = host.open("thinker", model=MODEL)
    talk(session, 6)
    thought = {"type": "thinking", "thinking": "plan it", "signature": "c2lnbmVk"}
    session.append(user("go"), calls("k0", before=[thought]), results(("k0", "word " * 300)))
    for number in range(1, 6):
        session.append(calls(f"k{number}"), results((f"k{number}", "word " * 300)))
    before = view(session)
    compact(session, upTo=before[-5][0])
    shown = sent(session)
    assert thought in shown[[m["role"] for m in shown].index("assistant")]["content"]
