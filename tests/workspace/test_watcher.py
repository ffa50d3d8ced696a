"""Followed files: every change is told once, whatever became of the hints, at a cost that does not grow with
what else lies in the workspace."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.workspace import watcher
from ctxd.workspace.watcher import Change, Watcher
from tests.support.behaviour import behaviour
from tests.workspace.conftest import descriptors

ROOT = Path(__file__).parents[2]
DEADLINE = 30.0


class Watch:
    """A watcher and what it told."""

    def __init__(self, root: Path, *, native: bool = True) -> None:
        self.root = root
        self.held = descriptors()
        self.told: queue.Queue[Change] = queue.Queue()
        self.warned: list[str] = []
        self.paths: list[str] = []
        self.watcher = Watcher(self._take, self.warned.append, native=native)

    def follow(self, *paths: str, key: str = "s1") -> None:
        """Follow files; returns once they are, and watched."""
        waiting = list(paths)

        def more() -> list[str]:
            given, waiting[:] = list(waiting), []
            return given

        self.watcher.follow(key, str(self.root), more)
        wait_until(lambda: not waiting)
        self.settle()

    def settle(self) -> None:
        """Return once the watches are in place: a followed probe is changed until that is told."""
        probe = self.root / "probe.txt"
        probe.write_text("0")
        sent = False

        def more() -> list[str]:
            nonlocal sent
            given, sent = ([] if sent else ["probe.txt"]), True
            return given

        self.watcher.follow("probe", str(self.root), more)
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            with probe.open("a") as file:
                file.write("1")
            try:
                if self.told.get(timeout=0.3).path == "probe.txt":
                    return
            except queue.Empty:
                continue
        raise AssertionError("nothing is watched")

    def next(self, count: int = 1) -> set[tuple[str, str]]:
        """The next changes, but those of the probe."""
        found: set[tuple[str, str]] = set()
        end = time.monotonic() + DEADLINE
        while len(found) < count:
            change = self.told.get(timeout=max(0.01, end - time.monotonic()))
            if change.path != "probe.txt":
                found.add((change.path, change.kind + (f" to {change.to}" if change.to else "")))
        return found

    def close(self) -> None:
        """End the watcher; the system's own thread gives its descriptors back a moment later."""
        before = self.held
        self.watcher.close()
        wait_until(lambda: descriptors() <= before)

    def _take(self, root: str, changes: list[Change]) -> None:
        assert root == str(self.root)
        for change in changes:
            self.told.put(change)


def wait_until(done: object, seconds: float = DEADLINE) -> None:
    """Wait for another thread, by its own doing."""
    end = time.monotonic() + seconds
    while not done():  # type: ignore[operator]  # a callable
        assert time.monotonic() < end
        os.sched_yield()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "src" / "deep").mkdir(parents=True)
    for name in ("a.py", "src/b.py", "src/deep/c.py"):
        (folder / name).write_text(f"# {name}\n")
    return folder


@pytest.fixture
def watching(root: Path) -> Iterator[Watch]:
    made = Watch(root)
    yield made
    made.close()


@behaviour("watcher.told")
def test_a_change_a_removal_and_a_return_are_told(watching: Watch, root: Path) -> None:
    watching.follow("a.py", "src/b.py", "src/deep/c.py", "src/later.py")
    (root / "src/b.py").write_text("# another\n")
    assert watching.next() == {("src/b.py", "modified")}
    (root / "a.py").unlink()
    assert watching.next() == {("a.py", "deleted")}
    (root / "a.py").write_text("# back\n")
    (root / "src/later.py").write_text("# new\n")
    assert watching.next(2) == {("a.py", "added"), ("src/later.py", "added")}


def test_an_atomic_save_is_a_change_of_the_file(watching: Watch, root: Path) -> None:
    watching.follow("src/b.py")
    (root / "src/.b.py.tmp").write_text("# saved\n")
    (root / "src/.b.py.tmp").replace(root / "src/b.py")
    assert watching.next() == {("src/b.py", "modified")}


@behaviour("watcher.moves")
def test_a_renamed_file_is_said_to_have_moved(watching: Watch, root: Path) -> None:
    watching.follow("src/b.py")
    (root / "src/b.py").rename(root / "src/renamed.py")
    assert watching.next() == {("src/b.py", "moved to src/renamed.py")}


def test_a_folder_that_goes_and_comes_back_is_watched_again(watching: Watch, root: Path) -> None:
    """A branch switch: `rm -r` and checkout."""
    watching.follow("src/b.py", "src/deep/c.py")
    shutil.rmtree(root / "src")
    assert watching.next(2) == {("src/b.py", "deleted"), ("src/deep/c.py", "deleted")}
    (root / "src/deep").mkdir(parents=True)
    (root / "src/b.py").write_text("# other branch\n")
    (root / "src/deep/c.py").write_text("# other branch\n")
    assert watching.next(2) == {("src/b.py", "added"), ("src/deep/c.py", "added")}
    watching.settle()
    (root / "src/deep/c.py").write_text("# and then\n")
    assert watching.next() == {("src/deep/c.py", "modified")}


def test_a_renamed_folder_takes_its_files_away(watching: Watch, root: Path) -> None:
    watching.follow("src/b.py")
    (root / "src").rename(root / "lib")
    ((path, kind),) = watching.next()
    assert (path, kind.split()[0]) in (("src/b.py", "deleted"), ("src/b.py", "moved"))


