"""Everything that can go wrong while a summary is made, through the real process (issue 3, shows 6).

Each fault leaves the old view intact or ends in the deterministic plan, and the report says what happened.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.talks import MODEL, call, result, said, user, work
from tests.support.behaviour import behaviour
from tests.support.peer import Message, Peer, PeerError
from tests.support.scripted_host import summary

SUMMARY = summary(decisions=["use sqlite"], exact=["go on"])
QUICK = {"summarizer": {"retryDelayMs": 0, "timeoutMs": 20_000}}
SAMPLE = "sampling/createMessage"


class Remote:
    """Sessions in a real daemon whose host can be asked; one at a time, `s1`, `s2`, …"""

    def __init__(self, root: Path, options: dict[str, Any], capabilities: Message) -> None:
        self.root = root
        self.options = {"storage": {"root": str(root / "state")}, **options}
        self.capabilities = capabilities
        self.number = 0
        self.peer = self.start()

    def start(self) -> Peer:
        peer = Peer.start(log=self.root / "log")
        peer.initialize(options=self.options, folders=[self.root], capabilities=self.capabilities)
        return peer

    def restart(self, *, kill: bool) -> None:
        """End the daemon, start another and open the session again."""
        if not kill:
            self.peer.shutdown()
        self.leave()
        self.peer = self.start()
        self.open()

    def leave(self) -> None:
        """Kill the daemon if it still runs; nothing it said is looked at."""
        self.peer.__exit__(Exception, None, None)

    def begin(self) -> None:
        """A new session that is worth compacting."""
        self.peer.inbox.clear()
        self.number += 1
        self.open()
        self.call("session/append", messages=work())

    def open(self) -> None:
        workspace = self.root.as_uri()
        self.call("session/open", workspace=workspace, dialect="anthropic", model=MODEL)

    def call(self, method: str, **params: Any) -> Any:
        return self.peer.request(method, {"sessionId": f"s{self.number}", **params})

    def ask(self, **params: Any) -> int:
        asked = {"sessionId": f"s{self.number}", "strategy": "model", **params}
        return self.peer.ask("context/compact", asked)

    def view(self) -> bytes:
        asked = self.peer.ask("session/history", {"sessionId": f"s{self.number}", "view": "model"})
        self.peer.wait(asked)
        return self.peer.bodies[asked].partition(b'"result":')[2]

    def question(self, method: str = SAMPLE) -> Message:
        """The daemon's next request of this method."""
        return self.peer.receive(lambda m: m.get("method") == method and "id" in m)

    def reply(self, question: Message, result_: Any = None, error: Message | None = None) -> None:
        answer = {"error": error} if error else {"result": result_}
        self.peer.send({"jsonrpc": "2.0", "id": question["id"], **answer})

    def phases(self) -> list[str]:
        """What was told of compactions since the session began."""
        told = {"context/event": lambda p: p["stage"], "context/didChange": lambda p: "changed"}
        return [told[m["method"]](m["params"]) for m in self.peer.inbox if m.get("method") in told]


def started(folder: Path, options: dict[str, Any], **capabilities: bool) -> Iterator[Remote]:
    made = Remote(folder, options, capabilities)
    try:
        yield made
    finally:
        made.leave()


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    yield from started(tmp_path_factory.mktemp("sampled"), QUICK, sampling=True)


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    yield from started(tmp_path_factory.mktemp("hooked"), QUICK, compactHook=True)


@pytest.fixture
def remote(sampled: Remote) -> Remote:
    sampled.begin()
    return sampled


def text(content: str, **more: Any) -> Message:
    return {"content": {"type": "text", "text": content}, "model": "m", **more}


@behaviour("summary.over-the-wire")
def test_a_host_is_asked_over_the_wire_and_its_text_used(remote: Remote) -> None:
    asked = remote.ask(instructions="Mind the docs.")
    question = remote.question()
    params = question["params"]
    assert params["temperature"] == 0
    assert params["maxTokens"] == 8_000
    assert params["metadata"]["cacheRetention"] == "none"
    assert params["metadata"]["retries"] == 0
    assert not {"tools", "cache_control", "cacheControl"} & params.keys()
    assert params["messages"][0]["content"]["text"].startswith("## What to look after\n\nMind the docs.")
    remote.reply(question, text(SUMMARY, usage={"input_tokens": 5}, stopReason="end_turn"))
    report = remote.peer.wait(asked)
    assert (report["outcome"], report["strategy"], report["usage"]) == (
        "applied",
        "model",
        {"input_tokens": 5},
    )
    assert b"use sqlite" in remote.view()
    assert remote.phases() == ["start", "changed", "complete"]


def test_a_compaction_with_a_token_tells_that_it_began_and_ended(remote: Remote) -> None:
    asked = remote.ask(workDoneToken="t1")
    begun = remote.peer.notification("$/progress")
    assert (begun["token"], begun["value"]["kind"], begun["value"]["cancellable"]) == ("t1", "begin", True)
    remote.reply(remote.question(), text(SUMMARY))
    remote.peer.wait(asked)
    assert remote.peer.notification("$/progress") == {"token": "t1", "value": {"kind": "end"}}


