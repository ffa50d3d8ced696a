"""Sessions as a host sees them: opening, appending once, paging, closing (protocol.md, section 2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service.host import WORKSPACE, Answer, LocalHost, Refused
from tests.support.behaviour import behaviour


def user(text: str) -> Answer:
    return {"role": "user", "content": text}


def said(text: str) -> Answer:
    return {"role": "assistant", "content": text}


@behaviour("append.client-id")
def test_the_same_client_id_appends_once_and_answers_the_same(host: LocalHost) -> None:
    session = host.open()
    first = session.append(user("one"), said("two"), clientId="k1")
    again = session.append(user("one"), said("two"), clientId="k1")
    assert (again["revision"], again["messageIds"]) == (first["revision"], first["messageIds"])
    assert again["warnings"]
    assert session.messages() == [user("one"), said("two")]


@behaviour("sessions.client-id")
@behaviour("append.client-id")
def test_a_client_id_holds_over_a_restart_and_over_later_appends(host: LocalHost) -> None:
    session = host.open()
    first = session.append(user("one"), clientId="k1")
    session.append(said("two"), clientId="k2")
    host.reopen()
    session = host.open()
    again = session.append(user("one"), clientId="k1")
    assert (again["revision"], again["messageIds"]) == (first["revision"], first["messageIds"])
    assert session.messages() == [user("one"), said("two")]


def test_a_client_id_holds_for_an_append_of_many_records(host: LocalHost) -> None:
    session = host.open()
    messages = [user("x" * 3_000_000), said("y"), user("z" * 9_000_000)]
    first = session.append(*messages, clientId="big")
    assert session.append(*messages, clientId="big")["messageIds"] == first["messageIds"]
    assert len(session.lines()) == 3


def test_a_client_id_of_an_append_that_only_repeated_is_still_answered_the_same(host: LocalHost) -> None:
    session = host.open()
    session.append(user("go"), CALL)
    first = session.append(RESULT)
    repeat = session.append(RESULT, clientId="k")
    assert repeat["messageIds"] == first["messageIds"]
    assert session.append(RESULT, clientId="k")["messageIds"] == first["messageIds"]


CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]}


@behaviour("append.expected-revision")
def test_an_expected_revision_lets_only_one_of_two_hosts_in(host: LocalHost) -> None:
    session = host.open()
    revision = session.append(user("one"))["revision"]
    one, other = host.together(
        ("session/append", {"sessionId": "s1", "messages": [said("a")], "expectedRevision": revision}),
        ("session/append", {"sessionId": "s1", "messages": [said("b")], "expectedRevision": revision}),
    )
    assert one["revision"] == revision + 1
    assert isinstance(other, Refused)
    assert (other.kind, other.data["expected"], other.data["actual"]) == (
        "revisionConflict",
        revision,
        revision + 1,
    )
    assert session.messages() == [user("one"), said("a")]


@behaviour("append.twice")
def test_a_result_given_twice_is_dropped_with_a_warning_and_keeps_its_first_id(host: LocalHost) -> None:
    session = host.open()
    session.append(user("go"), CALL)
    first = session.append(RESULT)
    again = session.append(RESULT, said("on"))
    assert again["messageIds"][0] == first["messageIds"][0]
    assert len(again["warnings"]) == 1
    assert session.messages() == [user("go"), CALL, RESULT, said("on")]


def test_a_result_given_twice_in_one_append_is_kept_once(host: LocalHost) -> None:
    session = host.open()
    answer = session.append(user("go"), CALL, RESULT, RESULT)
    assert answer["messageIds"][2] == answer["messageIds"][3]
    assert session.messages() == [user("go"), CALL, RESULT]


def test_a_call_id_a_chat_server_counts_anew_is_another_call(host: LocalHost) -> None:
    session = host.open(dialect="openai-chat")
    call = {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}
    result = {"role": "tool", "tool_call_id": "call_0", "content": "same"}
    turn = [call, result]
    session.append(user("go"), *turn)
    assert session.append(*turn)["warnings"] == []
    assert session.messages() == [user("go"), *turn, *turn]
    assert session.prepare()["messages"] == [user("go"), *turn, *turn]


CHAT_CALL = {"id": "call_0", "type": "function", "function": {"name": "run", "arguments": "{}"}}


@behaviour("history.hidden")
def test_hidden_messages_are_for_the_model_and_not_for_people(host: LocalHost) -> None:
    session = host.open()
    session.append(user("seen"), user("unseen"), said("ok"), meta=[None, {"hidden": True}, None])
    assert session.messages() == [user("seen"), said("ok")]
    assert session.prepare()["messages"] == [user("seen"), user("unseen"), said("ok")]
    assert [line.get("hidden") for line in session.lines("model")] == [None, True, None]
    host.reopen()
    assert host.open().messages() == [user("seen"), said("ok")]


@behaviour("history.pages")
@pytest.mark.parametrize("view", ["transcript", "model"])
def test_history_pages_meet_without_gap_or_overlap(host: LocalHost, view: str) -> None:
    session = host.open()
    meta = [{"hidden": True} if i % 5 == 4 else None for i in range(23)]
    session.append(*[user(str(i)) for i in range(23)], meta=meta)
    whole = session.lines(view)
    for limit in (1, 4, 23, 100):
        pages: list[Answer] = []
        after: dict[str, Any] = {}
        while True:
            page = session.call("session/history", view=view, limit=limit, **after)
            assert len(page["messages"]) <= limit
            pages += page["messages"]
            if "next" not in page:
                break
            after = {"after": page["next"]}
        assert pages == whole


def test_a_host_names_its_own_messages(host: LocalHost) -> None:
    session = host.open()
    answer = session.append(user("one"), said("two"), meta=[{"id": "mine"}, None])
    assert answer["messageIds"][0] == "mine"
    assert session.lines(after="mine")[0]["message"] == said("two")
    assert session.fetch(messageId="mine")["content"] == "one"


@behaviour("append.unknown-members")
def test_unknown_members_survive_byte_for_byte_in_every_answer(host: LocalHost) -> None:
    session = host.open()
    odd = {
        "role": "assistant",
        "content": [{"type": "text", "text": "hi", "big": 12345678901234567890123, "n": None, "f": 1.10}],
        "thoughtSignature": "\\u00e9 \u2028",
    }
    session.append(user("go"), odd)
    assert b"12345678901234567890123" in session.history_bytes("transcript")
    assert session.messages() == [user("go"), odd]
    assert session.prepare()["messages"] == [user("go"), odd]
    host.reopen()
    host.open()
    assert session.messages("model") == [user("go"), odd]
    assert b'"f": 1.1' in session.history_bytes("model")


def test_update_changes_what_is_given_and_leaves_the_rest(host: LocalHost) -> None:
    tools = [{"name": "run", "input_schema": {"type": "object"}, "odd": None}]
    session = host.open(system="be brief", tools=tools, model={"id": "claude-sonnet-4-5"})
    before = session.project()
    info = session.call("session/update", model={"id": "claude-haiku-4-5", "contextWindow": 30_000})
    assert info["model"]["id"] == "claude-haiku-4-5"
    assert info["window"] == {"value": 30_000, "source": "host"}
    made = session.prepare()
    assert (made["system"], made["tools"]) == ("be brief", tools)
    assert made["fingerprint"] != before["fingerprint"]
    session.call("session/update", system=[{"type": "text", "text": "be long"}], tools=[])
    host.reopen()
    made = host.open(dialect=None).prepare()
    assert made["system"] == [{"type": "text", "text": "be long"}]
    assert "tools" not in made
    assert made["projection"]["window"] == 30_000


def test_an_update_that_says_nothing_new_writes_nothing(host: LocalHost) -> None:
    session = host.open(system="s", model={"id": "gpt-4o"})
    assert session.call("session/update", system="s", model={"id": "gpt-4o"})["revision"] == 1


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ({"id": "claude-sonnet-4-5", "contextWindow": 12_345}, {"value": 12_345, "source": "host"}),
        ({"id": "claude-sonnet-4-5", "contextWindow": 0}, {"value": 1_000_000, "source": "catalog"}),
        ({"id": "my-own"}, {"value": 77_000, "source": "host"}),
        ({"id": "nobody-knows-this-model"}, {"value": None, "source": "unknown"}),
        (None, {"value": None, "source": "unknown"}),
    ],
)
def test_a_window_is_the_hosts_or_the_catalogs_or_unknown(
    host: LocalHost, model: Answer | None, window: Answer
) -> None:
    host.configure({"model": {"windows": {"my-own": 77_000}}})
    session = host.open(model=model)
    if window["source"] == "catalog":
        window["value"] = session.info["window"]["value"]
        assert window["value"] >= 200_000
    assert session.info["window"] == window
    projection = session.project()
    assert projection["window"] == window["value"]
    assert (projection["phase"] == "unknown") == (window["value"] is None)


def test_a_workspace_is_the_same_with_a_slash_at_its_end_and_through_a_link(
    host: LocalHost, folder: Path
) -> None:
    real = folder / "real"
    real.mkdir()
    link = folder / "link"
    link.symlink_to(real)
    host.open(workspace=real.as_uri()).append(user("one"))
    for uri in (real.as_uri() + "/", link.as_uri(), str(real)):
        assert host.open(workspace=uri).messages() == [user("one")]
        listed = host.call("session/list", workspace=uri)["sessions"]
        assert [row["sessionId"] for row in listed] == ["s1"]
        host.call("session/close", sessionId="s1")


def test_a_session_that_could_not_be_created_leaves_nothing_behind(host: LocalHost) -> None:
    with pytest.raises(Refused) as refused:
        host.open(system=[{"type": "image"}])
    assert refused.value.kind == "invalidParams"
    assert host.open(mode="create").info["revision"] == 1


def test_a_session_that_only_reads_writes_once_it_is_opened_to_write(host: LocalHost) -> None:
    host.open().append(user("one"))
    host.call("session/close", sessionId="s1")
    reading = host.open(dialect=None, readOnly=True)
    assert reading.info["access"] == "readOnly"
    with pytest.raises(Refused) as refused:
        reading.append(said("two"))
    assert refused.value.kind == "readOnly"
    writing = host.open(dialect=None)
    assert writing.info["access"] == "write"
    writing.append(said("two"))
    assert writing.messages() == [user("one"), said("two")]


def test_sessions_are_listed_newest_first_open_or_not(host: LocalHost) -> None:
    for name in ("a", "b", "c"):
        host.open(name).append(user(name))
    host.call("session/close", sessionId="b")
    host.call("session/append", sessionId="a", messages=[said("later")])
    rows = host.call("session/list")["sessions"]
    assert rows[0]["sessionId"] == "a"
    assert {row["sessionId"] for row in rows} == {"a", "b", "c"}
    host.reopen()
    again = host.call("session/list", workspace=WORKSPACE)["sessions"]
    assert [(r["sessionId"], r["revision"]) for r in again] == [(r["sessionId"], r["revision"]) for r in rows]
    assert host.call("session/list", workspace="file:///elsewhere")["sessions"] == []


def test_a_list_without_its_index_is_read_from_the_logs(host: LocalHost) -> None:
    host.open("a", model={"id": "gpt-4o"}).append(user("one"))
    host.close()
    for path in host.root.glob("index.sqlite3*"):
        path.unlink()
    host.start_again()
    (row,) = host.call("session/list")["sessions"]
    assert (row["sessionId"], row["revision"], row["model"]["id"]) == ("a", 2, "gpt-4o")


def test_a_list_after_a_crash_has_what_was_acknowledged(host: LocalHost, folder: Path) -> None:
    session = host.open("a")
    session.append(user("one"), said("two"))
    with host.copy(folder / "crashed") as other:
        (row,) = other.call("session/list")["sessions"]
        assert row["revision"] == session.revision == 2
        assert other.call("session/list")["sessions"] == [row]


def test_two_workspaces_may_each_have_a_session_of_one_name(host: LocalHost) -> None:
    for place in ("one", "two"):
        opened = host.open("main", workspace=f"file:///{place}")
        opened.append(user(place))
        opened.call("session/close")
    rows = host.call("session/list")["sessions"]
    assert {row["workspace"] for row in rows} == {"file:///one", "file:///two"}
    assert host.open("main", workspace="file:///two").messages() == [user("two")]
    rows = host.call("session/list")["sessions"]
    assert {row["workspace"] for row in rows} == {"file:///one", "file:///two"}
    assert len(host.call("session/list", workspace="file:///one")["sessions"]) == 1


def test_sessions_open_and_are_listed_without_an_index_to_write_to(host: LocalHost) -> None:
    host.open("a").append(user("one"))
    host.close()
    for path in host.root.glob("index.sqlite3*"):
        path.unlink()
    (host.root / "index.sqlite3").mkdir()
    host.start_again()
    assert host.open("a").messages() == [user("one")]
    assert [row["sessionId"] for row in host.call("session/list")["sessions"]] == ["a"]


def test_sessions_that_were_closed_hold_no_descriptor(host: LocalHost) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not list a process's descriptors")
    host.open("warm").call("session/close")
    before = open_files()
    for number in range(20):
        session = host.open(f"s{number}")
        session.append({"role": "user", "content": "Hello."})
        session.call("session/close")
    assert open_files() == before
