"""The model's tools for memory and files: what a model asks, word for word, and what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service.host import LocalHost, Session
from tests.support.behaviour import behaviour
from tests.support.credentials import credentials


@pytest.fixture
def session(host: LocalHost, tmp_path: Path) -> Session:
    (tmp_path / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 5_001)))
    return host.open(workspace=tmp_path.as_uri())


def call(session: Session, name: str, **arguments: Any) -> str:
    answer = session.call("tools/call", name=name, arguments=arguments)
    assert not answer["isError"], answer
    said: str = answer["content"]
    return said


def refusal(session: Session, name: str, **arguments: Any) -> str:
    answer = session.call("tools/call", name=name, arguments=arguments)
    assert answer["isError"], answer
    said: str = answer["content"]
    return said


def place(host: LocalHost) -> str:
    workspace: str = host.call("session/list")["sessions"][0]["workspace"]
    return workspace


@behaviour("tools.all")
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_all_tools_are_declared_in_every_dialect(host: LocalHost, dialect: str) -> None:
    declared = str(host.call("tools/list", dialect=dialect)["tools"])
    for name in ("recall", "recall_memory", "memory_read", "memory_write", "read_file"):
        assert f"'{name}'" in declared


@behaviour("tools.memory")
def test_what_a_model_remembers_another_session_reads_and_finds(host: LocalHost, session: Session) -> None:
    assert "Nothing is remembered" in call(session, "memory_read")
    said = call(session, "memory_write", topic="build", content="Use pnpm, never npm.")
    assert said.startswith("Remembered.")
    assert "already: 1" in call(session, "memory_write", file="build", text="Use pnpm, never npm.")
    other = host.open("s2", workspace=place(host))
    assert "build" in call(other, "memory_read")
    assert "Use pnpm, never npm." in call(other, "memory_read", topic="build")
    found = call(other, "recall_memory", query="pnpm or npm")
    assert "Use pnpm, never npm." in found
    assert "Background" in found
    assert call(other, "recall_memory", query="quaternions") == "Nothing is remembered about that."
    (entry,) = host.call("memory/read", workspace=place(host), topic="build")["entries"]
    assert "model" in entry.values()
    assert "s1" in entry.values()


@behaviour("tools.memory")
def test_a_long_topic_is_read_in_parts_that_leave_nothing_out(host: LocalHost, session: Session) -> None:
    lines = [f"Fact {number} about 第{number}部分." for number in range(300)]
    host.call("memory/write", workspace=place(host), topic="long", content="\n".join(lines))
    host.configure({"recall": {"pageBytes": 3_000}})
    whole = host.call("memory/read", workspace=place(host), topic="long")["text"]
    read, offset = "", 0
    while True:
        part, _, note = call(session, "memory_read", topic="long", offset=offset).rpartition(
            "\n[memory_read: "
        )
        read += part
        if "the end" in note:
            break
        offset = int(note.rpartition("offset=")[2].rstrip("]"))
    assert read == whole
    assert "below" in refusal(session, "memory_read", topic="long", offset=10**6)


@behaviour("tools.memory")
def test_a_model_is_told_what_it_may_not_remember_and_which_topics_there_are(session: Session) -> None:
    secret = credentials()[0].secret
    said = refusal(session, "memory_write", topic="keys", content=f"the key is {secret}")
    assert "secret" in said
    assert secret not in said
    assert refusal(session, "memory_read", topic="keys") == "There is no such topic. Topics: none."
    call(session, "memory_write", topic="build", content="Use pnpm.")
    assert refusal(session, "memory_read", topic="keys").endswith("Topics: MEMORY, build.")
    assert "topic" in refusal(session, "memory_write", topic="../x", content="no")


@behaviour("tools.files")
def test_a_file_is_read_by_ranges_that_fit(host: LocalHost, session: Session) -> None:
    host.configure({"recall": {"pageBytes": 4_000}})
    said = call(session, "read_file", path="a.py")
    assert said.startswith("[read_file: a.py has 5000 lines")
    assert "Read startLine=1, endLine=" in said
    part = call(session, "read_file", file="a.py", startLine="10", endLine=12)
    assert part.startswith("line 10\nline 11\nline 12\n[read_file: a.py, lines 10-12 of 5000")
    for path in ("../secret", "/etc/passwd", ".env"):
        assert refusal(session, "read_file", path=path)


@behaviour("tools.files")
def test_secrets_in_a_file_are_cut_out_before_a_model_reads_it(session: Session, tmp_path: Path) -> None:
    secret = credentials()[0].secret
    (tmp_path / "notes.txt").write_text(f"found {secret} in the log\n")
    said = call(session, "read_file", path="notes.txt")
    assert secret not in said
    assert "[REDACTED:" in said
