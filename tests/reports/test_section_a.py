"""Public reports, section A: pairing and wire validity. Each test has the input of its report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reports.checks import (
    MODEL,
    calls,
    compact,
    results,
    said,
    sent,
    shown_calls,
    shown_results,
    talk,
    user,
)
from tests.service.host import Answer, LocalHost, Refused, Session

BACKGROUND = "[Background:"
"""How a summary message begins."""


@pytest.fixture
def session(host: LocalHost) -> Session:
    return host.open(model=MODEL)


def summaries(messages: list[Answer]) -> int:
    return sum(BACKGROUND in str(message["content"]) for message in messages)


def test_a01_a_compaction_between_call_and_result_is_not_rendered_inside_the_pair(session: Session) -> None:
    talk(session, 12)
    session.append(user("go"), calls("x"))
    assert compact(session)["outcome"] == "applied"
    session.append(results(("x", "late but here")), said("done"))
    talk(session, 12, name="u")
    assert compact(session)["outcome"] == "applied"
    messages = sent(session)
    assert summaries(messages) == 1
    assert messages == session.messages("model")


def test_a02_no_orphan_result_survives_chained_compactions(session: Session) -> None:
    talk(session, 10)
    session.append(calls("tuA"), results(("tuA", "a")), calls("tuB"))
    assert compact(session)["outcome"] == "applied"
    with pytest.raises(Refused) as refused:
        session.append(results(("tuZ", "z")))
    assert refused.value.rules == [("orphanResult", 0)]
    session.append(results(("tuB", "b")), said("on"))
    for name in "uvw":
        talk(session, 8, name=name)
        compact(session)
        sent(session)
        session.host.reopen()
        session.host.open()
        messages = sent(session)
        assert shown_calls(messages) == shown_results(messages)


@pytest.mark.parametrize("target", [1, 2_000, 4_000, 8_000, 16_000, 29_000])
def test_a03_a_cut_never_falls_between_calls_and_their_results(session: Session, target: int) -> None:
    for number in range(130):
        pair = [f"{number}a", f"{number}b"]
        session.append(user("go"), calls(*pair), results(*[(i, "word " * 60) for i in pair]), said("ok"))
    report = compact(session, targetTokens=target)
    assert report["outcome"] == "applied"
    messages = sent(session)
    assert shown_calls(messages) == shown_results(messages)
    assert len(shown_calls(messages)) % 2 == 0


def test_a04_a_host_is_shown_which_result_is_unexpected_and_where(session: Session) -> None:
    broken = [user("go"), calls("toolu_1"), results(("toolu_1", "x")), said("ok"), results(("toolu_9", "y"))]
    verdict = session.host.call("context/validate", dialect="anthropic", messages=broken, repair=True)
    (violation,) = verdict["violations"]
    assert (violation["rule"], violation["index"], violation["mend"]) == ("orphanResult", 4, "refuse")
    assert "toolu_9" in violation["detail"]
    assert verdict["repaired"] == broken[:4]


def test_a05_a_second_trigger_right_after_a_boundary_does_nothing(host: LocalHost) -> None:
    host.configure({"elision": {"enabled": False}})
    session = host.open(model={"id": "m", "contextWindow": 20_000})
    talk(session, 14, 600)
    session.append(user("go"), calls("pending"))
    first = session.prepare()
    assert first["report"]["compactionPerformed"]
    for phase in ("turnStart", "iteration", "turnStart"):
        again = session.prepare(phase)
        assert (again["generation"], again["messages"]) == (first["generation"], first["messages"])
    assert shown_calls(sent(session, pending=True))[-1] == "pending"
    session.append(results(("pending", "done")))
    assert shown_results(sent(session))[-1] == "pending"


def test_a07_a_result_that_lands_while_compacting_is_kept(session: Session) -> None:
    talk(session, 15)
    ids = [f"p{n}" for n in range(13)]
    session.append(user("go"), calls(*ids))
    session.append(results(*[(i, "early") for i in ids[:7]]))
    answers = session.host.together(
        ("context/compact", {"sessionId": session.id, "strategy": "deterministic"}),
        *[
            ("session/append", {"sessionId": session.id, "messages": [results((i, "meanwhile"))]})
            for i in ids[7:]
        ],
    )
    assert answers[0]["outcome"] == "applied"
    messages = sent(session)
    assert shown_calls(messages)[-13:] == ids
    assert sorted(shown_results(messages)[-13:]) == sorted(ids)
    assert all(message in messages for message in [results((i, "meanwhile")) for i in ids[7:]])


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_a08_a_parallel_batch_goes_whole_or_stays_whole(host: LocalHost, dialect: str) -> None:
    """Six messages: three calls, each in a message of its own where the dialect has that, three results."""
    session = host.open(dialect=dialect, model=MODEL)
    for turn in range(14):
        ids = [f"{turn}fc{n}" for n in range(3)]
        session.append(user(f"ask {turn}"))
        if dialect == "anthropic":
            session.append(*[calls(i) for i in ids], *[results((i, "word " * 150)) for i in ids])
        else:
            session.append({"role": "assistant", "content": None, "tool_calls": [chat_call(i) for i in ids]})
            session.append(*[{"role": "tool", "tool_call_id": i, "content": "word " * 150} for i in ids])
        session.append(said("ok"))
    for target in (6_000, 3_000, 1_500, 700):
        report = compact(session, targetTokens=target)
        assert report["outcome"] in ("applied", "noop")
        sent(session)
        for turn in range(14):
            text = str(session.messages("model"))
            counts = [text.count(f"'{turn}fc{n}'") for n in range(3)]
            assert counts in ([0, 0, 0], [2, 2, 2])


def chat_call(call_id: str, **more: Any) -> Answer:
    return {"id": call_id, "type": "function", "function": {"name": "run", "arguments": "{}"}, **more}


def test_a09_calls_in_flight_are_no_orphans(session: Session) -> None:
    talk(session, 12)
    session.append(user("go"), calls("tu1", "tu2"))
    assert compact(session)["outcome"] == "applied"
    assert shown_calls(sent(session, pending=True))[-2:] == ["tu1", "tu2"]
    session.append(results(("tu2", "b"), ("tu1", "a")))
    assert shown_results(sent(session))[-2:] == ["tu2", "tu1"]


def test_a09_a_handoff_waits_for_calls_in_flight(host: LocalHost) -> None:
    session = host.open(model={"id": "m", "contextWindow": 20_000})
    session.append(user("go"))
    usage = {"input_tokens": 8_800, "output_tokens": 5}
    session.report(session.prepare()["requestId"], calls("a", "b"), usage=usage)
    session.append(results(("a", "x")))
    waiting = session.prepare("iteration")
    assert waiting["report"]["stages"] == []
    assert waiting["messages"] == session.messages()
    session.append(results(("b", "y")))
    assert [stage["stage"] for stage in session.prepare("iteration")["report"]["stages"]] == ["handoff"]
    assert sent(session)[:4] == session.messages()


def test_a10_an_old_call_without_result_gets_a_stub_and_blocks_nothing(session: Session) -> None:
    session.append(user("go"), calls("tu1"), user("never mind"), calls("tu2"), results(("tu2", "x")))
    messages = sent(session)
    stub = next(b for b in messages[2]["content"] if b["type"] == "tool_result")
    assert (stub["tool_use_id"], stub["is_error"]) == ("tu1", True)
    talk(session, 12)
    assert compact(session)["outcome"] == "applied"
    assert sent(session) == session.messages("model")


def test_a11_what_is_pending_is_read_from_the_log_after_a_rewrite(session: Session) -> None:
    talk(session, 12)
    session.append(user("go"), calls("tu1", "tu2"), results(("tu1", "a")))
    compact(session)
    session.host.reopen()
    session.host.open()
    session.append(results(("tu2", "the real one")), said("on"))
    messages = sent(session)
    assert results(("tu2", "the real one")) in messages
    assert shown_results(messages).count("tu2") == 1
    assert "No result" not in str(messages)


THOUGHT = {"type": "thinking", "thinking": "hm " * 400, "signature": "c2lnbmVk"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}


def test_a12_the_newest_tool_loop_is_frozen_byte_for_byte(session: Session) -> None:
    talk(session, 12)
    loop = [
        user("go"),
        calls("tu1", before=[THOUGHT, {"type": "text", "text": "first"}]),
        results(("tu1", "a")),
        calls("tu2", before=[THOUGHT, REDACTED]),
        results(("tu2", "b")),
    ]
    session.append(*loop)
    assert sent(session)[-5:] == loop
    compact(session)
    assert sent(session, "iteration")[-2:] == loop[-2:]
    kept = [m for m in session.messages("model") if "signature" in str(m)]
    assert all(message in loop for message in kept)


def test_a13_a_message_with_signed_thinking_is_kept_whole_or_not_at_all(host: LocalHost) -> None:
    host.configure({"elision": {"startAt": 0.0, "oversizedBytes": 200}, "cache": {"expectedCalls": 1000}})
    session = host.open(model=MODEL)
    signed = [calls(f"s{n}", before=[THOUGHT, {"type": "text", "text": f"step {n}"}]) for n in range(8)]
    for n, message in enumerate(signed):
        session.append(user(f"ask {n}"), message, results((f"s{n}", "word " * 400)), said("ok"))
    stages = session.prepare()["report"]["stages"]
    assert {stage["stage"] for stage in stages} == {"elision"}
    assert [m for m in sent(session) if "signature" in str(m)] == signed
    compact(session, targetTokens=3_000)
    assert all(m in signed for m in sent(session) if "signature" in str(m))


def test_a16_reasoning_that_must_be_passed_back_stays_with_its_message(host: LocalHost) -> None:
    session = host.open(dialect="openai-chat", model={"id": "deepseek-reasoner", "contextWindow": 60_000})
    for n in range(12):
        session.append(user(f"ask {n} " + "word " * 500), said("answer"))
    loop = [
        user("go"),
        {
            "role": "assistant",
            "content": "",
            "reasoning_content": "hm " * 50,
            "tool_calls": [chat_call("c1")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    session.append(*loop)
    assert compact(session)["outcome"] == "applied"
    assert sent(session, "iteration")[-2:] == loop[-2:]


def test_a17_unknown_members_of_calls_survive_byte_for_byte(host: LocalHost) -> None:
    """As servers that speak chat for Gemini send it: the signature on the first parallel call alone."""
    session = host.open(dialect="openai-chat", model=MODEL)
    first = chat_call("c1", extra_content={"google": {"thought_signature": "CpMB+/=", "n": None}})
    turn = [
        user("go"),
        {"role": "assistant", "content": None, "tool_calls": [first, chat_call("c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "x" * 9000},
        {"role": "tool", "tool_call_id": "c2", "content": "y"},
    ]
    session.append(*turn)
    assert sent(session) == turn
    host.reopen()
    assert host.open(dialect=None).messages("model") == turn


EMPTY: dict[str, list[Answer]] = {
    "anthropic": [
        user(""),
        user(" \n"),
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "kept"}]},
        {"role": "assistant", "content": [{"type": "text", "text": " "}]},
    ],
    "openai-chat": [
        user(""),
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "kept"}]},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None},
    ],
}


@pytest.mark.parametrize("dialect", list(EMPTY))
def test_a18_nothing_empty_is_ever_sent(host: LocalHost, dialect: str) -> None:
    session = host.open(dialect=dialect, model=MODEL)
    session.append(user("go"), *EMPTY[dialect], user("on"))
    assert [str(m["content"]) for m in sent(session)].count("") == 0
    assert len(session.lines()) == len(EMPTY[dialect]) + 2
    session.append(*[user("word " * 900) for _ in range(20)])
    compact(session, targetTokens=2_000)
    sent(session)


def test_a20_messages_that_look_like_old_ones_are_new_ones(session: Session) -> None:
    turn = [user("again"), said("yes " * 900)]
    for _ in range(20):
        session.append(*turn)
    assert compact(session)["outcome"] == "applied"
    view = session.messages("model")
    assert summaries(view) == 1
    session.append(*turn, *turn)
    assert sent(session) == [*view, *turn, *turn]
    assert session.messages() == turn * 22
