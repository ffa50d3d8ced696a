"""Public reports, section B: loops and triggers. Each test has the input of its report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ctxd.model.errors import InvalidParams
from ctxd.model.settings import Settings
from ctxd.server.options import Options
from tests.reports.checks import MODEL, compact, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.scripted_host import Held, ScriptedHost, summary

OVERFLOW = {"status": 400, "message": "prompt is too long: 70000 tokens > 65536 maximum"}


def model(window: int, **fields: Any) -> Answer:
    return {**MODEL, "contextWindow": window, **fields}


def stages(request: Answer) -> list[str]:
    return [stage["stage"] for stage in request["report"]["stages"]]


def turn(session: Session, number: int, words: int = 20) -> Answer:
    """One turn as a host plays it; the request that was prepared."""
    session.append(user(f"question {number}"))
    request = session.prepare()
    session.report(request["requestId"], said(f"answer {number} " + "word " * words))
    return request


def test_b21_an_irreducible_floor_is_said_and_never_looped_on(host: LocalHost) -> None:
    session = host.open(model=model(65_536, maxOutputTokens=32_000), system="tool " * 40_000)
    requests = [turn(session, number) for number in range(20)]
    assert [stages(request) for request in requests] == [[]] * 20
    report = session.compact(trigger="auto", strategy="deterministic")
    assert report["outcome"] == "cannotReach"
    assert report["floor"] > requests[-1]["projection"]["compactionThreshold"]
    assert not requests[-1]["projection"]["reachable"]


def test_b22_one_recovery_for_an_overflow_and_another_only_after_a_success(host: LocalHost) -> None:
    session = host.open(model=model(65_536))
    talk(session, 12)
    actions = []
    for _ in range(4):
        request = session.prepare("retry" if actions else "turnStart")
        report = session.report(request["requestId"], outcome="error", error=OVERFLOW)
        actions.append(report["recovery"]["action"])
    assert actions == ["retry", "fail", "fail", "fail"]
    session.report(session.prepare("retry")["requestId"], said("a real turn"))
    talk(session, 8, name="u")
    report = session.report(session.prepare()["requestId"], outcome="error", error=OVERFLOW)
    assert report["recovery"]["action"] == "retry"


def test_b23_overhead_that_no_compaction_removes_triggers_none(host: LocalHost) -> None:
    """29k of tools against a threshold of 27.9k, in an empty chat."""
    session = host.open(model=model(43_000, maxOutputTokens=8_125))
    for number in range(6):
        session.append(user(f"hi {number}"))
        request = session.prepare()
        assert stages(request) == []
        session.report(
            request["requestId"],
            said("hello"),
            usage={"input_tokens": 29_000 + 20 * number, "output_tokens": 5},
        )
    assert request["projection"]["compactionThreshold"] == 27_900
    assert session.project()["phase"] == "compaction_due"
    assert not session.project()["reachable"]


def test_b25_a_pass_that_frees_next_to_nothing_is_no_success(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    for number in range(12):
        session.append(
            user(f"Rule {number}: never touch area {number * 7}, it belongs to team {number}."), said("ok")
        )
    report = compact(session)
    assert (report["outcome"], report["failureReason"]) == ("noop", "insufficientReduction")
    assert report["after"] == report["before"]


def test_b25_fewer_tokens_in_as_many_messages_is_a_success(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    for name, words in (("a", 20_000), ("b", 1)):
        call = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": f"run {name}"}}
        session.append(user("go"), {"role": "assistant", "content": [call]}, results((name, "word " * words)))
    report = session.compact(strategy="auto")
    assert report["outcome"] == "applied"
    assert report["after"]["messages"] == report["before"]["messages"]
    assert report["after"]["tokens"] < report["before"]["tokens"] // 2


def test_b26_small_gains_are_not_run_after(host: LocalHost) -> None:
    host.configure({"elision": {"enabled": False}})
    session = host.open(model=model(20_000))
    session.append(user("Hold every word: " + "rule " * 6_600), said("held"))
    tried = [stages(turn(session, number)).count("compaction") for number in range(14)]
    assert sum(tried) <= 2
    assert session.project()["generation"] <= 1


def test_b26_without_a_window_size_in_bytes_and_age_still_make_room(host: LocalHost) -> None:
    host.configure({"wire": {"maxBytes": 300_000}})
    session = host.open(model={"id": "nobody-knows"})
    talk(session, 40, words=2_500)
    session.append(user("go on"))
    request = session.prepare()
    assert request["projection"]["phase"] == "unknown"
    assert request["report"]["promptReplaced"]
    assert request["projection"]["bytes"]["value"] <= 300_000
    assert len(str(sent(session))) < 330_000


def test_b27_the_next_compaction_waits_for_new_tokens_and_not_for_seconds(host: LocalHost) -> None:
    host.configure({"elision": {"enabled": False}})
    session = host.open(model=model(60_000))
    talk(session, 30, words=1_500)
    session.append(user("go on"))
    assert session.prepare()["report"]["compactionPerformed"]
    for _ in range(3):
        host.later += 3_600_000
        assert not session.prepare()["report"]["compactionPerformed"]
    threshold = session.project()["compactionThreshold"]
    number = 0
    while not session.prepare()["report"]["compactionPerformed"]:
        session.append(user(f"more {number} " + "new " * 900), said("noted"))
        number += 1
        assert number < 100
    assert number * 900 > threshold // 5


def test_b28_of_two_compactions_at_once_one_is_made(tmp_path: Path) -> None:
    held = Held(summary(decisions=["Decided: go"], exact=["Go on"]))
    with LocalHost(tmp_path / "state", answers=ScriptedHost(held)) as host:
        session = host.open(model=model(200_000))
        talk(session, 12)
        asked = ("context/compact", {"sessionId": session.id, "strategy": "model"})

        async def overlap() -> list[Any]:
            first = asyncio.create_task(host.ask(*asked))
            await held.reached.wait()
            second = await asyncio.gather(host.ask(*asked), return_exceptions=True)
            held.go.set()
            return [await first, *second]

        first, second = host.run(overlap)
        assert first["outcome"] == "applied"
        assert isinstance(second, Refused)
        assert second.kind == "busy"
        assert session.project()["generation"] == 1


def test_b29_a_compaction_that_never_ended_is_not_running_after_a_restart(tmp_path: Path) -> None:
    held = Held("never said")
    with LocalHost(tmp_path / "state", answers=ScriptedHost(held)) as host:
        session = host.open(model=model(200_000))
        talk(session, 12)
        before = session.messages("model")
        asked = ("context/compact", {"sessionId": session.id, "strategy": "model"})

        async def die() -> LocalHost:
            task = asyncio.create_task(host.ask(*asked))
            await held.reached.wait()
            copy = await asyncio.to_thread(host.copy, tmp_path / "crashed")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return copy

        with host.run(die) as second:
            session = second.open(mode="resume", dialect=None)
            assert session.messages("model") == before
            assert session.compact(strategy="deterministic")["outcome"] == "applied"


def test_b30_usage_from_before_a_compaction_is_not_believed_after_it(host: LocalHost) -> None:
    host.configure({"elision": {"enabled": False}, "handoff": {"enabled": False}})
    session = host.open(model=model(100_000))
    talk(session, 22, words=2_000)
    request = session.prepare("iteration")
    session.report(request["requestId"], said("ok"), usage={"input_tokens": 73_000, "output_tokens": 10})
    compacted = session.prepare("iteration")
    assert compacted["report"]["compactionPerformed"]
    assert compacted["projection"]["source"] == "local_estimate"
    assert compacted["projection"]["tokens"] < 50_000
    assert not session.prepare("iteration")["report"]["compactionPerformed"]


def test_b31_without_usage_sizes_are_estimated_and_a_compaction_still_comes(host: LocalHost) -> None:
    session = host.open(model=model(20_000))
    compacted = 0
    for number in range(12):
        request = turn(session, number, words=900)
        assert request["projection"]["tokens"] > 0
        compacted += request["report"]["compactionPerformed"]
    assert compacted


def test_b32_a_host_that_wants_none_gets_none_and_decides_itself(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state", {"compaction": {"auto": False}}) as host:
        session = host.open(model=model(20_000))
        session.append(user("Remember: " + "word " * 9_000), said("ok"))
        for number in range(3):
            request = turn(session, number)
            assert not request["report"]["compactionPerformed"]
        request = session.prepare()
        recovery = session.report(request["requestId"], outcome="error", error=OVERFLOW)["recovery"]
        assert (recovery["action"], recovery["reason"]) == ("fail", "autoOff")
        assert session.append(user("the session is not trapped"))["durable"]


@pytest.mark.parametrize("window", [100_000, 128_000, 150_000, 199_999])
def test_b33_any_window_compacts_at_its_own_threshold(host: LocalHost, window: int) -> None:
    host.configure({"model": {"windows": {"overridden": window}}})
    session = host.open(model={"id": "overridden"})
    assert session.info["window"] == {"value": window, "source": "host"}
    talk(session, window // 2_000, words=2_500)
    session.append(user("go on"))
    assert session.project()["phase"] == "compaction_due"
    assert session.prepare()["report"]["promptReplaced"]
    assert session.project()["phase"] == "below_handoff"


@pytest.mark.parametrize(
    "budget",
    [
        {"compactionRatio": 0.0},
        {"compactionRatio": 1.5},
        {"handoffRatio": -0.1},
        {"reserve": -1},
    ],
)
def test_b33_a_threshold_that_could_never_work_is_refused(budget: Answer) -> None:
    options = Options()
    with pytest.raises(InvalidParams) as refused:
        options.set("init", {"budget": budget})
    assert "budget." in str(refused.value)
    assert options.settings == Settings()


def test_b33_a_threshold_below_the_handoff_still_compacts(host: LocalHost) -> None:
    host.configure({"budget": {"compactionRatio": 0.5}, "elision": {"enabled": False}})
    session = host.open(model=model(60_000))
    talk(session, 18, words=1_500)
    session.append(user("go on"))
    assert stages(session.prepare()) == ["compaction"]
