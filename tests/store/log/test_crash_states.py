"""A power cut at any moment loses nothing that was acknowledged, whatever the disk kept of the rest."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxd.model.errors import StoreError
from tests.store.crash_states import Op, Recorder, State, crash_states
from tests.store.desk import Desk, check_bodies, names
from tests.support.behaviour import behaviour

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of open files are read from /proc")

BATCHES = [{"b1", "b2", "b3"}]


@pytest.fixture
def recorder(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(memory_path / "live", monkeypatch)


def live_quietly(desk: Desk, recorder: Recorder) -> None:
    """Two openings, a batch, a rotation, an object in the ledger; nothing fails."""
    log = desk.open()
    recorder.ack(*names(desk.append(log, "a")))
    recorder.ack(*names(desk.append(log, "b1", "b2", "b3")))
    recorder.ack(desk.ledger().put(b"kept bytes"))
    recorder.ack(*names(desk.append(log, "c")))
    log.close()
    log = desk.open()
    recorder.ack(*names(desk.append(log, "d")))
    log.close()
    desk.open().close()


def live_through_one_failed_sync(desk: Desk, recorder: Recorder) -> None:
    """A sync fails in mid-session; the retry on a new segment works."""
    log = desk.open()
    recorder.ack(*names(desk.append(log, "a")))
    recorder.fail_syncs = 1
    recorder.ack(*names(desk.append(log, "b1", "b2", "b3")))
    recorder.ack(*names(desk.append(log, "c")))
    log.close()
    desk.open().close()


def live_with_a_dead_disk_for_a_while(desk: Desk, recorder: Recorder) -> None:
    """An append fails for good, the process dies, the next one finds the record in the page cache."""
    log = desk.open()
    recorder.ack(*names(desk.append(log, "a")))
    recorder.fail_syncs = 2
    with pytest.raises(StoreError):
        desk.append(log, "c")
    log.close()
    log = desk.open()
    recorder.ack(*names(desk.append(log, "c")))
    recorder.ack(*names(desk.append(log, "d")))
    log.close()


LIVES: list[Callable[[Desk, Recorder], None]] = [
    live_quietly,
    live_through_one_failed_sync,
    live_with_a_dead_disk_for_a_while,
]


def record_life(root: Path, recorder: Recorder, life: Callable[[Desk, Recorder], None]) -> list[Op]:
    desk = Desk(root / "live" / "state", segment_bytes=1200)
    (root / "live").mkdir()
    life(desk, recorder)
    desk.close()
    return list(recorder.ops)


def check_state(root: Path, state: State) -> None:
    """Recover from the state with the real code, go on, and recover again."""
    root.mkdir()
    state.write_to(root)
    desk = Desk(root / "state")
    try:
        log = desk.open()
        shown = names(log.records)
        acked = [name for name in state.acked if not name.startswith("sha256:")]
        assert [name for name in shown if name in acked] == acked
        assert log.health.status != "damaged"
        for batch in BATCHES:
            assert batch <= set(shown) or not batch & set(shown)
        check_bodies(log, log.records)
        ledger = desk.ledger()
        for digest in state.acked:
            if digest.startswith("sha256:"):
                assert ledger.get(digest) == b"kept bytes"
        ledger.close()
        desk.append(log, "afterwards")
        log.close()
        assert names(desk.open().records) == [*shown, "afterwards"]
    finally:
        desk.close()
        shutil.rmtree(root)


@behaviour("D1.power-cut")
@pytest.mark.parametrize("life", LIVES)
def test_no_power_cut_loses_what_was_acknowledged(
    memory_path: Path, recorder: Recorder, life: Callable[[Desk, Recorder], None]
) -> None:
    ops = record_life(memory_path, recorder, life)
    count = 0
    for state in crash_states(ops):
        check_state(memory_path / "after", state)
        count += 1
    assert count > 100


@pytest.mark.parametrize("ignored", ["sync", "syncdir"])
def test_the_enumeration_finds_a_missing_sync(memory_path: Path, recorder: Recorder, ignored: str) -> None:
    ops = [op for op in record_life(memory_path, recorder, live_quietly) if op.kind != ignored]
    with pytest.raises((AssertionError, StoreError)):
        for state in crash_states(ops):
            check_state(memory_path / "after", state)
