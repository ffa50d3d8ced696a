"""Public reports, section C: compactions that overflow, and huge items. Each test has its report's input."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reports.checks import MODEL, calls, compact, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost
from tests.support.scripted_host import ScriptedHost, plausible

BASE64 = base64.b64encode(bytes(range(256)) * 4_400).decode()
"""1.5 million characters without a break."""


def model(window: int) -> Answer:
    return {**MODEL, "contextWindow": window}


@pytest.fixture
def script() -> ScriptedHost:
    return ScriptedHost(plausible)


@pytest.fixture
def asking(tmp_path: Path, script: ScriptedHost) -> Iterator[LocalHost]:
    """A daemon whose host answers with summaries, and may ask a model with a window of 16,000 tokens."""
    options = {"summarizer": {"window": 16_000, "maxOutputTokens": 2_000, "retryDelayMs": 0}}
    with LocalHost(tmp_path / "state", options, answers=script) as made:
        yield made


def asked_tokens(host: LocalHost, script: ScriptedHost) -> list[int]:
    """How large the prompts were that a summariser was given, tokens, with the wish for output."""
    texts = ["\n".join([r.system, *(text for _, text in r.messages)]) for r in script.asked]
    sizes = [int(host.call("tokens/count", text=text)["tokens"]) for text in texts]
    return [size + request.max_tokens for size, request in zip(sizes, script.asked, strict=True)]


def bash(call_id: str) -> Answer:
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": f"run {call_id}"}}
    return {"role": "assistant", "content": [block]}


def stages(request: Answer) -> list[str]:
    return [stage["stage"] for stage in request["report"]["stages"]]


def test_c34_a_compaction_has_its_own_budget_and_needs_no_room_for_the_history(
    asking: LocalHost, script: ScriptedHost
) -> None:
    """207,547 tokens of history against a window of 200,000."""
    session = asking.open(model=model(200_000))
    talk(session, 75, words=2_000)
    session.append(user("compact, please"))
    assert session.project()["tokens"] > 150_000
    report = session.compact(strategy="model")
    assert (report["outcome"], report["strategy"]) == ("applied", "model")
    assert max(asked_tokens(asking, script)) <= 16_000
    sent(session)


def test_c34_without_any_model_it_works_all_the_same(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    talk(session, 75, words=2_000)
    assert compact(session)["outcome"] == "applied"
    assert session.project()["tokens"] < 60_000


def test_c35_a_million_characters_of_base64_poison_nothing(asking: LocalHost, script: ScriptedHost) -> None:
    session = asking.open(model=model(200_000))
    session.append(user("look"), bash("blob"), results(("blob", BASE64)), said("binary"))
    request = session.prepare()
    assert request["projection"]["tokens"] < 10_000
    assert session.fetch("blob", offset=0, length=len(BASE64))["content"] == BASE64
    talk(session, 12)
    assert session.compact(strategy="model")["outcome"] == "applied"
    assert max(asked_tokens(asking, script)) <= 16_000
    assert BASE64[:6_000] not in str(script.asked)
    sent(session)
    assert session.fetch("blob", offset=0, length=len(BASE64))["content"] == BASE64


@pytest.mark.parametrize("window", [500_000, 1_000_000])
def test_c36_one_huge_item_is_cut_whatever_the_total(host: LocalHost, window: int) -> None:
    session = host.open(model=model(window))
    text = "".join(f"record {n}\n" for n in range(150_000))
    answer = session.append(user("dump it"), bash("dump"), results(("dump", text)))
    assert [spill["toolCallId"] for spill in answer["spilled"]] == ["dump"]
    assert session.prepare("iteration")["projection"]["tokens"] < 10_000
    page = session.fetch("dump", startLine=100_000, endLine=100_001)
    assert page["content"] == "record 99999\nrecord 100000"


def test_c37_three_results_larger_than_the_window_in_one_turn_can_be_sent(host: LocalHost) -> None:
    """669k characters in the newest batch, in the middle of a turn."""
    session = host.open(model=model(60_000))
    texts = {f"big{n}": "".join(f"{n} line {i}\n" for i in range(9_000)) for n in range(3)}
    session.append(user("read all three"), calls(*texts), results(*texts.items()))
    request = session.prepare("iteration")
    assert request["report"]["outcome"] == "ok"
    assert request["projection"]["tokens"] <= request["projection"]["availableForInput"]
    messages = sent(session, "iteration")
    assert calls(*texts) in messages
    for call_id, text in texts.items():
        assert call_id in str(messages[-1])
        assert session.fetch(call_id, offset=0, length=len(text))["content"] == text


def test_c37_every_request_is_looked_at_and_not_only_the_first_of_a_turn(host: LocalHost) -> None:
    session = host.open(model=model(30_000))
    session.append(user("work"))
    sizes = []
    for number in range(12):
        session.append(bash(f"c{number}"), results((f"c{number}", "word " * 4_000)))
        request = session.prepare("iteration")
        sizes.append(request["projection"]["tokens"])
        assert request["report"]["outcome"] == "ok"
    assert max(sizes) <= request["projection"]["availableForInput"]


def test_c39_no_prompt_holds_a_million_characters(asking: LocalHost, script: ScriptedHost) -> None:
    session = asking.open(model=model(1_000_000))
    for number in range(60):
        session.append(user(f"q{number}"), said("long answer " * 1_700))
    session.append(user("go on"))
    assert len(str(session.messages("transcript"))) > 1_200_000
    assert session.compact(strategy="model")["outcome"] == "applied"
    assert max(len(text) for request in script.asked for _, text in request.messages) < 100_000
    assert max(asked_tokens(asking, script)) <= 16_000


def test_c40_a_session_of_tools_alone_can_be_compacted(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    session.append(user("go"))
    for number in range(60):
        session.append(calls(f"t{number}"), results((f"t{number}", "word " * 500)))
    report = compact(session, targetTokens=4_000)
    assert report["outcome"] == "applied"
    assert report["after"]["tokens"] <= 4_000
    sent(session, "iteration")


def test_c41_old_results_go_first_then_one_strictly_smaller_retry_and_numbers(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    for number in range(20):
        session.append(
            user(f"q{number}"), bash(f"c{number}"), results((f"c{number}", "word " * 2_000)), said("a")
        )
    session.append(user("and?"))
    request = session.prepare()
    error = {"status": 400, "message": "prompt is too long: 41000 tokens > 40000 maximum"}
    recovery = session.report(request["requestId"], outcome="error", error=error)["recovery"]
    assert recovery["action"] == "retry"
    report = recovery["report"]
    assert report["after"]["tokens"] < report["before"]["tokens"]
    assert report["floor"] >= 0
    assert report["target"] <= 40_000
    retry = session.prepare("retry")
    second = session.report(retry["requestId"], outcome="error", error=error)["recovery"]
    assert (second["action"], second["reason"]) == ("fail", "recoveredAlready")


def test_c42_a_switch_from_a_million_to_two_hundred_thousand_is_ready_before_the_next_request(
    asking: LocalHost, script: ScriptedHost
) -> None:
    session = asking.open(model=model(1_000_000))
    talk(session, 110, words=2_500)
    session.append(user("go on"))
    first = session.prepare()
    session.report(first["requestId"], said("ok"), usage={"input_tokens": 300_000, "output_tokens": 5})
    session.append(user("and on"))
    session.call("session/update", model=model(200_000))
    assert session.project()["phase"] == "compaction_due"
    request = session.prepare()
    assert request["report"]["promptReplaced"]
    assert request["report"]["outcome"] == "ok"
    assert request["projection"]["tokens"] <= request["projection"]["compactionThreshold"]
    assert max(asked_tokens(asking, script), default=0) <= 16_000
    assert "compaction" not in stages(session.prepare("iteration"))
    sent(session, "iteration")


def test_c41_parallel_results_are_capped_together_as_they_are_collected(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    ids = [f"c{n}" for n in range(10)]
    texts = {i: f"{i} " * 25_000 for i in ids}
    session.append(user("look"), calls(*ids), results(*texts.items()))
    shown = {block["tool_use_id"]: block["content"] for block in session.messages("model")[-1]["content"]}
    assert sum(len(text) for text in shown.values()) <= 200_000
    for i, text in texts.items():
        assert shown[i].startswith(i)
        assert session.fetch(i, offset=0)["content"] == text
