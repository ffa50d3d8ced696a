"""Public reports, section F: storage, concurrency, platform. Each test has the input of its report."""

from __future__ import annotations

import stat
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.reports.checks import MODEL, calls, compact, results, said, sent, talk, user
from tests.service.host import LocalHost, Refused, Session
from tests.support.credentials import credentials, innocents


def newest_segment(root: Path) -> Path:
    return max(root.rglob("s1.*.jsonl"))


TAILS: list[tuple[str, bytes]] = [
    ("a torn record", b'{"a":1,"b":"tr'),
    ("a character cut in its middle", '{"a":"é'.encode()[:-1]),
    ("a run of NULs", b"\0" * 500),
    ("a run of NULs as a line", b"\0" * 500 + b"\n"),
    ("a malformed line", b"{not json}\n"),
    ("two objects on one line", b'{"a":1}{"b":2}\n'),
]


@pytest.mark.parametrize("tail", [t[1] for t in TAILS], ids=[t[0] for t in TAILS])
def test_f66_what_a_crash_leaves_at_the_end_is_skipped_reported_and_never_fused(
    host: LocalHost, tail: bytes
) -> None:
    host.open().append(user("before"))
    host.close()
    path = newest_segment(host.root)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(tail)
    host.start_again()
    session = host.open()
    assert session.info["access"] == "write"
    (span,) = session.info["recovered"]
    assert (span["offset"], span["length"], span["reason"]) == (size, len(tail), "torn")
    session.append(said("after"))
    for _ in range(2):
        assert session.messages() == [user("before"), said("after")]
        host.reopen()
        session = host.open()
        assert "recovered" not in session.info
    assert tail in path.read_bytes()


def test_f66_half_a_record_is_not_taken_and_the_next_append_is_whole(host: LocalHost) -> None:
    """The last record cut at some of its bytes, as a power cut does before it is acknowledged."""
    host.open().append(user("before"))
    host.call("session/append", sessionId="s1", messages=[said("last é words")])
    host.close()
    path = newest_segment(host.root)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for cut in (start + 1, whole.index("é".encode()) + 1, len(whole) - 2):
        path.write_bytes(whole[:cut])
        host.start_again()
        session = host.open()
        assert session.messages() == [user("before")]
        session.append(said(f"instead {cut}"))
        host.reopen()
        assert host.open().messages() == [user("before"), said(f"instead {cut}")]
        host.close()
        for later in host.root.rglob("s1.*.jsonl"):
            if later > path:
                later.unlink()
    host.start_again()


def test_f66_a_bad_line_in_the_middle_hides_nothing_behind_it(host: LocalHost) -> None:
    session = host.open()
    for text in ("one", "two", "three"):
        session.append(user(text))
    host.close()
    path = newest_segment(host.root)
    path.write_bytes(path.read_bytes().replace(b'"two"', b"\0" * 5))
    host.start_again()
    session = host.open()
    assert session.info["access"] == "readOnly"
    assert session.messages() == [user("one"), user("three")]
    with pytest.raises(Refused) as refused:
        session.append(user("four"))
    assert refused.value.kind == "damaged"


def test_f66_text_full_of_line_ends_and_nulls_is_one_record(host: LocalHost) -> None:
    odd = user("a\nb\r\nc\x00d\u2028e\x85f\u2029g")
    host.open().append(odd, said("x"))
    host.reopen()
    assert host.open().messages() == [odd, said("x")]


@pytest.fixture
def other(host: LocalHost) -> LocalHost:
    return LocalHost(host.root)


def test_f68_of_two_daemons_one_writes_and_the_other_is_told_by_whom(
    host: LocalHost, other: LocalHost
) -> None:
    with other:
        first = host.open()
        first.append(user("one"))
        second = other.open()
        assert (second.info["access"], second.info["holder"]["client"]) == ("readOnly", "tests")
        for _ in range(3):
            with pytest.raises(Refused) as refused:
                second.append(said("two"))
            assert refused.value.kind == "sessionLocked"
            first.append(said("mine"))
        assert second.messages() == first.messages()
        assert second.project() == first.project()
        host.call("session/close", sessionId="s1")
        second = other.open()
        assert second.info["access"] == "write"
        second.append(said("two"))
    assert host.open().messages() == [user("one"), *[said("mine")] * 3, said("two")]


def test_f68_an_append_says_which_revision_it_was_made_for(host: LocalHost) -> None:
    session = host.open()
    head = session.append(user("one"))["revision"]
    session.append(said("two"), expectedRevision=head)
    with pytest.raises(Refused) as refused:
        session.append(said("two"), expectedRevision=head)
    assert (refused.value.data["expected"], refused.value.data["actual"]) == (head, head + 1)


def test_f69_the_same_bytes_stored_at_once_share_no_temporary_file(host: LocalHost) -> None:
    big = user("x" * 2_000_000)
    for n in range(6):
        host.open(f"s{n}")
    answers = host.together(
        *[("session/append", {"sessionId": f"s{n}", "messages": [big], "clientId": "k"}) for n in range(6)]
    )
    assert [answer["durable"] for answer in answers] == [True] * 6
    assert len([p for p in host.root.rglob("objects/**/*") if p.is_file()]) == 1
    host.reopen()
    assert [host.open(f"s{n}").messages() for n in range(6)] == [[big]] * 6


