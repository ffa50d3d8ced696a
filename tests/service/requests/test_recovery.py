"""A request that was too large: one recovery for each success, and only into something smaller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reports.checks import calls, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 200_000}
OVERFLOW = {"status": 400, "message": "prompt is too long: 208310 tokens > 200000 maximum"}
RATE = {"status": 429, "message": "Number of request tokens has exceeded your per-minute rate limit"}


def opened(host: LocalHost, turns: int = 12, **fields: Any) -> Session:
    session = host.open(**{"model": MODEL, **fields})
    talk(session, turns)
    session.append(user("and now?"))
    return session


def overflow(session: Session, request_id: str, error: Answer = OVERFLOW, **fields: Any) -> Answer:
    """Report that a request was too large; what should be done."""
    recovery: Answer = session.report(request_id, outcome="error", error=error, **fields)["recovery"]
    return recovery


def size(session: Session) -> int:
    tokens: int = session.project()["tokens"]
    return tokens


@behaviour("recovery.smaller")
def test_an_overflow_is_answered_with_a_strictly_smaller_request(host: LocalHost) -> None:
    session = opened(host)
    request = session.prepare()
    recovery = overflow(session, request["requestId"])
    assert (recovery["action"], recovery["reason"]) == ("retry", "compacted")
    report = recovery["report"]
    assert (report["outcome"], report["reason"], report["trigger"]) == ("applied", "contextLimit", "auto")
    retry = session.prepare("retry")
    assert retry["projection"]["tokens"] < request["projection"]["tokens"]
    assert len(str(retry["messages"])) < len(str(request["messages"]))
    sent(session, "retry")


@behaviour("recovery.once")
def test_a_second_overflow_in_a_row_fails_and_changes_nothing(host: LocalHost) -> None:
    session = opened(host)
    overflow(session, session.prepare()["requestId"])
    retry = session.prepare("retry")
    before = session.messages("model")
    recovery = overflow(session, retry["requestId"])
    assert (recovery["action"], recovery["reason"]) == ("fail", "recoveredAlready")
    assert session.messages("model") == before


def test_a_success_allows_the_next_recovery(host: LocalHost) -> None:
    session = opened(host)
    overflow(session, session.prepare()["requestId"])
    retry = session.prepare("retry")
    session.report(retry["requestId"], said("done"), usage={"input_tokens": 900, "output_tokens": 5})
    talk(session, 8, name="u")
    assert overflow(session, session.prepare()["requestId"])["action"] == "retry"


@behaviour("recovery.fails-closed")
@pytest.mark.parametrize(
    ("error", "fields", "reason"),
    [
        (RATE, {}, "rateLimit"),
        ({"status": 529, "body": {"error": {"type": "overloaded_error"}}}, {}, "rateLimit"),
        ({"status": 401, "message": "invalid x-api-key"}, {}, "other"),
        ({}, {}, "other"),
        (OVERFLOW, {"outputStarted": True}, "outputStarted"),
    ],
)
def test_what_cannot_be_recovered_from_fails_and_changes_nothing(
    host: LocalHost, error: Answer, fields: Answer, reason: str
) -> None:
    session = opened(host)
    request = session.prepare()
    before = session.messages("model")
    recovery = overflow(session, request["requestId"], error, **fields)
    assert (recovery["action"], recovery["reason"]) == ("fail", reason)
    assert session.messages("model") == before
    again = session.prepare("iteration")
    assert overflow(session, again["requestId"])["action"] == "retry"


def test_messages_that_came_with_the_error_are_output_that_had_started(host: LocalHost) -> None:
    session = opened(host)
    request = session.prepare()
    answer = session.report(request["requestId"], said("partial"), outcome="error", error=OVERFLOW)
    assert (answer["recovery"]["action"], answer["recovery"]["reason"]) == ("fail", "outputStarted")
    assert session.messages("model")[-1] == said("partial")


def test_a_host_that_compacts_by_itself_is_left_to_it(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state", {"compaction": {"auto": False}}) as host:
        session = opened(host)
        recovery = overflow(session, session.prepare()["requestId"])
        assert (recovery["action"], recovery["reason"]) == ("fail", "autoOff")
        assert "report" not in recovery


def test_what_cannot_shrink_fails_with_the_attempt_reported(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    session.append(user("the only words there are"))
    recovery = overflow(session, session.prepare()["requestId"])
    assert (recovery["action"], recovery["reason"]) == ("fail", "cannotShrink")
    assert recovery["report"]["outcome"] == "noop"
    assert session.messages("model") == [user("the only words there are")]


def test_the_limit_a_provider_names_is_the_aim(host: LocalHost) -> None:
    session = opened(host, 40)
    request = session.prepare()
    error = {"status": 400, "message": "This model's maximum context length is 9000 tokens. However, …"}
    recovery = overflow(session, request["requestId"], error)
    assert recovery["report"]["target"] <= 9_000
    assert session.prepare("retry")["projection"]["tokens"] <= 9_000


def test_an_unknown_window_recovers_too(host: LocalHost) -> None:
    session = opened(host, model={"id": "nobody-knows"})
    before = size(session)
    recovery = overflow(session, session.prepare()["requestId"])
    assert recovery["action"] == "retry"
    assert size(session) < before


def test_a_restart_between_error_and_retry_allows_no_second_recovery(host: LocalHost) -> None:
    session = opened(host)
    overflow(session, session.prepare()["requestId"])
    before = session.messages("model")
    host.reopen()
    session = host.open()
    assert session.messages("model") == before
    retry = session.prepare("retry")
    assert session.messages("model") == before
    assert overflow(session, retry["requestId"])["reason"] == "recoveredAlready"


def test_a_report_repeated_after_a_restart_is_answered_with_what_was_done(host: LocalHost) -> None:
    session = opened(host)
    request = session.prepare()["requestId"]
    overflow(session, request)
    revision = session.revision
    host.reopen()
    session = host.open()
    recovery = overflow(session, request)
    assert (recovery["action"], recovery["reason"]) == ("retry", "recovered")
    assert session.revision == revision


@behaviour("recovery.restart")
def test_a_recovery_that_a_crash_prevented_is_made_when_the_report_comes_again(
    host: LocalHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(host)
    request = session.prepare()["requestId"]
    crashed: list[LocalHost] = []

    async def crash(*_: object) -> None:
        crashed.append(host.copy(tmp_path / "crashed"))
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr("ctxd.service.requests.report.recover", crash)
        with pytest.raises(ConnectionError):
            overflow(session, request)
    with crashed[0] as second:
        again = second.open(mode="resume", dialect=None)
        recovery = overflow(again, request)
        assert (recovery["action"], recovery["reason"]) == ("retry", "compacted")
        assert again.prepare("retry")["projection"]["tokens"] < session.project()["tokens"]


def test_a_retry_without_a_report_shrinks_all_the_same(host: LocalHost) -> None:
    session = opened(host)
    request = session.prepare()
    retry = session.prepare("retry")
    assert retry["projection"]["tokens"] < request["projection"]["tokens"]
    stages = [stage["stage"] for stage in retry["report"]["stages"]]
    assert stages and "cannotShrink" not in str(retry["report"])
    host.reopen()
    session = host.open()
    again = session.prepare("retry")
    assert again["projection"]["tokens"] < retry["projection"]["tokens"]


def test_a_retry_that_cannot_shrink_says_so_and_answers_the_same(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    session.append(user("hi"))
    first = session.prepare()
    retry = session.prepare("retry")
    assert retry["messages"] == first["messages"]
    assert [(s["stage"], s["reason"]) for s in retry["report"]["stages"]] == [("retry", "cannotShrink")]


def test_a_retry_while_a_batch_waits_keeps_the_batch(host: LocalHost) -> None:
    session = opened(host)
    session.append(calls("w1", "w2"), results(("w1", "one"), ("w2", "two " * 3_000)))
    session.prepare("iteration")
    shown = sent(session, "retry")
    assert calls("w1", "w2") in shown


def test_an_error_report_of_an_unknown_request_is_not_found_and_recovers_nothing(host: LocalHost) -> None:
    session = opened(host)
    before = session.messages("model")
    with pytest.raises(Refused) as refused:
        overflow(session, "r9999.0.0123456789abcdef")
    assert refused.value.kind == "notFound"
    assert session.messages("model") == before
