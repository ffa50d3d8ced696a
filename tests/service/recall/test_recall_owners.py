"""Whose output a handle reaches, and where the bytes lie: forks, rewinds, sessions, files (O §18, §19)."""

from __future__ import annotations

import stat
from typing import Any

import pytest

from tests.service.host import Answer, LocalHost, Refused, Session

GO = {"role": "user", "content": "go"}
LARGE = "a row of something\n" * 80_000


def turn(call_id: str, content: Any, name: str = "Bash") -> list[Answer]:
    call = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def all_of(session: Session, **handle: Any) -> str:
    text, params = "", {"sessionId": session.id, **handle}
    while params is not None:
        page = session.host.call("recall/fetch", **params)
        text, params = text + page["content"], page.get("next")
    return text


def test_o18_the_middle_of_a_cut_output_is_never_lost(host: LocalHost) -> None:
    session = host.open()
    session.append(GO, *turn("c1", LARGE))
    assert len(session.messages("model")[-1]["content"][0]["content"]) < 10_000
    assert all_of(session, toolCallId="c1") == LARGE


def test_o18_a_fork_recalls_what_its_parent_stored(host: LocalHost) -> None:
    session = host.open()
    session.append(GO, *turn("c1", LARGE), *turn("c2", "small"))
    fork = Session(host, session.call("session/fork"))
    assert all_of(fork, toolCallId="c1") == LARGE
    assert fork.fetch("c2")["content"] == "small"
    assert fork.messages("model") == session.messages("model")
    host.reopen()
    fork = host.open(fork.id)
    assert all_of(fork, toolCallId="c1") == LARGE


def test_o18_what_a_rewind_took_away_is_still_recalled(host: LocalHost) -> None:
    session = host.open()
    session.append(GO)
    wish = session.append({"role": "user", "content": "again"}, *turn("c1", "seen"))["messageIds"][0]
    session.call("session/rewind", to=wish, mode="conversation")
    assert session.fetch("c1")["content"] == "seen"


def test_o18_every_id_is_known_after_compactions_and_a_restart(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 60_000})
    for number in range(3):
        for step in range(8):
            session.append(GO, *turn(f"c{number}.{step}", f"{number}.{step} " + "word " * 1_500))
        session.compact(strategy="deterministic")
    host.reopen()
    session = host.open()
    for number in range(3):
        for step in range(8):
            assert session.fetch(f"c{number}.{step}")["content"].startswith(f"{number}.{step} ")


def test_o19_no_handle_reaches_into_another_session(host: LocalHost) -> None:
    """The forms of all sessions lie on one shelf; what is on it is reached only through a session's log."""
    mine, other = host.open("mine"), host.open("other")
    digest = ""
    mine.append(GO, *turn("c1", "mine alone"))
    other.append(GO)
    page = mine.fetch("c1")
    digest = page["digest"]
    for handle in ({"toolCallId": "c1"}, {"digest": digest}, {"digest": digest[:20]}):
        with pytest.raises(Refused) as refused:
            other.fetch(**handle)
        assert refused.value.kind == "notFound"
    answer = other.call("tools/call", name="recall", arguments={"digest": digest})
    assert answer["isError"] is True
    assert other.call("recall/search", query="mine alone")["hits"] == []


@pytest.mark.parametrize(
    "part",
    [
        {"page": 1, "offset": 1},
        {"page": 0, "startLine": 1},
        {"offset": 0, "endLine": 3},
        {"length": 3, "page": 0},
    ],
)
def test_o19_ways_to_name_a_part_that_exclude_each_other_are_refused(
    host: LocalHost, part: dict[str, int]
) -> None:
    session = host.open()
    session.append(GO, *turn("c1", "one\ntwo"))
    with pytest.raises(Refused) as refused:
        session.fetch("c1", **part)
    assert refused.value.kind == "invalidParams"


@pytest.mark.parametrize(
    "handle", [{}, {"toolCallId": "c1", "digest": "x"}, {"messageId": "m", "toolCallId": "c1"}]
)
def test_o19_exactly_one_handle_is_taken(host: LocalHost, handle: dict[str, str]) -> None:
    session = host.open()
    session.append(GO, *turn("c1", "one"))
    with pytest.raises(Refused) as refused:
        session.fetch(**handle)
    assert refused.value.kind == "invalidParams"


def test_o19_one_byte_that_was_changed_is_noticed(host: LocalHost) -> None:
    session = host.open()
    before = set(host.root.rglob("*"))
    session.append(GO, *turn("c1", LARGE))
    (blob,) = [p for p in set(host.root.rglob("*")) - before if len(p.name) == 64]
    data = bytearray(blob.read_bytes())
    data[len(data) // 2] ^= 1
    blob.write_bytes(data)
    host.reopen()
    session = host.open()
    with pytest.raises(Refused) as refused:
        session.fetch("c1")
    assert refused.value.kind == "corrupt"


@pytest.mark.parametrize("name", ["../../evil", "/etc/passwd", "a\x00b", "n" * 4_000])
def test_e12_the_name_of_a_tool_names_no_file(host: LocalHost, name: str) -> None:
    session = host.open()
    before = set(host.root.rglob("*"))
    session.append(GO, *turn("c1", LARGE, name=name))
    made = [path for path in set(host.root.rglob("*")) - before if path.is_file()]
    assert made
    assert all(set(path.name) <= set("0123456789abcdef") for path in made)
    assert all(host.root in path.resolve().parents for path in made)
    assert session.fetch("c1")["toolName"] == name


def test_e12_what_is_not_shown_is_kept_for_its_owner_alone(host: LocalHost) -> None:
    session = host.open()
    session.append(GO, *turn("c1", LARGE))
    session.call("recall/search", query="row")
    for path in host.root.rglob("*"):
        assert stat.S_IMODE(path.lstat().st_mode) & 0o077 == 0, path
