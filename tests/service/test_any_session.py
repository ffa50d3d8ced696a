"""Any order of calls, restarts and crashes: nothing acknowledged is lost, every request can be sent."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.dialects.registry import NAMES, get
from ctxd.report.wire_check import check_request
from tests.reports.checks import join_turns
from tests.service.host import Answer, LocalHost, Session
from tests.service.recall.test_recall import content_of, follow
from tests.support import natives

TIGHT = {
    "recall": {"spillBytes": 6_000, "headBytes": 200, "tailBytes": 100, "pageBytes": 2_000},
    "elision": {"minMessages": 6, "keepTurns": 2, "oversizedBytes": 900, "staleTurns": 2},
    "cache": {"expectedCalls": 100},
}
WINDOW = 9_000

_names = itertools.count()


class Run:
    """One session and what a host knows of it."""

    def __init__(self, host: LocalHost, dialect: str) -> None:
        self.host = host
        self.dialect = dialect
        self.session = host.open(f"s{next(_names)}", dialect, model={"id": "m", "contextWindow": WINDOW})
        self.said: list[Answer] = []
        self.calls = itertools.count()
        self.request: str | None = None
        self.open_calls: list[str] = []

    def append(self, *messages: Answer) -> None:
        self.session.append(*messages)
        self.said += messages

    def speak(self, words: int) -> None:
        self.open_calls = []
        self.append(natives.user(self.dialect, f"ask {len(self.said)} " + "word " * words))

    def call(self, count: int) -> None:
        ids = [f"c{next(self.calls)}" for _ in range(count)]
        self.open_calls = ids if self.begins_a_turn() else [*self.open_calls, *ids]
        self.append(*natives.calling(self.dialect, ids))

    def begins_a_turn(self) -> bool:
        """Neighbouring assistant messages are one turn in most dialects: calls of both wait for results."""
        after_assistant = bool(self.said) and get(self.dialect).view(self.said[-1]).role == "assistant"
        return self.dialect == "openai-chat" or not after_assistant

    def answer(self, words: int) -> None:
        """One result of those that are missing."""
        if self.open_calls:
            call_id = self.open_calls.pop()
            text = f"{call_id} " + "output " * words
            self.append(natives.answer(self.dialect, call_id, text))

    def prepare(self, phase: str) -> None:
        made = self.session.prepare(phase)
        self.request = made["requestId"]
        assert made["messages"] == self.session.messages("model")
        self.check_sendable(made["messages"])

    def check_sendable(self, messages: list[Answer]) -> None:
        if not messages:
            return
        verdict = self.host.call("context/validate", dialect=self.dialect, messages=messages)
        assert verdict["violations"] == []
        if self.dialect not in ("anthropic", "openai-chat"):
            return
        joined = join_turns(messages) if self.dialect == "anthropic" else messages
        faults = check_request(self.dialect, joined)  # type: ignore[arg-type]  # one of the two
        assert [f for f in faults if not self.open_calls or "without a result" not in f] == []

    def report(self, prompt: int) -> None:
        if self.request is not None:
            message = natives.said(self.dialect, f"said {len(self.said)}")
            usage = natives.usage(self.dialect, prompt)
            self.session.report(self.request, message, usage=usage)
            if self.begins_a_turn():
                self.open_calls = []
            self.said.append(message)
            self.request = None

    def compact(self, target: int) -> None:
        report = self.session.compact(strategy="deterministic", targetTokens=target)
        assert report["outcome"] in ("applied", "noop", "cannotReach")

    def restart(self) -> None:
        expected = self.standing(self.session)
        self.host.reopen()
        self.session = self.host.open(self.session.id, None)
        assert self.standing(self.session) == expected

    def standing(self, session: Session) -> tuple[bytes, bytes, Any]:
        projection = session.project(detail="items")
        return session.history_bytes("model"), session.history_bytes("transcript"), projection

    def crash(self, folder: Path) -> None:
        expected = self.standing(self.session)
        with self.host.copy(folder) as other:
            assert self.standing(other.open(self.session.id, None)) == expected
        shutil.rmtree(folder)

    def end(self) -> None:
        """What a host can always ask for."""
        assert self.session.messages() == self.said
        for call_id, text in natives.results(self.dialect, self.said):
            pages = follow(self.session, toolCallId=call_id)
            assert b"".join(map(content_of, pages)) == text.encode()


@pytest.fixture(scope="module")
def daemon(quick_folder: Path) -> Iterator[LocalHost]:
    with LocalHost(quick_folder / "state", TIGHT) as made:
        yield made


STEPS = st.one_of(
    st.tuples(st.just("speak"), st.sampled_from([3, 60, 400])),
    st.tuples(st.just("call"), st.integers(1, 3)),
    st.tuples(st.just("answer"), st.sampled_from([2, 150, 700, 2500])),
    st.tuples(st.just("answer"), st.sampled_from([2, 150, 700, 2500])),
    st.tuples(st.just("prepare"), st.sampled_from(["turnStart", "iteration", "retry"])),
    st.tuples(st.just("report"), st.integers(0, 12_000)),
    st.tuples(st.just("compact"), st.sampled_from([50, 800, 3_000])),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("crash"), st.none()),
)


@pytest.mark.parametrize("dialect", NAMES)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=10, max_size=45))
def test_whatever_happens_to_a_session_nothing_is_lost_and_every_request_can_be_sent(
    daemon: LocalHost, quick_folder: Path, dialect: str, steps: list[tuple[str, Any]]
) -> None:
    run = Run(daemon, dialect)
    for name, value in steps:
        match name:
            case "restart":
                run.restart()
            case "crash":
                run.crash(quick_folder / "crashed")
            case _:
                getattr(run, name)(value)
    run.end()
    run.session.call("session/close")
