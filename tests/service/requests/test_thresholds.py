"""When a compaction comes, when it does not, and that it comes to an end (behaviour.md §§2, 3, 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reports.checks import results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Session
from tests.support.behaviour import behaviour

SONNET = "claude-sonnet-4-5"
QUIET = {"elision": {"enabled": False}, "handoff": {"enabled": False}}


def model(window: int | None, **fields: Any) -> Answer:
    known = {"contextWindow": window} if window else {}
    return {"id": SONNET if window else "nobody-knows", **known, **fields}


def stages(request: Answer) -> list[str]:
    return [stage["stage"] for stage in request["report"]["stages"]]


def answered(session: Session, tokens: int) -> Answer:
    """One call whose usage says that the next request takes `tokens`; the request prepared then."""
    request = session.prepare("iteration")
    usage = {"input_tokens": tokens - 20, "output_tokens": 20}
    session.report(request["requestId"], said("ok"), usage=usage)
    assert session.project()["tokens"] == tokens
    return session.prepare("iteration")


def long_session(host: LocalHost, window: int | None = 100_000, name: str = "s1", **fields: Any) -> Session:
    session = host.open(name, model=model(window), **fields)
    talk(session, 12, words=100)
    session.append(user("go on"))
    return session


@behaviour("threshold.exact")
def test_at_the_threshold_a_compaction_comes_and_one_token_below_it_none(host: LocalHost) -> None:
    host.configure(QUIET)
    threshold = long_session(host).project()["compactionThreshold"]
    assert threshold == 72_000
    assert stages(answered(long_session(host, name="below"), threshold - 1)) == []
    assert stages(answered(long_session(host, name="at"), threshold)) == ["compaction"]


def test_an_estimate_is_taken_for_a_fifth_more_until_the_provider_has_spoken(host: LocalHost) -> None:
    host.configure(QUIET)
    session = host.open(model=model(20_000))
    talk(session, 20, words=280)
    found = session.project()
    assert found["source"] == "local_estimate"
    assert found["tokens"] < found["compactionThreshold"] <= found["tokens"] * 1.2
    assert found["phase"] == "compaction_due"
    other = host.open("anchored", model=model(20_000))
    talk(other, 20, words=280)
    other.append(said("ok"), meta=[{"usage": {"input_tokens": found["tokens"], "output_tokens": 3}}])
    assert other.project()["phase"] != "compaction_due"
    assert stages(session.prepare()) == ["compaction"]


def test_a_compaction_lands_well_below_the_threshold_and_the_next_is_not_due_at_once(host: LocalHost) -> None:
    host.configure(QUIET)
    session = host.open(model=model(60_000))
    talk(session, 30, words=1_500)
    assert stages(session.prepare()) == ["compaction"]
    after = session.project()
    assert after["tokens"] * 1.2 < after["compactionThreshold"] * 0.75
    talk(session, 2, words=100, name="u")
    assert stages(session.prepare()) == []


@behaviour("threshold.elision-first")
def test_what_elision_frees_spares_a_compaction(host: LocalHost) -> None:
    """E §11, weakness: the summary was made before it was looked whether snipping was enough."""
    session = host.open(model=model(60_000))
    talk(session, 14, words=2_500)
    session.append(user("go on"))
    assert session.project()["phase"] == "compaction_due"
    request = session.prepare()
    assert stages(request) == ["elision"]
    assert request["projection"]["phase"] == "below_handoff"


# Floors


def heavy(host: LocalHost, window: int, system_words: int, **fields: Any) -> Session:
    """A session whose system prompt alone is about so many tokens."""
    session = host.open(model=model(window, **fields), system="rule " * system_words)
    session.append(user("hello"), said("hi"), user("go on"))
    return session


def test_a_floor_at_the_threshold_is_said_with_numbers(host: LocalHost) -> None:
    session = heavy(host, 65_536, 43_000, maxOutputTokens=32_000)
    found = session.project()
    assert not found["reachable"]
    assert found["floor"] >= found["compactionThreshold"]
    report = session.compact(trigger="auto", strategy="deterministic")
    assert report["outcome"] == "cannotReach"
    assert report["floor"] == found["floor"]
    assert report["target"] > 0
    assert report["failureReason"] == "floor"
    by_hand = session.compact(strategy="deterministic")
    assert (by_hand["outcome"], by_hand["floor"]) == ("cannotReach", found["floor"])


@behaviour("loops.floor")
def test_a_floor_above_the_threshold_never_makes_a_loop(host: LocalHost) -> None:
    session = heavy(host, 65_536, 43_000, maxOutputTokens=32_000)
    generation = session.project()["generation"]
    for number in range(20):
        request = session.prepare("turnStart" if number % 3 == 0 else "iteration")
        assert stages(request) == []
        session.report(request["requestId"], said(f"answer {number}"))
        session.append(user(f"and {number}?"))
    assert session.project()["generation"] == generation


def test_a_floor_just_below_the_threshold_makes_no_loop_either(host: LocalHost) -> None:
    host.configure(QUIET)
    session = heavy(host, 40_000, 19_000)
    found = session.project()
    assert found["reachable"]
    compactions = 0
    for number in range(20):
        request = session.prepare("turnStart")
        compactions += stages(request).count("compaction") if request["report"]["compactionPerformed"] else 0
        session.report(request["requestId"], said(f"answer {number} " + "word " * 30))
        session.append(user(f"and {number}?"))
    assert compactions <= 2
    sent(session)


@behaviour("loops.brim")
@pytest.mark.parametrize("words", [40, 200, 1_000])
@pytest.mark.parametrize("window", [8_000, 20_000, 60_000])
def test_twenty_turns_at_the_brim_compact_seldom_and_always_fit(
    host: LocalHost, window: int, words: int
) -> None:
    session = host.open(model=model(window))
    sizes: list[int] = []
    compactions = 0
    for number in range(20):
        talk(session, 2, words=words, name=f"n{number}_")
        session.append(user(f"turn {number}"))
        request = session.prepare("turnStart")
        compactions += request["report"]["compactionPerformed"]
        sizes.append(request["projection"]["tokens"])
        assert request["projection"]["tokens"] <= request["projection"]["availableForInput"]
        tokens = request["projection"]["tokens"]
        session.report(request["requestId"], said("ok"), usage={"input_tokens": tokens, "output_tokens": 5})
        again = session.prepare("iteration")
        assert not again["report"]["compactionPerformed"]
    growth = 20 * 2 * (words + 60)
    room = session.project()["compactionThreshold"] // 6
    assert compactions <= growth // room + 2


def test_an_attempt_that_gained_nothing_is_not_repeated_until_the_view_has_grown(host: LocalHost) -> None:
    host.configure(QUIET)
    session = host.open(model=model(20_000))
    session.append(user("Keep all of this: " + "rule " * 7_600), said("kept"), user("go on"))
    assert session.project()["phase"] == "compaction_due"
    attempts = []
    for number in range(6):
        request = session.prepare("turnStart")
        attempts.append("compaction" in stages(request))
        session.append(said(f"ok {number}"), user("and?"))
    assert sum(attempts) <= 1
    assert not request["report"]["compactionPerformed"]


def test_usage_from_before_a_compaction_triggers_none_after_it(host: LocalHost) -> None:
    host.configure(QUIET)
    session = host.open(model=model(100_000))
    talk(session, 30, words=2_000)
    request = answered(session, 85_000)
    assert request["report"]["compactionPerformed"]
    for _ in range(3):
        assert stages(session.prepare("iteration")) == []


# Windows


@behaviour("threshold.downshift")
def test_a_smaller_model_is_compacted_for_before_its_first_request(host: LocalHost) -> None:
    session = host.open(model=model(200_000))
    talk(session, 30, words=1_500)
    session.append(user("go on"))
    assert not session.prepare()["report"]["compactionPerformed"]
    session.call("session/update", model=model(30_000))
    request = session.prepare("iteration")
    assert [(s["stage"], s["reason"]) for s in request["report"]["stages"]] == [("compaction", "modelChange")]
    assert request["projection"]["window"] == 30_000
    assert request["projection"]["tokens"] * 1.2 <= request["projection"]["compactionThreshold"]
    sent(session, "iteration")


def test_a_much_smaller_model_is_reached_in_one_step(host: LocalHost) -> None:
    session = host.open(model=model(1_000_000))
    talk(session, 60, words=3_000)
    session.append(user("go on"))
    session.call("session/update", model=model(8_000))
    request = session.prepare()
    assert request["report"]["outcome"] == "ok"
    assert request["projection"]["tokens"] <= request["projection"]["availableForInput"]


def test_a_larger_model_wakes_nothing(host: LocalHost) -> None:
    session = host.open(model=model(60_000))
    talk(session, 6, words=1_000)
    session.prepare()
    session.call("session/update", model=model(200_000))
    assert stages(session.prepare("iteration")) == []


@behaviour("threshold.unknown")
def test_an_unknown_window_is_said_and_never_compacts_or_hands_off_but_elides(host: LocalHost) -> None:
    session = host.open(model=model(None))
    talk(session, 30, words=3_000)
    session.append(user("go on"))
    request = session.prepare()
    projection = request["projection"]
    assert projection["window"] is None
    assert projection["phase"] == "unknown"
    assert stages(request) == ["elision"]
    assert (
        request["projection"]["tokens"] < session.host.call("tokens/count", text="word " * 90_000)["tokens"]
    )
    sent(session)


def test_a_person_may_compact_without_a_window(host: LocalHost) -> None:
    session = host.open(model=model(None))
    talk(session, 12, words=500)
    assert session.compact(strategy="deterministic")["outcome"] == "applied"


@behaviour("threshold.small")
@pytest.mark.parametrize("window", [4_096, 8_000, 8_192])
def test_small_windows_work(host: LocalHost, window: int) -> None:
    session = host.open(model=model(window))
    for number in range(10):
        talk(session, 1, words=600, name=f"n{number}")
        session.append(user(f"turn {number}"))
        request = session.prepare()
        assert request["projection"]["phase"] != "unknown"
        assert request["report"]["outcome"] == "ok", request["report"]
        sent(session)


def test_a_host_that_compacts_by_itself_is_never_forestalled(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state", {**QUIET, "compaction": {"auto": False}}) as host:
        session = long_session(host)
        request = answered(session, 85_000)
        assert stages(request) == []
        assert request["projection"]["phase"] == "compaction_due"


def test_a_newest_result_larger_than_the_window_is_clipped_and_kept_by_handle(host: LocalHost) -> None:
    session = host.open(model=model(20_000))
    talk(session, 3)
    call = {"type": "tool_use", "id": "big", "name": "Bash", "input": {"command": "cat all"}}
    text = "".join(f"line {n}\n" for n in range(20_000))
    session.append(user("go"), {"role": "assistant", "content": [call]}, results(("big", text)))
    request = session.prepare("iteration")
    assert request["report"]["outcome"] == "ok"
    assert session.fetch("big", offset=0, length=len(text))["content"] == text
