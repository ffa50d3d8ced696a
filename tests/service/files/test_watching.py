"""One watcher for all sessions: it begins with the first touched file and ends with the daemon."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.files.test_restoring import Work
from tests.service.host import LocalHost
from tests.support.scripted_host import ScriptedHost


class Follower(ScriptedHost):
    """A host that wants to know what becomes of files."""

    @property
    def follows_files(self) -> bool:
        return True


@pytest.fixture
def told() -> Follower:
    return Follower()


@pytest.fixture
def host(folder: Path, told: Follower) -> Iterator[LocalHost]:
    with LocalHost(folder / "state", answers=told) as made:
        yield made


def is_watched() -> bool:
    return any(thread.name == "ctxd-watcher" for thread in threading.enumerate())


def change(host: LocalHost, told: Follower, path: Path) -> None:
    """Change a file until somebody is told; what is told is told on the daemon's loop."""
    end = time.monotonic() + 30
    while f"modified {path.name}" not in told.told:
        assert time.monotonic() < end
        with path.open("a") as file:
            file.write("more\n")
        host.call("ctxd/status")


def test_it_begins_with_the_first_touched_file_and_ends_with_the_daemon(
    host: LocalHost, told: Follower, tmp_path: Path
) -> None:
    work = Work(host, tmp_path / "ws")
    work.put("a.py", "b.py")
    assert not is_watched()
    work.read("a.py")
    assert is_watched()
    change(host, told, work.root / "a.py")
    work.read("b.py")
    change(host, told, work.root / "b.py")
    host.close()
    assert not is_watched()
    host.start_again()


def test_a_resumed_session_is_followed_at_once(host: LocalHost, told: Follower, tmp_path: Path) -> None:
    work = Work(host, tmp_path / "ws")
    work.put("a.py")
    work.read("a.py")
    host.reopen()
    host.open(workspace=work.root.as_uri())
    change(host, told, work.root / "a.py")


def test_an_option_ends_it(host: LocalHost, tmp_path: Path) -> None:
    host.configure({"workspace": {"watch": False}})
    work = Work(host, tmp_path / "ws")
    work.put("a.py")
    work.read("a.py")
    assert not is_watched()
