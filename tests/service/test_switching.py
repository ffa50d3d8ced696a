"""A host that changes providers in the middle: views in the new dialect, messages kept in the old one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxd.dialects.registry import NAMES, get
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support import natives, sdk
from tests.support.behaviour import behaviour

PAIRS = [(old, new) for old in NAMES for new in NAMES if old != new]
SWITCHED = pytest.mark.parametrize(("old", "new"), PAIRS)
MODEL = {"id": "m", "contextWindow": 20_000}


def turn(dialect: str, number: int, words: int = 400) -> list[Answer]:
    ids = [f"c{number}", f"d{number}"]
    return [
        natives.user(dialect, f"Do step {number}."),
        *natives.calling(dialect, ids),
        *(natives.answer(dialect, call_id, f"output of {call_id}\n" * words) for call_id in ids),
        natives.said(dialect, f"Step {number} is done."),
    ]


def begin(host: LocalHost, dialect: str, turns: int = 3, **fields: Any) -> Session:
    session = host.open(dialect=dialect, model=MODEL, **fields)
    for number in range(turns):
        session.append(*turn(dialect, number, 40))
    return session


def check(session: Session, dialect: str) -> list[Answer]:
    """The next request: lawful, typed by the SDK, and what the history calls the model's view."""
    messages: list[Answer] = session.prepare()["messages"]
    verdict = session.host.call("context/validate", dialect=dialect, messages=messages)
    assert verdict == {"ok": True, "violations": []}
    assert sdk.faults(dialect, messages) == []
    assert messages == session.messages("model")
    return messages


@behaviour("switch.view")
@SWITCHED
def test_after_a_switch_every_view_is_in_the_new_dialect_and_every_message_in_its_own(
    host: LocalHost, old: str, new: str
) -> None:
    session = begin(host, old)
    before = session.project()
    stored = session.history_bytes("transcript")
    info = session.call("session/update", dialect=new)
    assert info["dialect"] == new
    after = session.project()
    assert after["generation"] == before["generation"] + 1
    assert after["fingerprint"] != before["fingerprint"]
    assert session.history_bytes("transcript") == stored
    check(session, new)
    with pytest.raises(Refused) as refused:
        session.append({"role": "robot"})
    assert refused.value.kind == "invalidMessages"
    later = turn(new, 9, 2)
    session.append(*later)
    assert session.messages()[-len(later) :] == later
    shown = check(session, new)
    assert [get(new).view(m).text for m in shown if get(new).view(m).is_user_turn] == [
        *(f"Do step {n}." for n in (0, 1, 2)),
        "Do step 9.",
    ]


@behaviour("switch.stands")
@SWITCHED
def test_a_switch_is_still_there_after_a_restart_and_in_a_fork(host: LocalHost, old: str, new: str) -> None:
    session = begin(host, old)
    session.call("session/update", dialect=new)
    session.append(*turn(new, 8, 2))
    view, stored = session.history_bytes(), session.history_bytes("transcript")
    found = session.call("recall/search", query="output of c1")["hits"]
    host.reopen()
    again = host.open(dialect=new)
    assert again.info["dialect"] == new
    assert (again.history_bytes(), again.history_bytes("transcript")) == (view, stored)
    assert again.call("recall/search", query="output of c1")["hits"] == found
    assert again.fetch("c1")["content"].startswith("output of c1")
    assert again.fetch("c8")["content"].startswith("output of c8")
    fork = Session(host, again.call("session/fork"))
    assert fork.info["dialect"] == new
    assert fork.messages("model") == again.messages("model")
    listed = host.call("session/list")["sessions"]
    assert {row["dialect"] for row in listed} == {new}
    with pytest.raises(Refused):
        host.open(dialect=old)


@SWITCHED
def test_a_view_only_grows_at_its_end_after_a_switch(host: LocalHost, old: str, new: str) -> None:
    session = begin(host, old)
    session.call("session/update", dialect=new)
    sent = check(session, new)
    for number in (7, 8):
        for message in turn(new, number, 2):
            session.append(message)
            grown = session.prepare()["messages"]
            settled = len(sent) - 1
            assert grown[:settled] == sent[:settled]
        sent = check(session, new)


