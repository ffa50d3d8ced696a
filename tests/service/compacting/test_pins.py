"""Pins: a person's words, word for word in every view, within a budget (protocol.md, section 3)."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.service.compacting.pins import PREFACE
from tests.reports.checks import calls, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 200_000}
WORDS = "Never touch prod-db-7; the port is 8081. 绝不要推送到 main 分支。"


@pytest.fixture
def session(host: LocalHost) -> Session:
    return host.open(model=MODEL)


def pin(session: Session, **fields: Any) -> Answer:
    made: Answer = session.call("context/pin", **fields)
    return made


def pins(session: Session) -> Answer:
    held: Answer = session.call("context/pins")
    return held


def compact(session: Session, target: int = 900) -> Answer:
    report = session.compact(strategy="deterministic", targetTokens=target)
    assert report["outcome"] == "applied"
    return report


def shown_pins(session: Session) -> int:
    return sum(PREFACE + WORDS in str(message["content"]) for message in sent(session))


@behaviour("pins.verbatim")
def test_a_pinned_text_stays_word_for_word_through_five_compactions_and_restarts(
    host: LocalHost, session: Session
) -> None:
    talk(session, 6)
    pin(session, text=WORDS, label="rules")
    for number in range(5):
        talk(session, 6, name=f"n{number}")
        assert compact(session)["pins"] == 1
        assert shown_pins(session) == 1
        host.reopen()
        session = host.open()
        assert shown_pins(session) == 1
    (held,) = pins(session)["pins"]
    assert (held["text"], held["label"]) == (WORDS, "rules")


def test_a_pinned_message_stays_byte_for_byte_through_five_compactions(
    host: LocalHost, session: Session
) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": WORDS, "host_note": {"kept": None}}]}
    (message_id,) = session.append(message)["messageIds"]
    session.append(said("noted"))
    pin(session, messageId=message_id)
    for number in range(5):
        talk(session, 6, name=f"n{number}")
        compact(session)
        lines = [line["message"] for line in session.lines("model") if line["messageId"] == message_id]
        assert lines == [message]
        sent(session)
    host.reopen()
    assert message in host.open().messages("model")


@behaviour("pins.whole")
def test_a_pinned_tool_result_is_neither_elided_nor_clipped_nor_parted_from_its_call(
    session: Session,
) -> None:
    session.append(user("go"), calls("keep"))
    (message_id,) = session.append(results(("keep", "line\n" * 2_000)))["messageIds"]
    session.append(said("seen"))
    pin(session, messageId=message_id)
    talk(session, 10)
    session.compact(strategy="auto", targetTokens=50_000)
    compact(session)
    talk(session, 10, name="u")
    compact(session)
    shown = sent(session)
    assert results(("keep", "line\n" * 2_000)) in shown
    assert calls("keep") in shown


def test_a_pinned_newest_result_is_not_clipped(session: Session) -> None:
    talk(session, 10)
    session.append(user("go"), calls("keep"))
    (message_id,) = session.append(results(("keep", "line\n" * 2_000)))["messageIds"]
    pin(session, messageId=message_id)
    compact(session, 3_000)
    assert results(("keep", "line\n" * 2_000)) in session.messages("model")


def test_pins_hold_when_a_model_sees_little_and_everything_else_must_go(host: LocalHost) -> None:
    session = host.open(model={**MODEL, "contextWindow": 8_000})
    session.append(user("go"), said("ok"))
    pin(session, text=WORDS)
    for number in range(6):
        talk(session, 2, words=900, name=f"n{number}")
        assert shown_pins(session) == 1


def test_an_unpinned_text_leaves_the_view_and_an_unpinned_message_may_go(session: Session) -> None:
    (message_id,) = session.append(user("keep me"))["messageIds"]
    session.append(said("ok"))
    text = pin(session, text=WORDS)["pinId"]
    message = pin(session, messageId=message_id)["pinId"]
    talk(session, 6)
    session.call("context/unpin", pinId=text)
    assert shown_pins(session) == 0
    session.call("context/unpin", pinId=message)
    assert pins(session)["pins"] == []
    compact(session)
    assert message_id not in [line["messageId"] for line in session.lines("model")]


@behaviour("pins.budget")
def test_the_budget_is_counted_told_and_kept(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    session.append(user("go"), said("ok"))
    budget = pins(session)["budget"]
    assert budget == 4_096
    first = pin(session, text="word " * 1_000)
    assert first["budgetLeft"] == budget - first["tokens"]
    with pytest.raises(Refused) as refused:
        pin(session, text="word " * 4_000)
    assert refused.value.kind == "tooLarge"
    assert refused.value.data["budget"] == budget
    assert pins(session)["tokens"] == first["tokens"]
    session.call("context/unpin", pinId=first["pinId"])
    assert pins(session)["tokens"] == 0


def test_a_small_window_has_a_small_budget(host: LocalHost) -> None:
    assert pins(host.open(model={"id": "m", "contextWindow": 8_000}))["budget"] == 400


def test_a_pinned_message_costs_its_whole_unit(session: Session) -> None:
    session.append(user("go"), calls("big"))
    (message_id,) = session.append(results(("big", "short")))["messageIds"]
    alone = session.project(detail="items")["items"]
    size = {item["messageId"]: item["tokens"] for item in alone}
    assert pin(session, messageId=message_id)["tokens"] > size[message_id]


@pytest.mark.parametrize("fields", [{}, {"text": "a", "messageId": "m"}, {"text": "  \n"}])
def test_a_pin_is_of_one_thing(session: Session, fields: Any) -> None:
    with pytest.raises(Refused) as refused:
        pin(session, **fields)
    assert refused.value.kind == "invalidParams"


def test_unknown_and_repeated_pins_are_refused(session: Session) -> None:
    (message_id,) = session.append(user("hold"))["messageIds"]
    pin(session, messageId=message_id)
    with pytest.raises(Refused) as refused:
        pin(session, messageId=message_id)
    assert refused.value.paths == ["messageId"]
    for method, fields in (("context/pin", {"messageId": "nobody"}), ("context/unpin", {"pinId": "nobody"})):
        with pytest.raises(Refused) as refused:
            session.call(method, **fields)
        assert refused.value.kind == "notFound"


def test_a_message_that_left_the_view_and_one_that_is_shortened_cannot_be_pinned(session: Session) -> None:
    (gone, *_) = session.append(user("first"), said("ok"))["messageIds"]
    session.append(user("go"), calls("big"))
    (big,) = session.append(results(("big", "x" * 200_000)))["messageIds"]
    with pytest.raises(Refused) as refused:
        pin(session, messageId=big)
    assert refused.value.paths == ["messageId"]
    talk(session, 8)
    compact(session)
    with pytest.raises(Refused) as refused:
        pin(session, messageId=gone)
    assert refused.value.kind == "notFound"


def test_a_pin_made_while_a_call_waits_does_not_part_it_from_its_result(session: Session) -> None:
    session.append(user("go"), calls("w"))
    pin(session, text=WORDS)
    sent(session, pending=True)
    session.append(results(("w", "done")), said("on"))
    assert shown_pins(session) == 1
    talk(session, 8)
    compact(session)
    assert shown_pins(session) == 1


def test_pins_are_for_the_model_and_not_for_people(session: Session) -> None:
    session.append(user("hi"))
    pin(session, text=WORDS)
    assert session.messages("transcript") == [user("hi")]
    assert session.prepare()["projection"]["tokens"] > 20


def test_the_prefix_stays_when_something_is_pinned(session: Session) -> None:
    talk(session, 3)
    before = sent(session)
    pin(session, text=WORDS)
    after = session.prepare()
    assert after["messages"][: len(before)] == before
    assert after["cache"]["stablePrefixMessages"] == len(before)