BAD: dict[str, tuple[Any, str]] = {
    "nothing": (text(""), "emptyExhausted"),
    "a tool call": (
        {"content": {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}},
        "emptyExhausted",
    ),
    "an image": ({"content": {"type": "image", "data": "AAAA"}}, "emptyExhausted"),
    "a refusal": (text("I'm sorry, but I can't help with that."), "invalidOutput"),
    "a Chinese refusal": (text("抱歉,我无法完成。"), "invalidOutput"),
    "an essay": (text(summary(decisions=["why " * 150 for _ in range(2_000)])), "invalidOutput"),
    "a megabyte": (text("## " * 350_000), "invalidOutput"),
    "broken JSON in the text": (text('{"goal": "x", "decisions": ['), "invalidOutput"),
    "lone surrogates alone": (text("\ud83d\ud83d"), "invalidOutput"),
    "an answer of another shape": ({"text": "hello"}, "transientExhausted"),
    "a list": ([1, 2], "transientExhausted"),
    "null": (None, "transientExhausted"),
    "a text that is no text": ({"content": {"type": "text", "text": 7}}, "emptyExhausted"),
}


@behaviour("summary.bad-answers")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_ends_in_the_deterministic_plan_and_is_named(remote: Remote, name: str) -> None:
    answer, reason = BAD[name]
    asked = remote.ask()
    for attempt in (1, 2, 3):
        question = remote.question()
        assert question["params"]["metadata"]["attempt"] == attempt
        remote.reply(question, answer)
    report = remote.peer.wait(asked)
    assert (report["outcome"], report["strategy"]) == ("applied", "deterministic")
    assert (report["failureReason"], report["attempts"]) == (reason, 3)
    assert remote.phases() == ["start", "changed", "complete"]


def test_lone_surrogates_in_a_good_summary_are_replaced_and_survive_a_restart(remote: Remote) -> None:
    asked = remote.ask()
    remote.reply(remote.question(), text(SUMMARY.replace("use sqlite", "use \ud800sqlite")))
    assert remote.peer.wait(asked)["strategy"] == "model"
    view = remote.view()
    assert "use \ufffdsqlite".encode() in view
    remote.restart(kill=False)
    assert remote.view() == view


ERRORS: dict[str, tuple[Message, str, int]] = {
    "no such method": ({"code": -32601, "message": "unknown"}, "noSampler", 1),
    "cancelled": ({"code": -32800, "message": "cancelled"}, "deterministic", 1),
    "the user said no": ({"code": -1, "message": "User rejected sampling request"}, "deterministic", 1),
    "no key": ({"code": -32603, "message": "x", "data": {"status": 401}}, "deterministic", 1),
    "out of money": (
        {"code": -32000, "message": "insufficient_quota", "data": {"status": 429}},
        "deterministic",
        1,
    ),
    "overloaded": (
        {"code": -32000, "message": "Overloaded", "data": {"status": 529}},
        "transientExhausted",
        3,
    ),
    "rate limit": (
        {"code": -32000, "message": "rate limit", "data": {"statusCode": 429}},
        "transientExhausted",
        3,
    ),
    "aborted by the network": ({"code": -32000, "message": "connection aborted"}, "transientExhausted", 3),
    "too long": (
        {
            "code": -32000,
            "message": "prompt is too long: 9000 tokens > 8192 maximum",
            "data": {"status": 400},
        },
        "contextExhausted",
        3,
    ),
}


@behaviour("summary.host-errors")
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_host_is_tried_again_only_where_that_may_help(remote: Remote, name: str) -> None:
    """E §6 [W]: an error that said "aborted" was taken for a cancellation."""
    error, reason, attempts = ERRORS[name]
    asked = remote.ask()
    lengths = []
    for _ in range(attempts):
        question = remote.question()
        lengths.append(len(question["params"]["messages"][0]["content"]["text"]))
        remote.reply(question, error=error)
    report = remote.peer.wait(asked)
    assert (report["outcome"], report["strategy"], report["failureReason"]) == (
        "applied",
        "deterministic",
        reason,
    )
    assert report["attempts"] == attempts
    if reason == "contextExhausted":
        assert lengths[0] > lengths[1] > lengths[2]
        assert report["inputReductions"] >= 2


def configure(remote: Remote, **groups: Any) -> None:
    """Change options while the daemon runs; empty for what it began with."""
    remote.peer.notify("workspace/didChangeConfiguration", {"settings": {"ctxd": groups}})


def test_a_host_that_never_answers_is_given_up_and_told(remote: Remote) -> None:
    configure(remote, summarizer={"retryDelayMs": 0, "timeoutMs": 30})
    asked = remote.ask()
    questions = [remote.question() for _ in range(3)]
    report = remote.peer.wait(asked)
    configure(remote)
    assert (report["failureReason"], report["attempts"]) == ("transientExhausted", 3)
    for question in questions:
        assert remote.peer.notification("$/cancelRequest") == {"id": question["id"]}
    remote.reply(questions[0], text(SUMMARY))
    assert b"use sqlite" not in remote.view()


