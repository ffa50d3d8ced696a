"""A host may block a compaction or say what to look after; one that fails stops nothing (E §6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxd.service.host import HookReply, HookRequest
from tests.service.host import LocalHost, Session
from tests.service.talks import MODEL, Message, chat, view_of, work
from tests.support.behaviour import behaviour
from tests.support.scripted_host import ScriptedHost, plausible


@pytest.fixture
def script() -> ScriptedHost:
    return ScriptedHost(plausible)


@pytest.fixture
def host(tmp_path: Path, script: ScriptedHost) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "state", {"summarizer": {"retryDelayMs": 0}}, answers=script) as made:
        yield made


def filled(host: LocalHost, messages: list[Message] | None = None, **fields: Any) -> Session:
    session = host.open(**{"model": MODEL, **fields})
    session.append(*(messages or work()))
    return session


@behaviour("hook.asked")
def test_the_hook_is_told_what_is_to_be_compacted_and_why(host: LocalHost, script: ScriptedHost) -> None:
    session = filled(host)
    report = session.compact(strategy="deterministic")
    (asked,) = script.hooked
    assert asked == HookRequest("s1", "manual", "manual", 56, report["before"]["tokens"])


def test_the_hook_is_asked_before_a_compaction_of_prepare_too(host: LocalHost, script: ScriptedHost) -> None:
    filled(host, chat(20), model={"id": "m", "contextWindow": 20_000}).prepare()
    assert [(h.trigger, h.reason) for h in script.hooked] == [("auto", "threshold")]


@behaviour("hook.block")
@pytest.mark.parametrize("strategy", ["model", "deterministic", "auto"])
def test_a_block_changes_nothing_asks_nobody_and_has_no_fallback(
    host: LocalHost, script: ScriptedHost, strategy: str
) -> None:
    script.hook = lambda request: HookReply(allow=False, reason="tests are running")
    session = filled(host)
    before, revision = view_of(session), session.revision
    report = session.compact(strategy=strategy)
    assert (report["outcome"], report["failureReason"]) == ("blocked", "tests are running")
    assert report["after"] == report["before"]
    assert "strategy" not in report
    assert (view_of(session), session.revision) == (before, revision)
    assert script.asked == []
    assert script.told == ["start", "complete"]


def test_a_block_without_a_reason_has_one(host: LocalHost, script: ScriptedHost) -> None:
    script.hook = lambda request: HookReply(allow=False)
    assert filled(host).compact(strategy="model")["failureReason"] == "blocked by the host"


def test_a_block_in_prepare_leaves_a_request_and_says_why(host: LocalHost, script: ScriptedHost) -> None:
    script.hook = lambda request: HookReply(allow=False, reason="no")
    session = filled(host, chat(20), model={"id": "m", "contextWindow": 20_000})
    prepared = session.prepare()
    assert not prepared["report"]["compactionPerformed"]
    assert [s["reason"] for s in prepared["report"]["stages"] if s["stage"] == "compaction"] == ["no"]
    assert len(prepared["messages"]) == 40


@behaviour("hook.instructions")
def test_instructions_of_the_hook_join_those_of_the_caller(host: LocalHost, script: ScriptedHost) -> None:
    script.hook = lambda request: HookReply(instructions="Mind the tests.")
    filled(host).compact(strategy="model", instructions="Mind the docs.")
    prompt = script.asked[0].messages[0][1]
    assert prompt.startswith("## What to look after\n\nMind the docs.\n    \n    Mind the tests.")


@behaviour("hook.failing")
@pytest.mark.parametrize("failure", ["hookTimeout", "hookFailed"])
def test_a_hook_that_fails_stops_nothing_and_is_told(
    host: LocalHost, script: ScriptedHost, failure: str
) -> None:
    script.hook = lambda request: HookReply(failure=failure)  # type: ignore[arg-type]  # one of the two
    report = filled(host).compact(strategy="model")
    assert (report["outcome"], report["strategy"], report["failureReason"]) == ("applied", "model", failure)


@behaviour("compaction.events")
def test_o16_where_nothing_is_compacted_no_phase_is_told(host: LocalHost, script: ScriptedHost) -> None:
    """There, every iteration wrote two events."""
    session = filled(host, chat(3), model={"id": "m", "contextWindow": 200_000})
    for _ in range(3):
        request = session.prepare("iteration")
        session.report(request["requestId"], {"role": "assistant", "content": "ok"})
    assert script.told == []
