"""`context/contains`: nobody should say "see above" of what is not above any more."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from tests.reports.checks import talk
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 200_000}
BODY = "def area(r):\n    return 3.14 * r * r\n" * 40
DIGEST = "sha256:" + hashlib.sha256(BODY.encode()).hexdigest()


@pytest.fixture
def session(host: LocalHost) -> Session:
    opened = host.open(model=MODEL)
    opened.append({"role": "user", "content": "go"})
    return opened


def ran(
    session: Session, call_id: str, text: str, name: str = "Read", *, error: bool = False, **given: Any
) -> str:
    """A call with its result; the message id of the result."""
    call = {"type": "tool_use", "id": call_id, "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": error}
    ids: list[str] = session.append(
        {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}
    )["messageIds"]
    return ids[1]


def contains(session: Session, **asked: str) -> Answer:
    found: Answer = session.call("context/contains", **asked)
    return found


def compact(session: Session) -> None:
    talk(session, 10)
    assert session.compact(strategy="deterministic", targetTokens=800)["outcome"] == "applied"


@behaviour("contains.outputs")
def test_an_output_is_in_context_until_it_is_compacted(session: Session) -> None:
    message_id = ran(session, "c1", BODY, file_path="/a.py")
    for handle in ("c1", DIGEST, message_id):
        assert contains(session, handle=handle) == {"inContext": True, "since": message_id}
    compact(session)
    for handle in ("c1", DIGEST, message_id):
        assert contains(session, handle=handle) == {"inContext": False, "reason": "compacted"}


def test_an_elided_output_says_why_it_is_not_shown(session: Session) -> None:
    ran(session, "c1", "x" * 200_000, name="Bash", command="cat big")
    assert contains(session, handle="c1") == {"inContext": False, "reason": "spilled"}


def test_the_same_bytes_shown_elsewhere_are_in_context(session: Session) -> None:
    ran(session, "c1", BODY, file_path="/a.py")
    compact(session)
    newer = ran(session, "c2", BODY, file_path="/b.py")
    assert contains(session, handle=DIGEST)["since"] == newer
    assert contains(session, handle="c1")["inContext"] is False


@pytest.mark.parametrize("handle", ["nobody", "sha256:" + "0" * 64])
def test_an_unknown_handle_is_not_found(session: Session, handle: str) -> None:
    with pytest.raises(Refused) as refused:
        contains(session, handle=handle)
    assert refused.value.kind == "notFound"


@pytest.mark.parametrize("asked", [{}, {"handle": "a", "path": "b"}])
def test_one_thing_is_asked_for(session: Session, asked: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        contains(session, **asked)
    assert refused.value.kind == "invalidParams"


def test_a_file_is_in_context_by_its_newest_whole_read(session: Session) -> None:
    assert contains(session, path="/somewhere/project/a.py") == {"inContext": False, "reason": "neverRead"}
    ran(session, "c1", BODY, file_path="a.py")
    newest = ran(session, "c2", BODY + "# more", file_path="./a.py")
    for path in ("a.py", "/somewhere/project/a.py", "src/../a.py"):
        assert contains(session, path=path) == {"inContext": True, "since": newest}
    compact(session)
    assert contains(session, path="a.py") == {"inContext": False, "reason": "compacted"}


@behaviour("contains.files")
def test_a_written_file_must_be_read_again(session: Session) -> None:
    ran(session, "c1", BODY, file_path="/a.py")
    ran(session, "c2", "ok", name="Edit", file_path="/a.py")
    assert contains(session, path="/a.py") == {"inContext": False, "reason": "changed"}
    newest = ran(session, "c3", BODY, file_path="/a.py")
    assert contains(session, path="/a.py") == {"inContext": True, "since": newest}


def test_a_failed_write_changed_nothing_and_one_that_waits_may_have(session: Session) -> None:
    read = ran(session, "c1", BODY, file_path="/a.py")
    ran(session, "c2", "no match", name="Edit", error=True, file_path="/a.py")
    assert contains(session, path="/a.py") == {"inContext": True, "since": read}
    call = {"type": "tool_use", "id": "c3", "name": "Write", "input": {"file_path": "/a.py"}}
    session.append({"role": "assistant", "content": [call]})
    assert contains(session, path="/a.py") == {"inContext": False, "reason": "changed"}


def test_a_stub_is_not_the_file(session: Session) -> None:
    read = ran(session, "c1", BODY, file_path="/a.py")
    ran(session, "c2", "[FILE_UNCHANGED] use the previous result", file_path="/a.py")
    assert contains(session, path="/a.py") == {"inContext": True, "since": read}
    compact(session)
    ran(session, "c3", "[FILE_UNCHANGED] use the previous result", file_path="/a.py")
    assert contains(session, path="/a.py")["inContext"] is False


def test_an_error_is_not_the_file(session: Session) -> None:
    ran(session, "c1", "ENOENT", error=True, file_path="/a.py")
    assert contains(session, path="/a.py") == {"inContext": False, "reason": "neverRead"}


def test_a_part_of_a_file_is_said_to_be_a_part(session: Session) -> None:
    part = ran(session, "c1", BODY[:400], file_path="/a.py", offset=1, limit=10)
    assert contains(session, path="/a.py") == {"inContext": False, "since": part, "reason": "partial"}


def test_a_restart_changes_no_answer(host: LocalHost, session: Session) -> None:
    ran(session, "c1", BODY, file_path="/a.py")
    ran(session, "c2", "ok", name="Edit", file_path="/b.py")
    asked: list[dict[str, str]] = [{"handle": "c1"}, {"path": "/a.py"}, {"path": "/b.py"}]
    before = [contains(session, **one) for one in asked]
    host.reopen()
    assert [contains(host.open(), **one) for one in asked] == before