@behaviour("switch.policy")
@SWITCHED
def test_elision_compaction_pins_and_handoffs_go_on_over_messages_of_both_dialects(
    host: LocalHost, old: str, new: str
) -> None:
    session = begin(host, old, 2)
    session.call("context/pin", text="Keep to the plan.")
    session.call("session/update", dialect=new, model={"id": "m", "contextWindow": 12_000})
    session.call("context/pin", text="And be brief.")
    stages: set[str] = set()
    for number in range(3, 12):
        session.append(natives.user(new, f"Do step {number}."))
        made = session.prepare()
        stages |= {stage["stage"] for stage in made["report"]["stages"]}
        session.report(
            made["requestId"],
            *natives.calling(new, [f"c{number}"]),
            usage=natives.usage(new, made["projection"]["tokens"]),
        )
        session.append(natives.answer(new, f"c{number}", f"output of c{number}\n" * 120))
        check(session, new)
    assert stages & {"elision", "compaction"}
    report = session.compact(strategy="deterministic", targetTokens=1500)
    assert report["outcome"] in ("applied", "noop")
    said = json.dumps(check(session, new))
    assert "Keep to the plan." in said
    assert "And be brief." in said
    host.reopen()
    again = host.open(dialect=None)
    assert json.dumps(check(again, new)) == said
    assert again.fetch("c0")["content"] == "output of c0\n" * 40
    again.call("context/undo")
    check(again, new)


def test_the_kept_tail_may_hold_messages_of_the_old_dialect(host: LocalHost) -> None:
    session = begin(host, "openai-chat", 6)
    session.call("session/update", dialect="anthropic")
    assert session.compact(strategy="deterministic", targetTokens=1200)["outcome"] == "applied"
    messages = check(session, "anthropic")
    assert "output of d5" in json.dumps(messages)
    session.call("session/update", dialect="openai-responses")
    session.append(*turn("openai-responses", 9, 2))
    check(session, "openai-responses")
    session.call("session/update", dialect="openai-chat")
    check(session, "openai-chat")


def test_what_does_not_cross_is_listed_with_its_message(host: LocalHost) -> None:
    session = begin(host, "openai-responses", 1)
    info = session.call("session/update", dialect="anthropic")
    thought = session.lines()[1]
    assert thought["message"]["type"] == "reasoning"
    assert info["losses"] == [{"messageId": thought["messageId"], "what": "reasoning", "detail": "sealed"}]
    assert "losses" not in session.call("session/update", dialect="anthropic")


def test_a_switch_is_refused_while_calls_wait(host: LocalHost) -> None:
    session = host.open(dialect="anthropic")
    session.append(natives.user("anthropic", "go"), *natives.calling("anthropic", ["c1"]))
    with pytest.raises(Refused) as refused:
        session.call("session/update", dialect="gemini")
    assert (refused.value.kind, refused.value.paths) == ("invalidParams", ["dialect"])
    session.append(natives.answer("anthropic", "c1", "done"))
    assert session.call("session/update", dialect="gemini")["dialect"] == "gemini"


def test_a_result_for_a_call_of_the_old_dialect_comes_too_late(host: LocalHost) -> None:
    session = begin(host, "anthropic", 1)
    session.call("session/update", dialect="openai-chat")
    with pytest.raises(Refused) as refused:
        session.append(natives.answer("openai-chat", "c0", "again"))
    assert refused.value.rules == [("orphanResult", 0)]


@behaviour("switch.calls")
@pytest.mark.parametrize(
    ("old", "new"), [pair for pair in PAIRS if pair[1] in ("anthropic", "openai-responses")]
)
def test_a_call_may_not_have_the_id_of_one_that_was_made_before_the_switch(
    host: LocalHost, old: str, new: str
) -> None:
    session = begin(host, old, 2)
    session.call("session/update", dialect=new)
    session.append(natives.user(new, "go on"))
    before = session.messages()
    with pytest.raises(Refused) as refused:
        session.append(*natives.calling(new, ["c0"]), natives.answer(new, "c0", "again"))
    assert "duplicateCall" in {rule for rule, _ in refused.value.rules}
    assert session.messages() == before
    session.append(*natives.calling(new, ["c7"]), natives.answer(new, "c7", "fine"))
    check(session, new)


@behaviour("switch.calls")
@pytest.mark.parametrize("between", ["openai-chat", "gemini"])
@pytest.mark.parametrize("old", ["anthropic", "openai-responses"])
def test_ids_used_again_where_a_provider_lets_them_stay_apart_on_the_way_back(
    host: LocalHost, old: str, between: str
) -> None:
    session = begin(host, old, 1)
    session.call("session/update", dialect=between)
    session.append(*turn(between, 0, 3))
    session.call("session/update", dialect=old)
    session.append(natives.user(old, "go on"))
    views = [get(old).view(message) for message in check(session, old)]
    calls = [call.call_id for view in views for call in view.calls]
    assert calls[:2] == ["c0", "d0"]
    assert len(set(calls)) == 4
    assert [result.call_id for view in views for result in view.results] == calls


