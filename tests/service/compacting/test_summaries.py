"""Compactions with a model's summary: who is asked, what is done with the answer, and inline delivery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxd.service.host import SampleFailed, SampleReply
from tests.service.host import LocalHost, Refused, Session
from tests.service.talks import MODEL, Message, chat, said, user, view_of, work
from tests.support.behaviour import behaviour
from tests.support.scripted_host import ScriptedHost, plausible, summary

QUICK = {"summarizer": {"retryDelayMs": 0}}
TOLD = summary(
    decisions=["use sqlite"],
    verification=["pytest passed [2]"],
    active=["done: parser", "write docs"],
    exact=["run make"],
)


@pytest.fixture
def script() -> ScriptedHost:
    return ScriptedHost(plausible)


@pytest.fixture
def host(tmp_path: Path, script: ScriptedHost) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "state", QUICK, answers=script) as made:
        yield made


def filled(host: LocalHost, messages: list[Message] | None = None, **fields: Any) -> Session:
    session = host.open(**{"model": MODEL, **fields})
    session.append(*(messages or work()))
    return session


def shown(session: Session) -> str:
    return str(session.messages("model"))


# Who is asked


@behaviour("summary.strategies")
def test_model_asks_for_a_summary_and_shows_what_it_says(host: LocalHost, script: ScriptedHost) -> None:
    script.replies = [SampleReply(TOLD, usage={"input_tokens": 900, "output_tokens": 80})]
    session = filled(host)
    report = session.compact(strategy="model")
    assert (report["outcome"], report["strategy"], report["attempts"]) == ("applied", "model", 1)
    assert "failureReason" not in report
    assert report["usage"] == {"input_tokens": 900, "output_tokens": 80}
    assert {"use sqlite"} == {
        d["summary"] for d in report["ledger"]["decisions"] if d["summary"] == "use sqlite"
    }
    assert report["ledger"]["nextSteps"] == ["run make"]
    text = shown(session)
    for line in ("use sqlite", "done: parser", "in progress: write docs", "run make", "pytest passed [c1]"):
        assert line in text
    assert report["after"]["tokens"] <= report["target"]


def test_what_is_asked_is_what_leaves_and_nothing_that_stays(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host)
    report = session.compact(strategy="model")
    (request,) = script.asked
    assert request.session_id == "s1"
    assert request.attempt == 1
    assert script.within == [60.0]
    kept = session.messages("model")
    prompt = request.messages[0][1]
    assert "result of Bash (ok): out1 " in prompt
    for unit in report["units"]:
        if unit["fidelity"] != "summary":
            continue
        gone = [m["message"] for m in session.lines() if m["messageId"] in unit["messageIds"]]
        assert not any(message in kept for message in gone)
    newest = [m for m in kept if m["role"] == "assistant"][-1]["content"]
    assert f"assistant: {newest}" not in prompt


@behaviour("summary.strategies")
def test_deterministic_asks_nobody(host: LocalHost, script: ScriptedHost) -> None:
    report = filled(host).compact(strategy="deterministic")
    assert (report["outcome"], report["strategy"]) == ("applied", "deterministic")
    assert script.asked == []


@behaviour("summary.strategies")
def test_auto_by_hand_stops_at_elision_where_that_reaches_the_target(
    host: LocalHost, script: ScriptedHost
) -> None:
    session = filled(host)
    report = session.compact()
    assert (report["outcome"], report["strategy"]) == ("applied", "elision")
    assert report["after"]["tokens"] <= report["target"]
    assert script.asked == []
    assert script.told == ["start", "changed compaction 1", "complete"]


@behaviour("summary.strategies")
def test_auto_asks_where_elision_is_not_enough(host: LocalHost, script: ScriptedHost) -> None:
    report = filled(host, chat()).compact()
    assert (report["outcome"], report["strategy"]) == ("applied", "model")
    assert len(script.asked) == 1


def test_auto_in_prepare_asks_too(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host, chat(20), model={"id": "m", "contextWindow": 20_000})
    prepared = session.prepare()
    assert prepared["report"]["compactionPerformed"]
    assert len(script.asked) == 1
    assert prepared["report"]["outcome"] == "ok"


@behaviour("summary.no-sampler")
def test_model_with_nobody_to_ask_works_without_one_and_says_so(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state") as host:
        report = filled(host).compact(strategy="model")
        assert (report["outcome"], report["strategy"]) == ("applied", "deterministic")
        assert report["failureReason"] == "noSampler"
        assert report["attempts"] == 0
        other = host.open("s2", model=MODEL)
        other.append(*chat())
        assert "failureReason" not in other.compact()


@behaviour("summary.no-sampler")
def test_a_host_that_turns_out_to_have_no_model_is_no_failure(host: LocalHost, script: ScriptedHost) -> None:
    script.replies = [SampleFailed("unavailable", "")]
    for number in range(4):
        session = host.open(f"n{number}", model=MODEL)
        session.append(*work())
        assert session.compact(strategy="model")["failureReason"] == "noSampler"
    assert len(script.asked) == 4


@pytest.mark.parametrize("use", ["none", "provider"])
def test_options_may_forbid_asking_the_host(host: LocalHost, script: ScriptedHost, use: str) -> None:
    host.configure({"summarizer": {"use": use}})
    assert filled(host).compact(strategy="model")["failureReason"] == "noSampler"
    assert script.asked == []


def test_options_say_how_long_and_how_much(host: LocalHost, script: ScriptedHost) -> None:
    host.configure({"summarizer": {"timeoutMs": 1_500, "maxOutputTokens": 700, "window": 6_000}})
    filled(host).compact(strategy="model")
    assert script.within == [1.5]
    assert script.asked[0].max_tokens == 700


def test_instructions_of_the_caller_reach_the_prompt(host: LocalHost, script: ScriptedHost) -> None:
    filled(host).compact(strategy="model", instructions="Mind the migrations.")
    assert "Mind the migrations." in script.asked[0].messages[0][1]


def test_usage_of_all_samples_is_told_together(host: LocalHost, script: ScriptedHost) -> None:
    """E §6.5: successful and empty samples are summed."""
    script.replies = [
        SampleReply("", usage={"input_tokens": 10, "details": {"cached": 1}}),
        SampleFailed("transient", ""),
        SampleReply(TOLD, usage={"input_tokens": 20, "output_tokens": 5, "details": {"cached": 2}}),
    ]
    report = filled(host).compact(strategy="model")
    assert report["usage"] == {"input_tokens": 30, "output_tokens": 5, "details": {"cached": 3}}
    assert report["attempts"] == 3


def test_five_summaries_of_the_same_decisions_leave_each_decision_once(
    host: LocalHost, script: ScriptedHost
) -> None:
    script.replies = [summary(decisions=["use sqlite", "no threads"], exact=["go"])]
    session = filled(host)
    for round_ in range(5):
        report = session.compact(strategy="model")
        assert report["strategy"] == "model"
        session.append(*work(12, start=100 * (round_ + 1)))
    summaries = [d["summary"] for d in report["ledger"]["decisions"]]
    assert summaries.count("use sqlite") == 1
    assert summaries.count("no threads") == 1


@behaviour("summary.unshown")
def test_of_what_the_model_could_not_be_shown_the_facts_are_extracted(
    host: LocalHost, script: ScriptedHost
) -> None:
    host.configure({"summarizer": {"window": 7_000, "maxOutputTokens": 500}})
    script.replies = [TOLD]
    report = filled(host, work(40)).compact(strategy="model")
    assert report["strategy"] == "model"
    evidence = report["ledger"]["evidence"]
    prompt = script.asked[0].messages[0][1]
    assert 'call Bash {"command":"run 1"}' not in prompt
    assert any(line.startswith("Bash run 1: ok") and "[c1]" in line for line in evidence)
    assert not any("run 30:" in line for line in evidence)
    assert evidence[-1] == "pytest passed [2]", "it was shown no such message"


# The gate


@behaviour("summary.gate")
def test_a_summary_that_shrinks_too_little_gives_way_to_the_deterministic_plan(
    host: LocalHost, script: ScriptedHost
) -> None:
    lines = [f"decision {n} 龘靐齉爩鱻麤龗灪吁龖" for n in range(80)]
    script.replies = [summary(decisions=lines, verification=lines, open=lines)]
    session = filled(host, chat(3))
    assert 5_000 < session.project()["tokens"] < 5_260
    report = session.compact(strategy="model")
    assert (report["outcome"], report["strategy"]) == ("applied", "deterministic")
    assert report["failureReason"] == "insufficientReduction"
    assert report["attempts"] == 1
    assert "decision" not in shown(session)


def test_a_long_summary_is_trimmed_to_the_target_and_not_thrown_away(
    host: LocalHost, script: ScriptedHost
) -> None:
    """E §6 [W]: trim to the target instead of discarding a good summary."""
    script.replies = [summary(decisions=[f"decision {n} " + "why " * 150 for n in range(70)])]
    session = filled(host, work(40))
    report = session.compact(strategy="model", targetTokens=6_000)
    assert report["strategy"] == "model"
    assert report["after"]["tokens"] <= report["target"] == 6_000
    assert "decision 69" in shown(session)


# Inline


def inline(session: Session, **fields: Any) -> dict[str, Any]:
    report: dict[str, Any] = session.compact(strategy="model", delivery="inline", **fields)
    return report


@behaviour("summary.inline")
def test_inline_answers_what_to_ask_and_commit_brings_the_text(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host)
    before = view_of(session)
    asked = inline(session)
    assert asked["outcome"] == "inputRequired"
    sampling = asked["sampling"]
    assert sampling["temperature"] == 0
    assert sampling["metadata"] == {
        "purpose": "compaction",
        "sessionId": "s1",
        "attempt": 1,
        "cacheRetention": "none",
        "retries": 0,
    }
    assert "tools" not in sampling
    assert [m["role"] for m in sampling["messages"]] == ["user"]
    assert view_of(session) == before
    assert script.asked == []
    done = session.call("context/commit", planId=asked["planId"], summary=TOLD)
    assert (done["outcome"], done["strategy"], done["attempts"]) == ("applied", "model", 1)
    assert "use sqlite" in shown(session)


@behaviour("summary.inline")
def test_inline_works_where_nobody_can_be_asked(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state") as host:
        session = filled(host)
        done = session.call("context/commit", planId=inline(session)["planId"], summary=TOLD)
        assert done["strategy"] == "model"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "emptyExhausted"),
        ("I'm sorry, I can't.", "invalidOutput"),
        ("{}", "invalidOutput"),
        ("\ud800", "invalidOutput"),
    ],
)
def test_a_text_given_inline_passes_the_same_gate(host: LocalHost, text: str, reason: str) -> None:
    session = filled(host)
    done = session.call("context/commit", planId=inline(session)["planId"], summary=text)
    assert (done["outcome"], done["strategy"], done["failureReason"]) == ("applied", "deterministic", reason)


@behaviour("summary.inline")
def test_a_text_for_a_session_that_moved_on_is_a_conflict_and_changes_nothing(host: LocalHost) -> None:
    session = filled(host)
    asked = inline(session)
    revision = session.append(user("one more thing"))["revision"]
    before = view_of(session)
    with pytest.raises(Refused) as refused:
        session.call("context/commit", planId=asked["planId"], summary=TOLD)
    assert refused.value.kind == "revisionConflict"
    assert refused.value.data["actual"] == revision
    assert refused.value.data["expected"] == revision - 1
    assert view_of(session) == before


@pytest.mark.parametrize("delivery", ["inline", "request"])
def test_a_plan_is_committed_once(host: LocalHost, delivery: str) -> None:
    session = filled(host)
    if delivery == "inline":
        params = {"planId": inline(session)["planId"], "summary": TOLD}
    else:
        params = {"planId": session.compact(strategy="deterministic", dryRun=True)["planId"]}
    assert session.call("context/commit", **params)["outcome"] == "applied"
    after = view_of(session)
    with pytest.raises(Refused) as refused:
        session.call("context/commit", **params)
    assert refused.value.kind == "notFound"
    assert refused.value.data["planId"] == params["planId"]
    assert view_of(session) == after


def test_a_plan_that_asked_for_a_text_needs_one_and_one_that_did_not_takes_none(host: LocalHost) -> None:
    session = filled(host)
    asked = inline(session)
    dry = session.compact(strategy="deterministic", dryRun=True)
    before = view_of(session)
    for params in ({"planId": asked["planId"]}, {"planId": dry["planId"], "summary": TOLD}):
        with pytest.raises(Refused) as refused:
            session.call("context/commit", **params)
        assert refused.value.paths == ["summary"]
    with pytest.raises(Refused, match="notFound"):
        session.call("context/commit", planId="p_unknown")
    assert view_of(session) == before


def test_inline_that_fits_no_window_works_without_a_text(host: LocalHost) -> None:
    host.configure({"summarizer": {"window": 300}})
    report = inline(filled(host))
    assert (report["outcome"], report["strategy"]) == ("applied", "deterministic")
    assert report["failureReason"] == "contextExhausted"


def test_inline_with_nothing_to_summarise_asks_for_nothing(host: LocalHost) -> None:
    report = inline(filled(host, [user("hi"), said("hello")]))
    assert report["outcome"] == "noop"
    assert "sampling" not in report


def test_plans_the_session_has_left_behind_are_not_kept(host: LocalHost) -> None:
    session = filled(host)
    live = host.registry.get("s1")
    for number in range(12):
        inline(session)
        session.compact(strategy="deterministic", dryRun=True)
        assert (len(live.waiting), len(live.plans)) == (1, 1)
        session.append(user(f"more {number}"))


# Dry run


@behaviour("summary.dry-run")
def test_a_dry_run_with_a_summary_is_applied_as_it_was_shown(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host)
    before = view_of(session)
    dry = session.compact(strategy="model", dryRun=True)
    assert (dry["outcome"], dry["strategy"]) == ("planned", "model")
    assert view_of(session) == before
    done = session.call("context/commit", planId=dry["planId"])
    assert len(script.asked) == 1
    assert done["outcome"] == "applied"
    for field in ("after", "before", "units", "ledger", "audit", "strategy", "attempts"):
        assert done[field] == dry[field], field
    assert view_of(session) != before


@behaviour("summary.dry-run")
def test_a_dry_run_that_is_stale_is_a_conflict(host: LocalHost) -> None:
    session = filled(host)
    dry = session.compact(strategy="deterministic", dryRun=True)
    session.append(user("more"))
    before = view_of(session)
    with pytest.raises(Refused, match="revisionConflict"):
        session.call("context/commit", planId=dry["planId"])
    assert view_of(session) == before


def test_undo_brings_back_the_view_before_a_summary(host: LocalHost) -> None:
    session = filled(host)
    before = session.messages("model")
    session.compact(strategy="model")
    session.call("context/undo")
    assert session.messages("model") == before
