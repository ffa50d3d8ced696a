"""Snapshots of a workspace's files: bytes come back as they were, and nothing else is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.model.errors import NotFound, RevisionConflict, StorageFailed
from ctxd.workspace.snapshots import Change, Snapshots
from tests.support.behaviour import behaviour
from tests.workspace.attacks import INSIDE, SECRET, Place
from tests.workspace.test_races import EXCHANGE, running

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def snapshots(workspace: Path, tmp_path: Path) -> Iterator[Snapshots]:
    yield Snapshots(str(workspace), tmp_path / "state" / "snapshots", "s1")


def files(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but those of a repository."""
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and ".git" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths}


def write(folder: Path, name: str, data: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@behaviour("snapshots.exact")
def test_files_come_back_byte_for_byte_with_their_names_and_modes(
    workspace: Path, snapshots: Snapshots
) -> None:
    write(workspace, ".gitattributes", b"* text=auto eol=crlf\n*.txt filter=lfs\n")
    write(workspace, "mixed.txt", b"one\r\ntwo\nthree\r\n\0\xff")
    write(workspace, "deep/été 文.py", b"print()\n")
    write(workspace, "run.sh", b"#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o755)
    before = files(workspace)
    wanted = snapshots.take()
    write(workspace, "mixed.txt", b"changed")
    write(workspace, "new/one.py", b"new")
    (workspace / "deep/été 文.py").unlink()
    (workspace / "run.sh").chmod(0o644)
    current = snapshots.take()
    assert snapshots.compare(current, wanted) == (
        Change("deep/été 文.py", "add"),
        Change("mixed.txt", "change"),
        Change("new/one.py", "remove"),
        Change("run.sh", "change"),
    )
    snapshots.restore(current, wanted)
    assert files(workspace) == before
    assert not (workspace / "new").exists()
    assert os.access(workspace / "run.sh", os.X_OK)
    assert snapshots.take() == wanted


@behaviour("snapshots.apart")
def test_the_repository_of_the_workspace_is_not_touched_and_its_configuration_not_used(
    workspace: Path, snapshots: Snapshots, tmp_path: Path
) -> None:
    def git(*arguments: str) -> bytes:
        return subprocess.run(
            ["git", "-C", str(workspace), *arguments], check=True, capture_output=True
        ).stdout

    git("init", "--quiet")
    ran = tmp_path / "ran"
    git("config", "core.fsmonitor", f"touch {ran}; false")
    git("config", "filter.evil.clean", f"touch {ran}; cat")
    write(workspace, ".gitattributes", b"* filter=evil\n")
    write(workspace, "a.py", b"a")
    before = {p: p.stat().st_mtime_ns for p in (workspace / ".git").rglob("*")}
    snapshots.take()
    assert not ran.exists()
    assert {p: p.stat().st_mtime_ns for p in (workspace / ".git").rglob("*")} == before


@behaviour("snapshots.apart")
def test_ignored_files_and_files_that_may_hold_secrets_are_left_alone(
    workspace: Path, snapshots: Snapshots
) -> None:
    write(workspace, ".gitignore", b"build/\n")
    write(workspace, "build/out.bin", b"out")
    write(workspace, ".env", b"TOKEN=1")
    write(workspace, "a.py", b"a")
    wanted = snapshots.take()
    write(workspace, "build/out.bin", b"later")
    write(workspace, ".env", b"TOKEN=2")
    write(workspace, "a.py", b"b")
    current = snapshots.take()
    assert snapshots.compare(current, wanted) == (Change("a.py", "change"),)
    snapshots.restore(current, wanted)
    assert files(workspace)["a.py"] == b"a"
    assert (files(workspace)[".env"], files(workspace)["build/out.bin"]) == (b"TOKEN=2", b"later")


@behaviour("snapshots.refused")
def test_a_file_that_changed_since_it_was_looked_at_stops_the_restoration_before_it_begins(
    workspace: Path, snapshots: Snapshots
) -> None:
    write(workspace, "a.py", b"1")
    write(workspace, "b.py", b"1")
    wanted = snapshots.take()
    write(workspace, "a.py", b"22")
    write(workspace, "b.py", b"22")
    current = snapshots.take()
    write(workspace, "b.py", b"333")
    with pytest.raises(RevisionConflict):
        snapshots.restore(current, wanted)
    assert files(workspace) == {"a.py": b"22", "b.py": b"333"}


@behaviour("snapshots.refused")
def test_a_link_put_in_place_of_a_folder_is_never_written_through(
    workspace: Path, snapshots: Snapshots, tmp_path: Path
) -> None:
    write(workspace, "src/a.py", b"1")
    wanted = snapshots.take()
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside, "a.py", b"theirs")
    shutil.rmtree(workspace / "src")
    (workspace / "src").symlink_to(outside)
    current = snapshots.take()
    snapshots.restore(current, wanted)
    assert files(outside) == {"a.py": b"theirs"}
    assert not (workspace / "src").is_symlink()
    assert files(workspace) == {"src/a.py": b"1"}


def test_without_git_it_says_so(
    workspace: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFound, match="git"):
        snapshots.take()


def everything(store: Path) -> bytes:
    """Every object in a store of snapshots, uncompressed."""
    return subprocess.run(
        ["git", f"--git-dir={store}", "cat-file", "--batch-all-objects", "--batch"],
        check=True,
        capture_output=True,
    ).stdout


def race(folder: Path, what: str, seconds: float) -> tuple[int, bytes]:
    """Snapshots while a name is exchanged with a link: how many were tried, and all that was kept."""
    place, store = Place.made_in(folder), folder / "store"
    parent = what == "40 parent"
    (place.outside / "ok.txt").write_bytes(SECRET)
    place.link("link", place.outside if parent else place.secret)
    kept, tries = Snapshots(str(place.root), store, "s"), 0
    with running(EXCHANGE, place.root / ("a" if parent else "ok.txt"), place.root / "link"):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(RevisionConflict, StorageFailed):
                kept.take()
            tries += 1
    kept.take()
    assert list(store.glob("incoming-*")) == []
    return tries, everything(store)


@behaviour("workspace.raced")
@pytest.mark.parametrize("what", ["40 parent", "41 leaf"])
def test_exchanging_a_name_copies_nothing_from_outside(tmp_path: Path, what: str) -> None:
    """Git alone opened the link in a few of a thousand snapshots."""
    tries, copied = race(tmp_path, what, 2.0)
    assert INSIDE in copied
    assert SECRET not in copied
    assert tries > 10


@pytest.mark.slow
@pytest.mark.parametrize("what", ["40 parent", "41 leaf"])
def test_exchanging_a_name_for_five_seconds_copies_nothing_from_outside(tmp_path: Path, what: str) -> None:
    """Issue 5, shows 6."""
    assert SECRET not in race(tmp_path, what, 5.0)[1]


def test_what_has_another_name_or_is_very_large_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxd.workspace.snapshots.MAX_FILE_BYTES", 1000)
    place = Place.made_in(tmp_path)
    (place.root / "hard.txt").hardlink_to(place.secret)
    (place.root / "large.txt").write_bytes(b"large" * 1000)
    (place.root / "copy.txt").write_bytes(INSIDE)
    kept = Snapshots(str(place.root), tmp_path / "store", "s")
    first = kept.take()
    assert kept.take() == first
    (place.root / "new.txt").write_bytes(SECRET)
    second = kept.take()
    assert kept.compare(first, second) == (Change("new.txt", "add"),)
    assert SECRET in everything(tmp_path / "store"), "the workspace's own file is kept, whatever it says"
    assert b"largelarge" not in everything(tmp_path / "store")
