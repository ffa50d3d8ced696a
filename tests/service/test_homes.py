"""Reports F72: worktrees, moved folders, folders below and several roots do not orphan a session."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.service.files.test_restoring import Work, paths
from tests.service.host import LocalHost, Refused
from tests.support.behaviour import behaviour
from tests.support.scripted_host import ScriptedHost
from tests.workspace.test_identity import git, known


@pytest.fixture
def work(host: LocalHost, tmp_path: Path) -> Work:
    made = Work(host, tmp_path / "ws")
    known(made.root)
    return made


def opened(host: LocalHost, root: Path, **fields: Any) -> dict[str, Any]:
    given = {"workspace": root.as_uri(), "sessionId": "s1", "mode": "resume", **fields}
    info: dict[str, Any] = host.call("session/open", **given)
    return info


@behaviour("homes.moved")
def test_f72_a_moved_folder_keeps_its_sessions_and_their_files(
    host: LocalHost, work: Work, tmp_path: Path
) -> None:
    work.put("a.py", "b.py")
    work.read("a.py", "b.py")
    work.talk()
    view = work.session.history_bytes()
    host.reopen()
    moved = work.root.rename(tmp_path / "moved")
    info = opened(host, moved)
    assert info["workspace"] == moved.as_uri()
    work.root, work.session = moved, host.open(workspace=moved.as_uri())
    assert work.session.history_bytes() == view
    assert [row["sessionId"] for row in host.call("session/list", workspace=moved.as_uri())["sessions"]] == [
        "s1"
    ]
    assert paths(work.compact()) == ["b.py", "a.py"]
    assert work.session.call("context/contains", path=str(tmp_path / "ws" / "a.py"))["inContext"]
    found = work.session.call("workspace/readFile", path=str(tmp_path / "ws" / "a.py"))
    assert found["content"] == (moved / "a.py").read_text()
    work.read("a.py")
    host.reopen()
    work.session = host.open(workspace=moved.as_uri())
    recent = work.session.call("workspace/recentFiles")["files"]
    assert [file["path"] for file in recent] == ["a.py", "b.py"]


def test_f72_a_folder_made_anew_where_one_moved_away_gets_nothing_of_it(
    host: LocalHost, work: Work, tmp_path: Path
) -> None:
    host.reopen()
    moved = work.root.rename(tmp_path / "moved")
    opened(host, moved)
    host.reopen()
    work.root.mkdir()
    with pytest.raises(Refused) as refused:
        opened(host, work.root)
    assert refused.value.kind == "sessionNotFound"
    host.open("s2", workspace=work.root.as_uri())
    host.reopen()
    assert opened(host, work.root, sessionId="s2")["workspace"] == work.root.as_uri()
    assert opened(host, moved)["workspace"] == moved.as_uri()


def test_f72_a_folder_cloned_anew_at_the_same_path_keeps_its_sessions(host: LocalHost, work: Work) -> None:
    host.reopen()
    shutil.rmtree(work.root)
    work.root.mkdir()
    assert opened(host, work.root)["sessionId"] == "s1"


@behaviour("homes.worktrees")
def test_f72_worktrees_of_one_repository_share_their_sessions(
    host: LocalHost, work: Work, tmp_path: Path
) -> None:
    git(work.root, "init", "-q")
    work.put("a.py")
    git(work.root, "add", "-A")
    git(work.root, "commit", "-qm", "begin")
    host.reopen()
    opened(host, work.root)
    git(work.root, "worktree", "add", "-q", str(tmp_path / "beside"))
    host.reopen()
    assert opened(host, tmp_path / "beside")["workspace"] == (tmp_path / "beside").as_uri()
    work.session = host.open(workspace=(tmp_path / "beside").as_uri())
    work.root = tmp_path / "beside"
    (work.root / "a.py").write_text("# of this worktree\n")
    work.read("a.py")
    assert work.session.call("workspace/readFile", path="a.py")["content"] == "# of this worktree\n"


@behaviour("homes.below")
def test_f72_a_session_is_resumed_from_a_folder_below_its_own(host: LocalHost, work: Work) -> None:
    git(work.root, "init", "-q")
    work.put("packages/a/x.py")
    host.reopen()
    assert opened(host, work.root / "packages" / "a")["workspace"] == work.root.as_uri()
    with pytest.raises(Refused) as refused:
        opened(host, work.root / "packages", sessionId="s9")
    assert refused.value.kind == "sessionNotFound"


def test_f72_a_new_session_below_is_that_folders_own(host: LocalHost, work: Work) -> None:
    git(work.root, "init", "-q")
    work.put("sub/x.py")
    made = host.open("s2", workspace=(work.root / "sub").as_uri())
    assert made.info["workspace"] == (work.root / "sub").as_uri()


class Roots(ScriptedHost):
    """A host with several folders open."""

    folders: tuple[str, ...] = ()  # type: ignore[assignment]  # a property there


@behaviour("homes.roots")
def test_f72_a_session_is_resumed_from_any_root_of_its_hosts_workspace(folder: Path, tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
    answers = Roots()
    answers.folders = tuple(root.as_uri() for root in roots)
    with LocalHost(folder / "state", answers=answers) as host:
        host.open(workspace=roots[0].as_uri())
        assert opened(host, roots[1])["workspace"] == roots[0].as_uri()
        host.reopen()
        assert opened(host, roots[1])["workspace"] == roots[0].as_uri()
