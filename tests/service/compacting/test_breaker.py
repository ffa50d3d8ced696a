"""Not asking while asking fails: three failures open it, a pause half-opens it (E §6.9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.service.compacting.breaker import FAILURES, MAX_KEYS, Breaker
from ctxd.service.host import HookReply, HookRequest, SampleFailed
from tests.service.host import Answer, LocalHost
from tests.service.talks import MODEL, chat, work
from tests.support.behaviour import behaviour
from tests.support.scripted_host import ScriptedHost, plausible, summary

COOLDOWN = 60_000
OPTIONS = {"summarizer": {"retryDelayMs": 0, "cooldownMs": COOLDOWN}}
KEY = ("/w", "s")


def opened(at: int = 0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.failed(KEY, at)
    return breaker


@behaviour("breaker.opens")
def test_three_failures_in_a_row_open_it_and_two_do_not() -> None:
    breaker = Breaker()
    for _ in range(2):
        breaker.failed(KEY, 0)
    assert breaker.allows(KEY, 1, COOLDOWN)
    breaker.failed(KEY, 2)
    assert not breaker.allows(KEY, 3, COOLDOWN)


def test_a_success_between_failures_begins_the_count_anew() -> None:
    breaker = Breaker()
    for _ in range(5):
        breaker.failed(KEY, 0)
        breaker.failed(KEY, 0)
        breaker.succeeded(KEY)
    assert breaker.allows(KEY, 1, COOLDOWN)


@behaviour("breaker.half-open")
def test_after_the_pause_one_attempt_decides() -> None:
    """E §6 [W]: it never closed again."""
    breaker = opened()
    assert not breaker.allows(KEY, COOLDOWN - 1, COOLDOWN)
    assert breaker.allows(KEY, COOLDOWN, COOLDOWN)
    breaker.failed(KEY, COOLDOWN)
    assert not breaker.allows(KEY, COOLDOWN + 1, COOLDOWN)
    assert breaker.allows(KEY, 2 * COOLDOWN, COOLDOWN)
    breaker.succeeded(KEY)
    assert breaker.allows(KEY, 2 * COOLDOWN + 1, COOLDOWN)


def test_an_attempt_that_was_broken_off_leaves_it_half_open() -> None:
    breaker = opened()
    assert breaker.allows(KEY, COOLDOWN, COOLDOWN)
    assert breaker.allows(KEY, COOLDOWN + 1, COOLDOWN)


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    assert opened(at=10**9).allows(KEY, 0, COOLDOWN)


@behaviour("breaker.keyed")
def test_every_session_of_every_workspace_has_its_own() -> None:
    breaker = opened()
    assert breaker.allows(("/w", "other"), 1, COOLDOWN)
    assert breaker.allows(("/other", "s"), 1, COOLDOWN)


def test_it_forgets_the_oldest_rather_than_grow() -> None:
    """E §6 [W]: the map grew without bound."""
    breaker = opened()
    for number in range(MAX_KEYS):
        breaker.failed(("/w", f"n{number}"), 0)
    assert breaker.allows(KEY, 1, COOLDOWN)
    newest = ("/w", f"n{MAX_KEYS - 1}")
    breaker.failed(newest, 0)
    breaker.failed(newest, 0)
    assert not breaker.allows(newest, 1, COOLDOWN)


# In a session


@pytest.fixture
def script() -> ScriptedHost:
    return ScriptedHost(SampleFailed("fatal", ""))


@pytest.fixture
def host(tmp_path: Path, script: ScriptedHost) -> Iterator[LocalHost]:
    with LocalHost(tmp_path / "state", OPTIONS, answers=script) as made:
        yield made


def dry(host: LocalHost, session_id: str = "s1", **fields: object) -> Answer:
    """An attempt that leaves the session as it is, for the next one."""
    if session_id not in {s.session_id for s in host.registry.sessions}:
        host.open(session_id, model=MODEL, **fields).append(*work())
    report: Answer = host.call("context/compact", sessionId=session_id, strategy="model", dryRun=True)
    return report


@behaviour("breaker.opens")
def test_an_open_breaker_asks_nobody_until_its_pause_is_over(host: LocalHost, script: ScriptedHost) -> None:
    reasons = [dry(host)["failureReason"] for _ in range(5)]
    assert reasons == ["deterministic"] * 3 + ["circuitOpen"] * 2
    assert len(script.asked) == 3
    assert dry(host)["attempts"] == 0
    host.later = COOLDOWN + 1_000
    assert dry(host)["failureReason"] == "deterministic"
    assert dry(host)["failureReason"] == "circuitOpen"
    host.later *= 3
    script.replies = [plausible]
    assert dry(host)["strategy"] == "model"
    assert dry(host)["strategy"] == "model"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (SampleFailed("transient", ""), "transientExhausted"),
        (SampleFailed("timeout", ""), "transientExhausted"),
        (SampleFailed("overflow", ""), "contextExhausted"),
        ("", "emptyExhausted"),
        ("I'm sorry, I can't.", "invalidOutput"),
    ],
)
def test_whatever_ended_without_a_summary_counts(
    host: LocalHost, script: ScriptedHost, reply: str | SampleFailed, reason: str
) -> None:
    script.replies = [reply]
    assert [dry(host)["failureReason"] for _ in range(4)] == [reason] * 3 + ["circuitOpen"]
    assert len(script.asked) == 9


def test_a_summary_that_shrinks_too_little_counts(host: LocalHost, script: ScriptedHost) -> None:
    """E §6.2, step 9."""
    lines = [f"decision {n} 龘靐齉爩鱻麤龗灪吁龖" for n in range(80)]
    script.replies = [summary(decisions=lines, verification=lines, open=lines)]
    host.open("s1", model=MODEL).append(*chat(3))
    reasons = [dry(host)["failureReason"] for _ in range(4)]
    assert reasons == ["insufficientReduction"] * 3 + ["circuitOpen"]


@behaviour("breaker.uncounted")
@pytest.mark.parametrize("kind", ["declined", "unavailable"])
def test_a_host_that_says_no_is_no_failure(host: LocalHost, script: ScriptedHost, kind: str) -> None:
    script.replies = [SampleFailed(kind, "")]  # type: ignore[arg-type]  # a Trouble
    assert "circuitOpen" not in [dry(host)["failureReason"] for _ in range(5)]


@behaviour("breaker.uncounted")
def test_a_blocked_compaction_is_no_failure(host: LocalHost, script: ScriptedHost) -> None:
    def block(request: HookRequest) -> HookReply:
        return HookReply(allow=False, reason="not now")

    script.hook = block
    for _ in range(5):
        assert dry(host)["outcome"] == "blocked"
    script.hook = None
    assert dry(host)["failureReason"] == "deterministic"


@behaviour("breaker.keyed")
def test_one_sessions_failures_are_not_anothers_and_paths_are_canonical(
    host: LocalHost, script: ScriptedHost, tmp_path: Path
) -> None:
    real = tmp_path / "project"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    for _ in range(2):
        dry(host, "a", workspace=(tmp_path / "link").as_uri())
    host.call("session/close", sessionId="a")
    host.open("a", None, workspace=(real / ".").as_uri())
    assert dry(host, "a")["failureReason"] == "deterministic"
    assert dry(host, "a")["failureReason"] == "circuitOpen"
    assert dry(host, "b")["failureReason"] == "deterministic"