# The hook


def test_a_hook_blocks_over_the_wire(hooked: Remote) -> None:
    hooked.begin()
    before = hooked.view()
    asked = hooked.ask()
    hooked.reply(hooked.question("hook/preCompact"), {"decision": "block", "reason": "busy testing"})
    report = hooked.peer.wait(asked)
    assert (report["outcome"], report["failureReason"]) == ("blocked", "busy testing")
    assert hooked.view() == before
    assert hooked.phases() == ["start", "complete"]


HOOKS: dict[str, tuple[Callable[[Remote, Message], None], str]] = {
    "crashes": (lambda r, q: r.reply(q, error={"code": -32603, "message": "boom"}), "hookFailed"),
    "answers nonsense": (lambda r, q: r.reply(q, {"decision": "perhaps"}), "hookFailed"),
    "answers nothing": (lambda r, q: r.reply(q, None), "hookFailed"),
    "never answers": (lambda r, q: None, "hookTimeout"),
}


@behaviour("hook.failing")
@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_that_fails_lets_the_compaction_go_on_and_is_named(hooked: Remote, name: str) -> None:
    react, reason = HOOKS[name]
    hooked.begin()
    if reason == "hookTimeout":
        configure(hooked, compaction={"hookTimeoutMs": 30})
    asked = hooked.ask(strategy="deterministic")
    react(hooked, hooked.question("hook/preCompact"))
    report = hooked.peer.wait(asked)
    configure(hooked)
    assert (report["outcome"], report["failureReason"]) == ("applied", reason)
    log = (hooked.root / "log").read_text()
    assert "hook/preCompact" in log
    assert "boom" not in log


# The checkpoint


@behaviour("checkpoint.failed")
def test_a_disk_that_is_full_at_the_checkpoint_leaves_the_old_view(remote: Remote) -> None:
    before = remote.view()
    asked = remote.ask()
    question = remote.question()
    pid = remote.peer.process.pid
    limit = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, limit[1]))
    remote.reply(question, text(SUMMARY))
    with pytest.raises(PeerError) as failed:
        remote.peer.wait(asked)
    assert (failed.value.kind, failed.value.data["cause"]) == ("checkpointFailed", "storageFull")
    assert failed.value.data["hint"]
    assert "sqlite" not in json.dumps(failed.value.data)
    assert remote.view() == before
    assert "changed" not in remote.phases()
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)
    again = remote.ask()
    remote.reply(remote.question(), text(SUMMARY))
    assert remote.peer.wait(again)["strategy"] == "model"
    after = remote.view()
    remote.restart(kill=True)
    assert remote.view() == after != before


@behaviour("checkpoint.killed")
def test_killed_between_sample_and_checkpoint_a_session_is_what_it_was(remote: Remote) -> None:
    before = remote.view()
    remote.ask()
    remote.question()
    remote.restart(kill=True)
    assert remote.view() == before
    asked = remote.ask()
    remote.reply(remote.question(), text(SUMMARY))
    assert remote.peer.wait(asked)["outcome"] == "applied"


@behaviour("summary.host-gone")
def test_a_host_that_leaves_while_it_is_asked_leaves_the_session_as_it_was(remote: Remote) -> None:
    before = remote.view()
    remote.ask()
    remote.question()
    assert remote.peer.leave() == 1
    remote.restart(kill=True)
    assert remote.view() == before


# Cancelled


@behaviour("compaction.cancelled")
def test_cancelled_while_the_host_thinks_nothing_changes_and_the_host_is_told(remote: Remote) -> None:
    before = remote.view()
    asked = remote.ask()
    question = remote.question()
    remote.peer.notify("$/cancelRequest", {"id": asked})
    with pytest.raises(PeerError) as cancelled:
        remote.peer.wait(asked)
    assert cancelled.value.kind == "cancelled"
    assert remote.peer.notification("$/cancelRequest") == {"id": question["id"]}
    remote.reply(question, text(SUMMARY))
    assert remote.view() == before
    assert remote.phases() == ["start", "complete"]
    asked = remote.ask()
    remote.reply(remote.question(), text(SUMMARY))
    assert remote.peer.wait(asked)["strategy"] == "model"


@behaviour("compaction.meanwhile")
def test_messages_that_come_while_the_host_thinks_are_answered_at_once_and_kept(remote: Remote) -> None:
    asked = remote.ask()
    question = remote.question()
    late = [user("late"), call(90), result(90, 100), said("done")]
    remote.call("session/append", messages=late)
    with pytest.raises(PeerError) as busy:
        remote.call("context/compact")
    assert busy.value.kind == "busy"
    remote.reply(question, text(SUMMARY))
    assert remote.peer.wait(asked)["strategy"] == "model"
    messages = [m["message"] for m in remote.call("session/history", view="model")["messages"]]
    assert messages[-4:] == late
