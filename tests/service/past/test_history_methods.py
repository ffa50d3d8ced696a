"""Fork, rewind, export, search, health and delete: what a session's past can be asked for and turned into."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.service.host import LocalHost, Refused

ASK = "Never touch the vendor folder. 请不要修改配置文件。"


def turn(number: int, words: int = 500) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": f"step {number}"}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"output {number}\n" * words}
    return [
        {"role": "user", "content": f"Do step {number}."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"Step {number} is done."},
    ]


def begin(host: LocalHost, turns: int = 6) -> Any:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 20_000})
    session.append({"role": "user", "content": ASK}, {"role": "assistant", "content": "Understood."})
    for number in range(turns):
        session.append(*turn(number))
    return session


def view(host: LocalHost, session_id: str) -> list[Any]:
    answer = host.call("session/history", sessionId=session_id, view="model")
    return [line["message"] for line in answer["messages"]]


def transcript(host: LocalHost, session_id: str) -> list[Any]:
    return host.call("session/history", sessionId=session_id)["messages"]


def test_a_fork_shows_what_its_parent_shows_and_goes_its_own_way(host: LocalHost) -> None:
    session = begin(host)
    assert session.call("context/compact", strategy="deterministic")["outcome"] == "applied"
    session.append(*turn(7))
    session.call("context/prepare", phase="turnStart")
    fork = session.call("session/fork")
    assert fork["sessionId"] != "s1"
    assert view(host, fork["sessionId"]) == view(host, "s1")
    assert [m["messageId"] for m in transcript(host, fork["sessionId"])] == [
        m["messageId"] for m in transcript(host, "s1")
    ]
    before = view(host, "s1")
    host.call("session/append", sessionId=fork["sessionId"], messages=turn(8))
    assert view(host, "s1") == before
    again = host.reopen()
    host.open()
    host.call("session/open", workspace=fork["workspace"], sessionId=fork["sessionId"], mode="resume")
    assert len(transcript(again, fork["sessionId"])) == len(transcript(again, "s1")) + 4


def test_a_fork_ends_at_the_message_it_was_asked_for(host: LocalHost) -> None:
    session = begin(host)
    wanted = transcript(host, "s1")[9]["messageId"]
    fork = session.call("session/fork", at=wanted)
    assert transcript(host, fork["sessionId"])[-1]["messageId"] == wanted
    with pytest.raises(Refused) as caught:
        session.call("session/fork", at="nobody")
    assert caught.value.kind == "notFound"


def test_a_rewind_takes_the_conversation_back_and_keeps_what_left_for_recall(host: LocalHost) -> None:
    session = begin(host)
    early = view(host, "s1")[:6]
    target = transcript(host, "s1")[6]["messageId"]
    session.call("context/compact", strategy="deterministic")
    dry = session.call("session/rewind", to=target, mode="conversation", dryRun=True)
    assert (dry["applied"], dry["checkpoints"], dry["messages"]) == (False, 1, 20)
    assert len(transcript(host, "s1")) == 26
    done = session.call("session/rewind", to=target, mode="conversation")
    assert done["applied"]
    assert done["tokensAfter"] == dry["tokensAfter"] < done["tokensBefore"]
    assert view(host, "s1") == early
    assert len(transcript(host, "s1")) == 6
    assert session.call("recall/fetch", toolCallId="c5")["content"].startswith("output 5")
    host.reopen()
    session = host.open()
    assert view(host, "s1") == early
    session.append({"role": "user", "content": "Another way then."})
    assert len(transcript(host, "s1")) == 7


@pytest.mark.parametrize(
    ("to", "mode", "kind"),
    [("nobody", "conversation", "notFound"), (1, "conversation", "invalidParams"), (0, "code", "notFound")],
)
def test_a_rewind_that_cannot_be_changes_nothing(host: LocalHost, to: Any, mode: str, kind: str) -> None:
    session = begin(host, turns=1)
    target = transcript(host, "s1")[to]["messageId"] if isinstance(to, int) else to
    before = view(host, "s1")
    with pytest.raises(Refused) as caught:
        session.call("session/rewind", to=target, mode=mode)
    assert caught.value.kind == kind
    assert view(host, "s1") == before


def test_exports_hold_the_whole_transcript(host: LocalHost) -> None:
    session = begin(host, turns=2)
    messages = [m["message"] for m in transcript(host, "s1")]
    assert json.loads(session.call("session/export", format="native")["content"]) == messages
    lines = session.call("session/export", format="jsonl")["content"].splitlines()
    assert [json.loads(line)["message"] for line in lines] == messages
    text = session.call("session/export", format="markdown")["content"]
    assert ASK in text
    assert "**Call `Bash`** `c0`" in text


def test_a_fence_in_a_tool_output_cannot_end_the_fence_of_an_export(host: LocalHost) -> None:
    session = host.open()
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "```\n# not a heading\n````"}
    session.append(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    )
    assert "`````\n```\n# not a heading" in session.call("session/export", format="markdown")["content"]


def test_what_was_said_is_found_in_english_and_chinese_and_not_when_it_was_rewound(host: LocalHost) -> None:
    session = begin(host)
    for query in ("vendor folder", "修改配置"):
        hits = session.call("session/search", query=query)["hits"]
        assert hits[0]["role"] == "user"
        assert hits[0]["messageId"] == transcript(host, "s1")[0]["messageId"]
    assert session.call("session/search", query="submarine")["hits"] == []
    gone = transcript(host, "s1")[22]["messageId"]
    assert session.call("session/search", query="step 5")["hits"]
    session.call("session/rewind", to=gone, mode="conversation")
    assert gone not in [hit["messageId"] for hit in session.call("session/search", query="step 5")["hits"]]
    everywhere = host.call("session/search", workspace=session.info["workspace"], query="vendor")
    assert everywhere["hits"][0]["sessionId"] == "s1"


def test_health_measures_what_is_on_disk(host: LocalHost) -> None:
    session = begin(host, turns=1)
    health = session.call("session/health")
    assert (health["status"], health["durable"], health["access"], health["unreadable"]) == (
        "clean",
        True,
        "write",
        0,
    )
    assert health["bytes"] > 1000


def test_a_deleted_session_is_gone_from_disk_and_list(host: LocalHost) -> None:
    session = begin(host, turns=1)
    session.call("session/delete")
    assert host.call("session/list")["sessions"] == []
    assert not [path for path in host.root.rglob("*") if "s1" in path.name]
    with pytest.raises(Refused) as caught:
        host.open(mode="resume")
    assert caught.value.kind == "sessionNotFound"
    host.open(mode="create")
