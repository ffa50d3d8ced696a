"""A folder is known again after a rename, worktrees know their repository, and nobody can pretend."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ctxd.workspace.identity import identify, repository_root


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "begin")
    return root


def known(path: Path) -> str:
    found = identify(str(path))
    if found is None:
        pytest.skip("this file system does not tell when a folder was made")
    return found.folder


def test_a_renamed_folder_is_the_same_and_a_copy_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    before = known(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    assert known(tmp_path / "b") == before
    shutil.copytree(tmp_path / "b", tmp_path / "c")
    assert known(tmp_path / "c") != before


def test_a_folder_made_anew_at_the_same_path_is_another(tmp_path: Path) -> None:
    seen = set()
    for _ in range(20):
        (tmp_path / "a").mkdir()
        seen.add(known(tmp_path / "a"))
        (tmp_path / "a").rmdir()
    assert len(seen) == 20


def test_what_is_no_folder_has_no_identity(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert identify(str(tmp_path / "file")) is None
    assert identify(str(tmp_path / "missing")) is None


def test_worktrees_of_a_repository_name_the_same_one(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "beside"))
    main, beside = identify(str(repository)), identify(str(tmp_path / "beside"))
    if main is None or beside is None:
        pytest.skip("this file system does not tell when a folder was made")
    assert main.repository == beside.repository != ""
    assert main.folder != beside.folder


def test_a_folder_that_claims_to_be_a_worktree_is_none(repository: Path, tmp_path: Path) -> None:
    """An archive can hold a `.git` file that names somebody's repository; that one does not name it back."""
    git(repository, "worktree", "add", "-q", str(tmp_path / "beside"))
    evil = tmp_path / "evil"
    evil.mkdir()
    shutil.copy(tmp_path / "beside" / ".git", evil)
    found = identify(str(evil))
    assert found is None or found.repository == ""
    (evil / ".git").unlink()
    (evil / ".git").symlink_to(repository / ".git")
    found = identify(str(evil))
    assert found is None or found.repository == ""


def test_the_repository_of_a_folder_is_at_or_above_it(repository: Path) -> None:
    (repository / "a" / "b").mkdir(parents=True)
    assert repository_root(str(repository / "a" / "b")) == str(repository)
    assert repository_root(str(repository)) == str(repository)