def test_what_was_forgotten_is_not_told(watching: Watch, root: Path) -> None:
    watching.follow("a.py", key="s1")
    watching.follow("src/b.py", key="s2")
    watching.watcher.forget("s1")
    watching.settle()
    (root / "a.py").write_text("# unheard\n")
    (root / "src/b.py").write_text("# heard\n")
    assert watching.next() == {("src/b.py", "modified")}


def test_a_link_in_a_files_place_is_a_change_and_is_not_followed(
    watching: Watch, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    watching.follow("a.py")
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(outside)
    assert watching.next() == {("a.py", "modified")}
    watching.settle()
    outside.write_text("changed outside")
    (root / "src/b.py").write_text("x")
    watching.follow("src/b.py", key="s2")
    (root / "src/b.py").write_text("xy")
    assert watching.next() == {("src/b.py", "modified")}


def test_hints_that_never_come_delay_a_change_and_hide_none(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "POLL_SECONDS", 0.05)
    watching = Watch(root, native=False)
    watching.follow("a.py")
    (root / "a.py").write_text("# changed\n")
    assert watching.next() == {("a.py", "modified")}
    watching.close()


LIMITED = """
import os, queue, sys, threading
from pathlib import Path
try:
    Path("/proc/sys/user", sys.argv[2]).write_text("0")
except OSError:
    sys.exit(77)
from ctxd.workspace import watcher
from ctxd.workspace.watcher import Watcher
watcher.POLL_SECONDS = 0.1
told, warned, given = queue.Queue(), queue.Queue(), ["a.py"]
def more():
    paths = list(given); given.clear(); return paths
made = Watcher(lambda root, changes: told.put(changes), warned.put)
made.follow("s", sys.argv[1], more)
print("warned:", warned.get(timeout=20))
Path(sys.argv[1], "a.py").write_text("# changed\\n")
print("told:", told.get(timeout=20)[0].kind, warned.qsize())
made.close()
print("threads:", threading.active_count())
"""


@behaviour("watcher.limit")
@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_without_watches_left_touched_files_are_polled_and_that_is_said(root: Path, limit: str) -> None:
    isolate = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*isolate, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system lets nobody have limits of their own")
    done = subprocess.run(
        [*isolate, sys.executable, "-c", LIMITED, str(root), limit],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("this system has no limit on watches to set")
    assert done.returncode == 0, done.stderr
    warned, told, threads = done.stdout.splitlines()
    assert warned.startswith("warned: files cannot be watched")
    assert (told, threads) == ("told: modified 0", "threads: 1")


def test_many_followed_files_are_all_told(watching: Watch, root: Path) -> None:
    names = [f"d{n % 50}/f{n}.py" for n in range(3_000)]
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("1")
    watching.follow(*names)
    for name in names:
        (root / name).write_text("22")
    assert watching.next(3_000) == {(name, "modified") for name in names}


@pytest.mark.slow
@behaviour("watcher.large")
def test_a_large_workspace_starts_at_once_and_a_burst_is_reconciled(root: Path, tmp_path: Path) -> None:
    """Issue 5, shows 4: 50,000 files start in 0.5 s; 30,000 creates and an untar within 60 s."""
    for folder in range(500):
        (root / f"big/{folder}").mkdir(parents=True)
        for n in range(100):
            (root / f"big/{folder}/{n}.txt").touch()
    names = [f"big/{folder}/7.txt" for folder in range(0, 500, 5)]
    watching = Watch(root)
    begun = time.monotonic()
    given = [*names, "untarred/x/500.txt"]

    def more() -> list[str]:
        paths, given[:] = list(given), []
        return paths

    watching.watcher.follow("s1", str(root), more)
    wait_until(lambda: not given)
    took_in = time.monotonic() - begun
    watching.settle()
    started = time.monotonic() - begun
    for n in range(30_000):
        (root / f"big/{n % 500}/new{n}.txt").touch()
    (root / names[3]).write_text("in the middle of it")
    begun = time.monotonic()
    assert watching.next() == {(names[3], "modified")}
    burst = time.monotonic() - begun
    archive = tmp_path / "made.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(root / "big/1", "untarred/y")
        for n in range(2_000):
            tar.add(root / "a.py", f"untarred/x/{n}.txt")
    begun = time.monotonic()
    with tarfile.open(archive) as tar:
        tar.extractall(root, filter="data")
    assert watching.next() == {("untarred/x/500.txt", "added")}
    untar = time.monotonic() - begun
    watching.close()
    assert took_in <= 0.5
    assert started <= 5, "the probe, which is asked for once a second, was watched"
    assert burst <= 60
    assert untar <= 60


def test_files_that_tools_make_are_not_followed(watching: Watch, root: Path) -> None:
    for name in ("node_modules/x.js", ".git/index", "app.min.js"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("1")
    watching.follow("node_modules/x.js", ".git/index", "app.min.js", "a.py")
    for name in ("node_modules/x.js", ".git/index", "app.min.js", "a.py"):
        (root / name).write_text("22")
    assert watching.next() == {("a.py", "modified")}


def test_a_defect_of_a_source_ends_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "POLL_SECONDS", 0.05)
    watching = Watch(root)
    calls = 0

    def more() -> list[str]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("a defect")
        return ["a.py"]

    watching.watcher.follow("s1", str(root), more)
    wait_until(lambda: watching.warned)
    watching.settle()
    (root / "a.py").write_text("# still watched\n")
    assert watching.next() == {("a.py", "modified")}
    assert watching.warned == ["watching files failed with ValueError; they are looked at again"]
    watching.close()
