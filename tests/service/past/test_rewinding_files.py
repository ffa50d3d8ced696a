"""Rewinding the workspace's files: back to what they were when the user spoke, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.host import LocalHost, Refused, Session
from tests.support.behaviour import behaviour

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def project(folder: Path) -> Path:
    made = folder / "project"
    made.mkdir()
    (made / "a.py").write_text("one")
    (made / "b.py").write_text("one")
    return made


@pytest.fixture
def keeper(folder: Path) -> Iterator[LocalHost]:
    """A daemon that keeps snapshots."""
    with LocalHost(folder / "state", {"workspace": {"snapshots": True}}) as made:
        yield made


def begin(host: LocalHost, project: Path) -> Session:
    return host.open(workspace=project.as_uri(), model={"id": "claude-sonnet-4-5"})


def ask(session: Session, text: str) -> str:
    """Say something as the user; the message's id."""
    answer = session.append({"role": "user", "content": text})
    assert answer["warnings"] == []
    message_id: str = answer["messageIds"][0]
    return message_id


def write(session: Session, path: Path, text: str) -> None:
    """A turn in which the agent writes a file and says so."""
    call_id = f"c{session.revision}"
    call = {"type": "tool_use", "id": call_id, "name": "Write", "input": {"file_path": str(path)}}
    path.write_text(text)
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "written"}
    session.append({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})
    prepared = session.prepare()
    session.report(prepared["requestId"], {"role": "assistant", "content": "Done."})


def texts(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(project.iterdir())}


@behaviour("rewind.files")
@pytest.mark.parametrize("mode", ["code", "both"])
def test_files_are_what_they_were_when_the_user_spoke(keeper: LocalHost, project: Path, mode: str) -> None:
    session = begin(keeper, project)
    first = ask(session, "Write a and c.")
    write(session, project / "a.py", "two")
    write(session, project / "c.py", "new")
    ask(session, "Write a again.")
    write(session, project / "a.py", "three")
    before = len(session.messages())
    keeper.reopen()
    session = begin(keeper, project)
    dry = session.call("session/rewind", to=first, mode=mode, dryRun=True)
    assert texts(project) == {"a.py": "three", "b.py": "one", "c.py": "new"}
    done = session.call("session/rewind", to=first, mode=mode)
    changed = [{"path": "a.py", "action": "change"}, {"path": "c.py", "action": "remove"}]
    assert (dry["files"], done["files"]) == (changed, changed)
    assert (dry["applied"], done["applied"]) == (False, True)
    assert texts(project) == {"a.py": "one", "b.py": "one"}
    assert len(session.messages()) == (before if mode == "code" else 0)
    assert done["messages"] == (0 if mode == "code" else before)
    again = session.call("session/rewind", to=first, mode="code") if mode == "code" else None
    assert again is None or again["files"] == []


@behaviour("rewind.files-refused")
def test_files_that_changed_outside_the_session_stop_a_rewind(keeper: LocalHost, project: Path) -> None:
    session = begin(keeper, project)
    first = ask(session, "Write a.")
    write(session, project / "a.py", "two")
    (project / "b.py").write_text("a person's")
    with pytest.raises(Refused) as refused:
        session.call("session/rewind", to=first, mode="both")
    assert (refused.value.kind, refused.value.data["paths"]) == ("revisionConflict", ["b.py"])
    assert texts(project) == {"a.py": "two", "b.py": "a person's"}
    assert len(session.messages()) == 4


@behaviour("rewind.files-refused")
def test_a_persons_edit_of_a_file_that_the_agent_wrote_before_stops_it_too(
    keeper: LocalHost, project: Path
) -> None:
    session = begin(keeper, project)
    first = ask(session, "Write a.")
    write(session, project / "a.py", "two")
    (project / "a.py").write_text("a person's")
    with pytest.raises(Refused) as refused:
        session.call("session/rewind", to=first, mode="code")
    assert refused.value.data["paths"] == ["a.py"]
    assert texts(project)["a.py"] == "a person's"


@behaviour("rewind.files-refused")
@pytest.mark.parametrize("mode", ["code", "both"])
def test_without_a_snapshot_of_then_only_the_conversation_goes_back(
    host: LocalHost, project: Path, mode: str
) -> None:
    session = begin(host, project)
    first = ask(session, "Write a.")
    with pytest.raises(Refused) as refused:
        session.call("session/rewind", to=first, mode=mode)
    assert refused.value.kind == "notFound"
    assert refused.value.data["hint"]
    done: dict[str, Any] = session.call("session/rewind", to=first, mode="conversation")
    assert (done["applied"], done["files"]) == (True, [])


def test_a_snapshot_that_cannot_be_taken_is_a_warning_and_the_append_stands(
    keeper: LocalHost, project: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    session = begin(keeper, project)
    monkeypatch.setenv("PATH", str(folder))
    answer = session.append({"role": "user", "content": "Write a."})
    assert len(answer["messageIds"]) == 1
    assert "git" in answer["warnings"][0]


def test_files_go_back_to_what_they_were_when_something_was_said_into_the_turn(
    keeper: LocalHost, project: Path
) -> None:
    session = begin(keeper, project)
    ask(session, "Write a.")
    write(session, project / "a.py", "two")
    session.call("steer/push", kind="followUp", content="Write it again.")
    (note,) = session.prepare("iteration")["steering"]
    write(session, project / "a.py", "three")
    report = session.call("session/rewind", to=note["messageId"], mode="both")
    assert report["applied"]
    assert texts(project) == {"a.py": "two", "b.py": "one"}
    assert "Write it again." not in str(session.messages())
    assert "Write a." in str(session.messages())