@behaviour("switch.losses")
def test_every_request_after_a_switch_says_what_of_it_did_not_cross(host: LocalHost) -> None:
    session = begin(host, "openai-responses", 2)
    assert "losses" not in session.prepare()
    lost = session.call("session/update", dialect="anthropic")["losses"]
    assert [loss["what"] for loss in lost] == ["reasoning", "reasoning"]
    assert session.prepare()["losses"] == lost
    for number in (5, 6):
        for message in turn("anthropic", number, 2):
            session.append(message)
            assert session.prepare("iteration")["losses"] == lost
    host.reopen()
    session = host.open(dialect=None)
    assert session.prepare()["losses"] == lost
    session.call("session/update", dialect="openai-responses")
    assert "losses" not in session.prepare()


def test_tools_are_given_anew_and_the_system_prompt_crosses_as_its_text(host: LocalHost) -> None:
    tools = [{"name": "run", "input_schema": {"type": "object"}}]
    session = begin(host, "anthropic", 1, system=[{"type": "text", "text": "be brief"}], tools=tools)
    with pytest.raises(Refused) as refused:
        session.call("session/update", dialect="gemini")
    assert refused.value.paths == ["tools"]
    assert session.project()["generation"] == 0
    declared = [{"functionDeclarations": [{"name": "run"}]}]
    session.call("session/update", dialect="gemini", tools=declared)
    made = session.prepare()
    assert (made["system"], made["tools"]) == ({"parts": [{"text": "be brief"}]}, declared)
    session.call("session/update", dialect="openai-responses", tools=[], system="be long")
    assert session.prepare()["system"] == "be long"


def test_an_unknown_dialect_is_refused_and_changes_nothing(host: LocalHost) -> None:
    session = begin(host, "anthropic", 1)
    with pytest.raises(Refused) as refused:
        session.call("session/update", dialect="morse")
    assert refused.value.kind == "unknownDialect"
    assert session.call("session/update", dialect="anthropic")["generation"] == 0


def test_the_usage_of_a_request_in_the_old_dialect_anchors_nothing(host: LocalHost) -> None:
    session = begin(host, "anthropic", 1)
    session.append(natives.user("anthropic", "go on"))
    asked = session.prepare()["requestId"]
    session.call("session/update", dialect="gemini")
    with pytest.raises(Refused) as refused:
        session.report(asked, natives.said("anthropic", "done"))
    assert refused.value.kind == "invalidMessages"
    answer = session.report(asked, natives.said("gemini", "done"), usage=natives.usage("gemini", 9_000))
    assert answer["projection"]["source"] == "local_estimate"


@behaviour("export.dialect")
@SWITCHED
def test_an_export_is_in_the_dialect_asked_for(host: LocalHost, old: str, new: str) -> None:
    session = begin(host, old)
    own = json.loads(session.call("session/export", format="native")["content"])
    assert own == session.messages()
    made = session.call("session/export", format="native", dialect=new)
    messages = json.loads(made["content"])
    verdict = host.call("context/validate", dialect=new, messages=messages)
    assert verdict == {"ok": True, "violations": []}
    assert sdk.faults(new, messages) == []
    lost = {(loss["messageId"], loss["what"]) for loss in made.get("losses", [])}
    assert {what for _, what in lost} <= {"reasoning", "signature"}
    assert {message_id for message_id, _ in lost} <= {line["messageId"] for line in session.lines()}
    session.call("session/update", dialect=new)
    session.append(*turn(new, 9, 2))
    mixed = json.loads(session.call("session/export", format="native")["content"])
    assert mixed[: len(messages)] == messages
    assert (
        sdk.faults(old, json.loads(session.call("session/export", format="native", dialect=old)["content"]))
        == []
    )
    assert "Do step 9." in session.call("session/export", format="markdown")["content"]


def test_only_a_native_export_is_of_a_dialect(host: LocalHost) -> None:
    session = begin(host, "anthropic", 1)
    with pytest.raises(Refused) as refused:
        session.call("session/export", format="markdown", dialect="gemini")
    assert refused.value.paths == ["dialect"]
