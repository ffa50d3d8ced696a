"""Compacting on request: what it promises, changes and leaves (protocol.md, section 3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.host import LocalHost, Refused
from tests.service.recall.test_recall import turn
from tests.service.requests.test_context import SONNET, fill, said, user
from tests.service.test_errors import logs


def test_a_dry_run_changes_nothing_and_foretells_what_compacting_does(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    fill(session, 20)
    before, standing = logs(host.root), session.history_bytes()
    planned = session.compact(strategy="deterministic", dryRun=True)
    assert planned["outcome"] == "planned"
    assert planned["planId"]
    assert logs(host.root) == before
    assert session.history_bytes() == standing
    applied = session.compact(strategy="deterministic")
    assert applied["outcome"] == "applied"
    for member in ("before", "after", "target", "units", "audit", "ledger"):
        assert applied[member] == planned[member], member


def test_after_a_compaction_the_view_is_what_is_sent_and_stays_over_a_restart(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    fill(session, 20)
    before = session.project()
    report = session.compact(strategy="deterministic")
    after = session.project()
    assert report["before"]["tokens"] - report["after"]["tokens"] == pytest.approx(
        before["tokens"] - after["tokens"], rel=0.02
    )
    assert (after["generation"], session.host.open().info["epoch"]) == (before["generation"] + 1, 1)
    view = session.messages("model")
    assert len(view) == report["after"]["messages"] < report["before"]["messages"]
    assert session.lines("model")[0]["fidelity"] == "summary"
    host.reopen()
    session = host.open()
    assert session.messages("model") == view == session.prepare()["messages"]
    assert len(session.lines()) == 60


ASKS = [
    "Rename the parser module and keep its tests green.",
    "Why does the login page flicker on Safari?",
    "Add a retry to the upload, three times at most.",
    "Never touch the files under vendor.",
    "The invoice total must be rounded half up.",
    "Write the changelog in British English.",
    "Show me the slowest query of last week.",
    "Use tabs in the Makefile.",
    "请把错误信息翻译成中文。",
    "What did the linter say about imports?",
    "Delete the obsolete feature flag for dark mode.",
    "Bump the Docker image to Debian 12.",
]


def test_compacting_again_and_again_ends_and_loses_no_word_of_the_user(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    for number, ask in enumerate(ASKS):
        session.append(user(ask), *turn(f"c{number}", f"{number} " + "word " * 1200), said("Done."))
    outcomes: list[str] = []
    while len(outcomes) < 30 and (not outcomes or outcomes[-1] == "applied"):
        report = session.compact(strategy="deterministic")
        outcomes.append(report["outcome"])
        if outcomes[-1] == "applied":
            assert report["after"]["tokens"] <= 0.95 * report["before"]["tokens"]
        constraints = report["audit"]["constraints"]
        assert constraints["verbatim"] == constraints["total"]
    assert outcomes[-1] == "noop"
    shown = str(session.messages("model"))
    assert [ask for ask in ASKS if ask not in shown] == []


def test_appends_that_meet_a_compaction_are_all_kept_in_order(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    fill(session, 20)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("context/compact", {"sessionId": "s1", "strategy": "deterministic"})
    ]
    asked += [("session/append", {"sessionId": "s1", "messages": [user(f"meanwhile {n}")]}) for n in range(5)]
    report, *answers = host.together(*asked)
    assert report["outcome"] == "applied"
    meanwhile = [user(f"meanwhile {n}") for n in range(5)]
    assert [answer["revision"] for answer in answers] == sorted(answer["revision"] for answer in answers)
    assert session.messages()[-5:] == meanwhile
    assert session.messages("model")[-5:] == meanwhile
    host.reopen()
    assert host.open().messages("model")[-5:] == meanwhile


def test_two_compactions_at_once_are_one(host: LocalHost) -> None:
    session = host.open(model=SONNET)
    fill(session, 20)
    asked = ("context/compact", {"sessionId": "s1", "strategy": "deterministic"})
    outcomes = [
        answer.kind if isinstance(answer, Refused) else answer["outcome"]
        for answer in host.together(asked, asked, asked)
    ]
    assert outcomes.count("applied") >= 1
    assert set(outcomes) <= {"applied", "noop", "busy"}
    assert session.project()["generation"] == 1
