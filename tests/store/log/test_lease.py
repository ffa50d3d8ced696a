"""One writer at a time, whatever happens to processes and lock files (D8)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxd.model.errors import SessionLocked, StorageFailed
from ctxd.store.log.lease import UNKNOWN, acquire_lease, probe_lease
from tests.store.desk import SID, Desk
from tests.support.behaviour import behaviour

ROOT = Path(__file__).parents[3]


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


@contextmanager
def other_process(root: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that opens the session, appends, prints what is acknowledged and waits on its stdin."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.store.appender", str(root), SID, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


def read_until(process: subprocess.Popen[str], wanted: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.strip())
        if lines[-1] == wanted:
            return lines
    raise AssertionError(f"the process ended before it said {wanted}: {lines}")


@behaviour("D8.one-writer")
def test_a_second_process_is_told_the_first_ones_pid_and_may_read(desk: Desk, memory_path: Path) -> None:
    with other_process(memory_path / "state", "--count", "3") as process:
        read_until(process, "waiting")
        with pytest.raises(SessionLocked) as caught:
            desk.open()
        holder = caught.value.facts["holder"]
        assert isinstance(holder, dict)
        assert holder["pid"] == process.pid
        assert [r.id for r in desk.open("read").records if r.type != "lease"] == ["r0", "r1", "r2"]


@behaviour("D8.stopped")
def test_a_stopped_holder_keeps_the_lease_and_a_killed_one_loses_it(desk: Desk, memory_path: Path) -> None:
    with other_process(memory_path / "state", "--count", "1") as process:
        read_until(process, "waiting")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        with pytest.raises(SessionLocked):
            desk.open()
        process.kill()
        process.wait()
        assert desk.open().epoch == 2


@behaviour("D11.links")
def test_a_lock_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "x.lock").symlink_to(tmp_path / "elsewhere")
    with folder_of(tmp_path) as folder, pytest.raises(StorageFailed) as caught:
        acquire_lease(folder, "x.lock", "")
    assert caught.value.facts["errno"] == "ELOOP"
    assert (tmp_path / "elsewhere").read_text() == "mine"


def test_a_lock_file_that_is_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.lock", 0o600)
    with folder_of(tmp_path) as folder, pytest.raises(StorageFailed, match="regular"):
        acquire_lease(folder, "x.lock", "")


def test_a_lease_ends_with_release_and_can_be_taken_again(tmp_path: Path) -> None:
    with folder_of(tmp_path) as folder:
        first = acquire_lease(folder, "x.lock", "one")
        with pytest.raises(SessionLocked):
            acquire_lease(folder, "x.lock", "two")
        first.release()
        first.release()
        second = acquire_lease(folder, "x.lock", "two")
        assert second.is_held()
        second.release()
        assert probe_lease(folder, "x.lock") is None
    assert (tmp_path / "x.lock").exists()


def test_a_reader_learns_who_holds_the_lease_and_what_is_acknowledged(tmp_path: Path) -> None:
    with folder_of(tmp_path) as folder:
        assert probe_lease(folder, "x.lock") is None
        lease = acquire_lease(folder, "x.lock", "\ud800 editor")
        assert probe_lease(folder, "x.lock") == (lease.holder, 0)
        lease.publish(42)
        assert probe_lease(folder, "x.lock") == (lease.holder, 42)
        lease.release()


@pytest.mark.parametrize("text", [b"", b"\0" * 40, b"7 8\n{}", b"%019d %019d\n{" % (3, 3), b"x" * 9000])
def test_a_lock_file_with_any_text_is_held_by_somebody_unknown(tmp_path: Path, text: bytes) -> None:
    with folder_of(tmp_path) as folder:
        lease = acquire_lease(folder, "x.lock", "")
        (tmp_path / "x.lock").write_bytes(text)
        held = probe_lease(folder, "x.lock")
        assert held is not None
        assert held[0] == UNKNOWN
        with pytest.raises(SessionLocked):
            acquire_lease(folder, "x.lock", "")
        lease.release()


def test_a_lease_notices_that_its_lock_file_was_replaced(tmp_path: Path) -> None:
    with folder_of(tmp_path) as folder:
        lease = acquire_lease(folder, "x.lock", "")
        (tmp_path / "x.lock").unlink()
        assert not lease.is_held()
        (tmp_path / "x.lock").touch()
        assert not lease.is_held()
        lease.release()
