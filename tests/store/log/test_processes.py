"""Real processes that are killed, limited or lied to by the kernel."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.store.desk import SID, Desk, names
from tests.support.behaviour import behaviour

ROOT = Path(__file__).parents[3]
KILLS = 20


@contextmanager
def appending(root: Path, *arguments: str, around: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*around, sys.executable, "-m", "tests.store.appender", str(root), SID, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def said_until_waiting(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    words = []
    for line in process.stdout:
        if line.strip() == "waiting":
            return words
        words.append(line.strip())
    raise AssertionError(f"the process ended early, after {words[-3:]}")


@behaviour("D1.killed")
def test_a_process_killed_at_any_moment_loses_nothing_it_acknowledged(desk: Desk, memory_path: Path) -> None:
    chance = random.Random(7)
    acked: list[str] = []
    for _ in range(KILLS):
        with appending(memory_path / "state", "--from", str(len(acked)), "--size", "3000") as process:
            assert process.stdout is not None
            acked += [process.stdout.readline().strip() for _ in range(chance.randrange(1, 60))]
            process.kill()
            acked += process.stdout.read().split()
        shown = names(desk.open("read").records)
        assert shown[: len(acked)] == acked
        acked = shown
    log = desk.open()
    assert log.epoch == KILLS + 1
    assert log.health.status != "damaged"


@behaviour("D9.file-limit")
def test_a_limit_on_file_size_moves_on_to_new_segments(desk: Desk, memory_path: Path) -> None:
    limited = ("sh", "-c", 'ulimit -f 64 && exec "$@"', "sh")
    arguments = ("--count", "20", "--size", "5000", "200000", "100")
    with appending(memory_path / "state", *arguments, around=limited) as process:
        words = said_until_waiting(process)
    small = [f"r{n}" for n in (*range(20), *range(40, 60))]
    assert words == [*small[:20], *["storageFull"] * 20, *small[20:]]
    log = desk.open()
    assert names(log.records) == small
    assert log.health.status != "damaged"


@behaviour("D10.kernel")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize(
    "fault", ["fdatasync:error=EIO:when=5", "fdatasync:error=EIO:when=3..4", "writev:error=ENOSPC:when=4"]
)
def test_a_sync_or_write_that_the_kernel_fails_is_survived(desk: Desk, memory_path: Path, fault: str) -> None:
    call = fault.partition(":")[0]
    strace = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={fault}")
    probe = subprocess.run([*strace, "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        pytest.skip(f"strace cannot trace here: {probe.stderr.strip()[:100]}")
    with appending(memory_path / "state", "--count", "12", around=strace) as process:
        words = said_until_waiting(process)
        process.communicate()
    acked = [word for word in words if word.startswith("r")]
    assert len(acked) >= 11
    assert set(words) - set(acked) <= {"storageFailed", "storageFull"}
    log = desk.open()
    assert [name for name in names(log.records) if name in acked] == acked
    assert log.health.status != "damaged"
    assert len(desk.segments()) >= 3
