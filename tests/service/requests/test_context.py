"""The call before a request and the call after it, and what stands beside them (protocol.md, section 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.host import Answer, LocalHost, Refused, Session
from tests.service.recall.test_recall import turn
from tests.service.test_errors import logs
from tests.support import natives
from tests.support.behaviour import behaviour

SONNET = {"id": "claude-sonnet-4-5", "contextWindow": 60_000}
GO = {"role": "user", "content": "go"}
DONE = {"role": "assistant", "content": "done"}
USAGE = {"input_tokens": 900, "cache_read_input_tokens": 100, "output_tokens": 20}


def user(text: str) -> Answer:
    return {"role": "user", "content": text}


def said(text: str) -> Answer:
    return {"role": "assistant", "content": text}


def fill(session: Session, turns: int, words: int = 700) -> None:
    """So many user turns with one call each."""
    for number in range(turns):
        session.append(user(f"step {number}"), *turn(f"c{number}", f"{number} " + "word " * words))


def test_a_request_has_everything_a_provider_is_sent(host: LocalHost) -> None:
    tools = [{"name": "run", "input_schema": {"type": "object"}}]
    session = host.open(model=SONNET, system="be brief", tools=tools)
    revision = session.append(GO)["revision"]
    made = session.prepare()
    assert (made["messages"], made["system"], made["tools"]) == ([GO], "be brief", tools)
    assert (made["revision"], made["generation"], made["steering"]) == (revision, 0, [])
    assert (made["report"]["outcome"], made["report"]["stages"]) == ("ok", [])
    assert made["projection"]["source"] == "local_estimate"
    assert "contextManagement" not in made


def test_another_state_is_another_request(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    ids = [session.prepare()["requestId"], session.prepare()["requestId"]]
    assert ids[0] == ids[1]
    session.append(DONE)
    ids.append(session.prepare()["requestId"])
    ids.append(session.prepare(pending=[GO])["requestId"])
    assert len(set(ids)) == 3


def test_a_report_appends_the_answer_and_anchors_on_its_usage(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    answer = session.report(session.prepare()["requestId"], DONE, usage=USAGE)
    assert session.messages() == [GO, DONE]
    assert answer["messageIds"] == [session.lines()[1]["messageId"]]
    assert (answer["projection"]["source"], answer["projection"]["tokens"]) == ("provider", 1020)
    session.append(user("more"))
    after = session.project()
    assert after["source"] == "provider_plus_estimate"
    assert after["tokens"] == 1020 + after["estimatedPendingTokens"]
    assert after["low"] <= after["tokens"] <= after["high"]


def test_a_report_that_is_repeated_changes_nothing(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    request_id = session.prepare()["requestId"]
    first = session.report(request_id, DONE, usage=USAGE)
    before = logs(host.root)
    again = session.report(request_id, DONE, usage=USAGE)
    assert (again["revision"], again["messageIds"]) == (first["revision"], first["messageIds"])
    host.reopen()
    session = host.open()
    again = session.report(request_id, DONE, usage=USAGE)
    assert again["messageIds"] == first["messageIds"]
    assert session.messages() == [GO, DONE]
    assert all(logs(host.root)[name] == data for name, data in before.items())


@pytest.mark.parametrize("restart", [False, True])
def test_a_report_of_an_older_request_is_not_found(host: LocalHost, restart: bool) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    old = session.prepare()["requestId"]
    new = session.prepare(pending=[user("p")])["requestId"] if not restart else old
    session.report(new, DONE, usage=USAGE)
    session.append(GO)
    older = new if restart else old
    if restart:
        later = session.prepare()["requestId"]
        session.report(later, DONE)
        host.reopen()
        session = host.open()
        older = old[:-4] + "0000"
    revision, history = session.revision, session.messages()
    with pytest.raises(Refused) as refused:
        session.report(older, user("lost"))
    assert refused.value.kind == "notFound"
    assert (session.revision, session.messages()) == (revision, history)


def test_an_invented_request_is_not_found_or_anchors_nothing(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    real = session.prepare()["requestId"]
    revision, generation, seal = real.split(".")
    host.reopen()
    session = host.open()
    for invented in (f"r99.{generation}.{seal}", f"{revision}.7.{seal}", "r0", real.upper()):
        with pytest.raises(Refused) as refused:
            session.report(invented, DONE, usage=USAGE)
        assert refused.value.kind == "notFound"
    assert session.report(real, DONE, usage=USAGE)["projection"]["source"] == "provider"


def test_a_request_with_pending_messages_that_outlived_its_daemon_anchors_nothing(host: LocalHost) -> None:
    """What the pending messages weighed is not known any more, so its usage says nothing of what stays."""
    session = host.open(model=SONNET)
    session.append(GO)
    request_id = session.prepare(pending=[user("word " * 900)])["requestId"]
    host.reopen()
    session = host.open()
    assert session.report(request_id, DONE, usage=USAGE)["projection"]["source"] == "local_estimate"
    assert session.messages() == [GO, DONE]


@pytest.mark.parametrize("outcome", ["error", "aborted"])
def test_a_retry_prepared_before_a_restart_can_be_answered_after_it(host: LocalHost, outcome: str) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    session.report(session.prepare()["requestId"], outcome=outcome, error={"status": 503})
    request_id = session.prepare()["requestId"]
    host.reopen()
    session = host.open()
    answer = session.report(request_id, DONE, usage=USAGE)
    assert answer["projection"]["source"] == "provider"
    assert session.messages() == [GO, DONE]


def test_a_report_after_a_restart_is_taken_even_when_messages_came_meanwhile(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    request_id = session.prepare()["requestId"]
    session.append(user("and this"))
    host.reopen()
    session = host.open()
    session.report(request_id, DONE, usage=USAGE)
    assert session.messages() == [GO, user("and this"), DONE]


@pytest.mark.parametrize("restart", [False, True])
def test_an_answer_to_a_request_from_before_a_compaction_is_kept(host: LocalHost, restart: bool) -> None:
    session = host.open(model=SONNET)
    fill(session, 20)
    request_id = session.prepare("iteration")["requestId"]
    assert session.compact(strategy="deterministic")["outcome"] == "applied"
    if restart:
        host.reopen()
        session = host.open()
    answer = session.report(request_id, DONE, usage={"input_tokens": 30_000, "output_tokens": 9})
    assert answer["projection"]["source"] == "local_estimate"
    assert answer["projection"]["tokens"] < 30_000
    assert session.messages()[-1] == session.messages("model")[-1] == DONE


@pytest.mark.parametrize("outcome", ["error", "aborted"])
def test_a_request_that_failed_can_still_be_answered(host: LocalHost, outcome: str) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    request_id = session.prepare()["requestId"]
    failed = session.report(request_id, outcome=outcome, error={"status": 500, "message": "no"})
    assert failed["messageIds"] == []
    assert (failed.get("recovery") or {}).get("action") == (None if outcome == "aborted" else "fail")
    session.report(session.prepare()["requestId"], DONE, usage=USAGE)
    assert session.messages() == [GO, DONE]


def test_pending_messages_are_sent_and_counted_and_never_kept(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO, DONE)
    before = session.project()
    pending = [user("word " * 500)]
    made = session.prepare(pending=pending)
    assert made["messages"] == [GO, DONE, *pending]
    assert made["projection"]["tokens"] > before["tokens"] + 400
    assert made["projection"] == session.project(pending=pending)
    assert session.messages("model") == [GO, DONE]
    after = session.project()
    assert after == before


def test_the_fingerprint_is_of_everything_that_is_sent_and_of_nothing_else(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    seen = [session.project()["fingerprint"]]
    session.prepare()
    assert session.project()["fingerprint"] == seen[0]
    host.reopen()
    session = host.open()
    assert session.project()["fingerprint"] == seen[0]
    seen.append(session.project(pending=[DONE])["fingerprint"])
    for change in (
        {"system": "s"},
        {"tools": [{"name": "run", "input_schema": {}}]},
        {"model": {"id": "claude-haiku-4-5"}},
    ):
        session.call("session/update", **change)
        seen.append(session.project()["fingerprint"])
    session.append(DONE)
    seen.append(session.project()["fingerprint"])
    assert len(set(seen)) == len(seen) == 6


def test_a_projection_is_itemised_by_category_and_by_message(host: LocalHost) -> None:
    tools = [{"name": f"tool{i}", "description": "does " * 20, "input_schema": {}} for i in range(44)]
    session = host.open(model=SONNET, system="word " * 300, tools=tools)
    fill(session, 3)
    found = session.project(detail="items")
    categories = {c["name"]: c["tokens"] for c in found["categories"]}
    assert {"system", "tools", "user", "assistant", "toolResults"} <= set(categories)
    assert categories["tools"] > 44 * 20
    assert sum(categories.values()) == pytest.approx(found["tokens"], abs=len(categories))
    assert [i["messageId"] for i in found["items"]] == [line["messageId"] for line in session.lines("model")]
    spoken = sum(t for name, t in categories.items() if name not in ("system", "tools"))
    assert sum(i["tokens"] for i in found["items"]) == pytest.approx(spoken, abs=len(found["items"]))
    counted = [c for c in categories if c not in ("system", "tools")]
    assert {i["category"] for i in found["items"]} == set(counted)
    for name in counted:
        tokens = sum(i["tokens"] for i in found["items"] if i["category"] == name)
        assert tokens == pytest.approx(categories[name], abs=len(found["items"]))
    assert "items" not in session.project(detail="categories")
    assert "categories" not in session.project()


def test_an_item_says_which_tool_calls_it_makes_or_answers(
    host: LocalHost,
) -> None:
    session = host.open(model=SONNET)
    session.append({"role": "user", "content": "Read it."})
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "src/a.py"}}
    session.append({"role": "assistant", "content": [call]})
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "1 + 1"}
    session.append({"role": "user", "content": [result]})
    asked, calling, answering = session.project(detail="items")["items"]
    assert (asked.get("label"), asked.get("handle")) == (None, None)
    assert (calling["label"], calling.get("handle")) == ("Read src/a.py", None)
    assert (answering["label"], answering.get("handle")) == ("Read src/a.py", None)
    assert session.call("recall/fetch", toolCallId="t1")["content"] == "1 + 1"
    (entry,) = session.call("recall/list")["entries"]
    assert (entry["toolName"], entry["target"]) == ("Read", "src/a.py")


def test_what_is_unseen_in_a_reported_prompt_is_a_category(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    session.report(session.prepare()["requestId"], DONE, usage={"input_tokens": 20_000, "output_tokens": 5})
    categories = {c["name"]: c["tokens"] for c in session.project(detail="categories")["categories"]}
    assert categories["unseen"] == pytest.approx(20_000, rel=0.01)


def test_large_appends_are_counted_when_somebody_asks(host: LocalHost) -> None:
    session = host.open("at-once", model=SONNET)
    parts = [user(f"{n} " + "some words here " * 500) for n in range(40)]
    session.append(*parts)
    one_by_one = host.open("one-by-one", model=SONNET)
    for part in parts:
        one_by_one.append(part)
    whole = session.project(detail="items")
    assert whole["tokens"] == one_by_one.project()["tokens"] > 40 * 1500
    assert all(item["tokens"] > 1500 for item in whole["items"])
    revision = session.revision
    host.reopen()
    again = host.open("at-once").project(detail="items")
    assert (again["tokens"], again["revision"]) == (whole["tokens"], revision)


def test_a_floor_above_the_threshold_is_said_with_numbers(host: LocalHost) -> None:
    session = host.open(model={"id": "m", "contextWindow": 20_000}, system="word " * 12_000)
    fill(session, 3)
    projection = session.project()
    assert (projection["reachable"], projection["phase"]) == (False, "compaction_due")
    assert projection["floor"] >= projection["compactionThreshold"]
    report = session.compact(strategy="deterministic", trigger="auto")
    assert report["outcome"] == "cannotReach"
    assert report["floor"] == projection["floor"] > report["target"] > 0
    made = session.prepare()
    assert made["report"]["outcome"] == "overBudget"
    generations = [session.prepare()["generation"] for _ in range(3)]
    assert len(set(generations)) == 1


def test_an_unknown_window_elides_but_never_compacts(host: LocalHost) -> None:
    session = host.open(model={"id": "nobody-knows"})
    fill(session, 30, 2000)
    made = session.prepare()
    assert made["projection"]["phase"] == "unknown"
    assert made["projection"]["window"] is None
    assert {stage["stage"] for stage in made["report"]["stages"]} == {"elision"}
    assert session.project()["tokens"] < made["report"]["tokensBefore"]


def test_a_cold_cache_lets_old_results_go(host: LocalHost) -> None:
    host.configure({"elision": {"startAt": 0.1, "target": 0.05}})
    session = host.open(model=SONNET)
    fill(session, 10, 1000)
    session.report(session.prepare("iteration")["requestId"], DONE, usage={"input_tokens": 14_000})
    assert session.prepare("iteration")["report"]["stages"] == []
    host.later += 61_000
    (stage,) = session.prepare("turnStart")["report"]["stages"]
    assert stage["stage"] == "cacheExpiry"
    assert stage["tokensFreed"] > 0


def test_counting_needs_no_session(host: LocalHost) -> None:
    text = host.call("tokens/count", text="hello world", model={"id": "gpt-4o"})
    assert text == {"tokens": 2, "encoding": "o200k_base", "exact": True}
    messages = host.call(
        "tokens/count", messages=[GO], dialect="anthropic", model={"id": "claude-sonnet-4-5"}
    )
    assert messages["tokens"] > 1
    assert messages["exact"] is False


def test_the_status_counts_what_was_done(host: LocalHost, tmp_path: Path) -> None:
    session = host.open(model=SONNET)
    session.append(GO)
    session.report(session.prepare()["requestId"], DONE)
    status = host.call("ctxd/status")
    assert status["sessions"] == 1
    assert {"prepares": 1, "reports": 1}.items() <= status["counters"].items()
    assert status["rssBytes"] > 0
    assert Path(status["store"]["root"]) == host.root


@behaviour("projection.lapsed")
def test_what_is_asked_before_it_is_appended_lets_earlier_reasoning_lapse_too(host: LocalHost) -> None:
    session = host.open(dialect="openai-responses", model={"id": "m", "contextWindow": 60_000})
    asked, question = (natives.user("openai-responses", text) for text in ("go", "and?"))
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "word " * 3_000}]}
    session.append(asked)
    reply = [thought, natives.said("openai-responses", "done")]
    usage = natives.usage("openai-responses", 500, 3_100)
    session.report(session.prepare()["requestId"], *reply, usage=usage)
    standing = session.project()["tokens"]
    early = session.project(pending=[question])["tokens"]
    assert early < standing - 2_500
    session.append(question)
    assert session.project()["tokens"] == early
