"""Every system call of the store fails once, and for ever: nothing acknowledged is lost, no lie is told."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.model.errors import CtxdError
from ctxd.store.log.event_log import SessionLog
from tests.store.desk import Desk, check_bodies, names
from tests.store.faults import Faults, How
from tests.support.behaviour import behaviour

ERRORS = [errno.EIO, errno.ENOSPC]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


class Run:
    """One life of a session, in which any call may fail. `acked`: ids that were acknowledged, in order."""

    def __init__(self, root: Path) -> None:
        self.desk = Desk(root, segment_bytes=600)
        self.acked: list[str] = []
        self.tried: list[tuple[str, ...]] = []
        self.kept: list[tuple[str, bytes]] = []
        self.errors: list[str] = []

    def live(self) -> None:
        for first in ("a", "b"):
            log = self._open()
            if log is not None:
                for batch in ((first + "1",), (first + "2", first + "3"), (first + "4",)):
                    self._append(log, batch)
                log.close()
            self._keep(first.encode() * 100)

    def _open(self) -> SessionLog | None:
        try:
            return self.desk.open()
        except CtxdError as error:
            self.errors.append(error.kind)
            return None

    def _append(self, log: SessionLog, batch: tuple[str, ...]) -> None:
        self.tried.append(batch)
        try:
            self.desk.append(log, *batch)
            self.acked += batch
            assert log.durable
        except CtxdError as error:
            self.errors.append(error.kind)
            assert not log.durable or not log.is_writable

    def _keep(self, data: bytes) -> None:
        try:
            ledger = self.desk.ledger()
            try:
                self.kept.append((ledger.put(data), data))
            finally:
                ledger.close()
        except CtxdError as error:
            self.errors.append(error.kind)


def check_truth(run: Run) -> None:
    """After the fault is gone: all that was acknowledged is there, batches are whole, and it goes on."""
    log = run.desk.open()
    shown = names(log.records)
    assert log.health.status != "damaged"
    assert [name for name in shown if name in run.acked] == run.acked
    for batch in run.tried:
        assert len({name in shown for name in batch}) == 1, batch
    check_bodies(log, log.records)
    run.desk.append(log, "afterwards")
    log.close()
    log = run.desk.open()
    assert names(log.records) == [*shown, "afterwards"]
    ledger = run.desk.ledger()
    for digest, data in run.kept:
        assert ledger.get(digest) == data
    ledger.close()


def sweep(root: Path, faults: Faults, error: int, *, forever: bool, how: How) -> Iterator[Run]:
    """One run per call, until a run ends without reaching the armed call."""
    at = 0
    open_files = len(list(Path("/dev/fd").iterdir()))
    while True:
        at += 1
        run = Run(root / "state")
        faults.arm(at, error, forever=forever, how=how)
        run.live()
        was_hit = faults.count >= at
        faults.disarm()
        yield run
        run.desk.close()
        assert len(list(Path("/dev/fd").iterdir())) == open_files, at
        shutil.rmtree(root / "state", ignore_errors=True)
        if not was_hit:
            return


@behaviour("D10.any-call")
@pytest.mark.parametrize(
    ("how", "forever"),
    [("before", False), ("before", True), ("after", False), ("half", False)],
    ids=["once", "for-ever", "late", "half"],
)
@pytest.mark.parametrize("error", ERRORS, ids=lambda number: errno.errorcode[number])
def test_whichever_call_fails_nothing_acknowledged_is_lost(
    memory_path: Path, faults: Faults, error: int, how: How, forever: bool
) -> None:
    runs = 0
    for run in sweep(memory_path, faults, error, forever=forever, how=how):
        check_truth(run)
        expected = "storageFull" if error == errno.ENOSPC else "storageFailed"
        assert set(run.errors) <= {expected}
        runs += 1
    assert runs > 50
    assert not run.errors
    assert run.acked == ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"]


@behaviour("D9.full-disk")
@pytest.mark.parametrize("error", [errno.EDQUOT, errno.EFBIG, errno.ENOSPC])
def test_a_full_disk_is_said_and_the_session_resumes_by_itself(
    desk: Desk, faults: Faults, error: int
) -> None:
    log = desk.open()
    desk.append(log, "a")
    faults.arm(1, error, forever=True, how="before")
    for _ in range(2):
        with pytest.raises(CtxdError) as caught:
            desk.append(log, "b")
        assert caught.value.kind == "storageFull"
        assert caught.value.facts["errno"] == errno.errorcode[error]
        assert not log.durable
    faults.disarm()
    desk.append(log, "b")
    assert log.durable
    log.close()
    assert names(desk.open().records) == ["a", "b"]


@behaviour("D10.poisoned")
@pytest.mark.parametrize("call", ["fdatasync", "writev"])
def test_a_failed_descriptor_is_never_used_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    import os

    log = desk.open()
    desk.append(log, "a")
    failed: list[int] = []
    used: list[int] = []
    real = getattr(os, call)

    def fail_once(fd: int, *rest: object) -> object:
        inode = os.fstat(fd).st_ino
        used.append(inode)
        if not failed:
            failed.append(inode)
            raise OSError(errno.EIO, "broken")
        return real(fd, *rest)

    monkeypatch.setattr(os, call, fail_once)
    desk.append(log, "b")
    desk.append(log, "c")
    assert used.count(failed[0]) == 1
    assert len(desk.segments()) == 2
    log.close()
    assert names(desk.open().records) == ["a", "b", "c"]


@behaviour("D9.full-at-open")
def test_a_disk_that_is_full_at_opening_gives_a_session_that_says_so(desk: Desk, faults: Faults) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    desk.layout()
    reached = False
    for at in range(1, 60):
        faults.arm(at, errno.ENOSPC, forever=True, how="before")
        try:
            log = desk.open()
        except CtxdError as error:
            assert error.kind == "storageFull"
            continue
        finally:
            faults.disarm()
        if not log.durable:
            reached = True
            assert names(log.records) == ["a"]
            desk.append(log, f"later-{at}")
            assert log.durable
        log.close()
        again = desk.open("read")
        assert names(again.records)[0] == "a"
        assert again.health.status != "damaged"
        if reached:
            return
    assert reached