def test_f70_opening_takes_memory_for_facts_and_not_for_bodies(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    for n in range(60):
        session.append(
            user(f"ask {n}"), calls(f"c{n}"), results((f"c{n}", f"{n} " + "word " * 60_000)), said("ok")
        )
    host.close()
    bodies = sum(p.stat().st_size for p in host.root.rglob("*") if p.is_file())
    assert bodies > 17_000_000
    tracemalloc.start()
    try:
        host.start_again()
        session = host.open(dialect=None)
        session.project()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < bodies // 8
    assert session.fetch("c7", offset=0, length=10)["content"] == "7 word wor"


def test_f73_an_instruction_file_that_is_a_link_is_refused_with_a_reason_and_not_in_silence(
    host: LocalHost, tmp_path: Path
) -> None:
    """`AGENTS.md` pointed at a key file, and went into the prompt."""
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "config").write_text("Host secret-host")
    (project / "AGENTS.md").symlink_to(tmp_path / "config")
    (project / "CLAUDE.md").symlink_to("notes.md")
    (project / "notes.md").write_text("Run make.")
    made = host.call("prompt/build", workspace=project.as_uri(), base="Be careful.")
    assert made["text"] == "Be careful."
    assert [(layer.get("path"), layer.get("skipped")) for layer in made["layers"]] == [
        (None, None),
        ("CLAUDE.md", "symlinkRefused"),
        ("AGENTS.md", "symlinkRefused"),
    ]


def test_f75_what_is_stored_is_for_its_owner_alone(host: LocalHost) -> None:
    session = host.open()
    session.append(user("x" * 2_000_000), said("y"))
    compact(session)
    host.call("session/list")
    for path in host.root.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path.name


def test_f75_a_secret_a_tool_printed_is_neither_stored_nor_exported_nor_recalled(host: LocalHost) -> None:
    session = host.open()
    printed = {c.kind: c for c in credentials()}
    env = "\n".join(
        printed[kind].line for kind in ("github ghp_", "aws secret", "password in env", "database url")
    )
    answer = session.append(user("env"), calls("t1"), results(("t1", env)))
    assert sum(one["count"] for one in answer["redacted"]) == 4
    exports = [session.call("session/export", format=form) for form in ("jsonl", "markdown", "native")]
    recalled = session.fetch("t1")
    assert recalled["redactions"] == 4
    left = [path.read_bytes() for path in host.root.rglob("*") if path.is_file()]
    for kind in ("github ghp_", "aws secret", "password in env", "database url"):
        secret = printed[kind].secret
        assert secret not in str((exports, recalled, answer, session.messages()))
        assert not any(secret.encode() in data for data in left)


def test_f75_what_only_looks_random_is_not_redacted(host: LocalHost) -> None:
    session = host.open()
    printed = "\n".join(innocents())
    answer = session.append(user("git log"), calls("t1"), results(("t1", printed)))
    assert answer["redacted"] == []
    assert session.fetch("t1")["content"] == printed


def test_f77_the_cached_prefix_is_rewritten_in_batches_that_say_what_they_cost(session: Session) -> None:
    session.append(user("begin"), said("yes"))
    before = sent(session)
    changes = 0
    for n in range(40):
        talk(session, 1, 900, name=f"n{n}x")
        made = session.prepare("turnStart")
        if made["report"]["promptReplaced"] and made["report"]["stages"][0]["stage"] != "handoff":
            changes += 1
            assert made["cache"]["invalidatedAt"] == made["cache"]["stablePrefixMessages"] < len(before)
            cost = made["cache"]["cost"]
            assert cost["savedTokens"] > 0
            assert cost["writeTokens"] > 0
        else:
            assert made["messages"][: len(before)] == before
        before = made["messages"]
        usage = {"input_tokens": made["projection"]["tokens"], "output_tokens": 2}
        session.report(made["requestId"], said("ok"), usage=usage)
    assert 1 <= changes <= 8


@pytest.fixture
def session(host: LocalHost) -> Session:
    return host.open(model=MODEL)


def test_f76_a_correction_is_never_what_the_index_cuts(host: LocalHost, folder: Path) -> None:
    workspace = folder.as_uri()

    def call(method: str, **params: object) -> Any:
        return host.call(f"memory/{method}", workspace=workspace, **params)

    old = "\n".join(f"- note {n} {'about the build ' * 8}" for n in range(400))
    first = call("write", topic="MEMORY", content=f"# Project\n{old}\n- The staging port is 8443.")
    assert first["headroom"] == {"lines": 0, "bytes": 0, "tokens": 0}
    later = call("write", topic="MEMORY", content="The staging port is 9000.")
    assert later["superseded"] == 1
    index = call("index")
    shown = index["text"]
    assert "The staging port is 9000." in shown
    assert "8443" not in shown
    assert shown.startswith("# Project\n")
    assert index["bytes"] <= 25_600
    whole = call("read", topic="MEMORY")["text"].split("\n")
    left = [n for run in index["omitted"] for n in range(run["first"], run["last"] + 1)]
    assert index["omittedLines"] == len(left)
    assert f"[Left out of MEMORY.md: {len(left)} lines, " in shown
    assert {n for n, line in enumerate(whole, 1) if line and line not in shown} == set(left)
    assert any("8443" in whole[n - 1] and whole[n - 1].startswith("- ~~") for n in left)
