"""Any order of appends, crashes with junk at the end, reopenings and second openers keeps the promises."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ctxd.model.errors import SessionLocked
from ctxd.store.log.event_log import SessionLog
from tests.store.desk import Desk, check_bodies, draft, names

JUNK = st.one_of(
    st.binary(max_size=200),
    st.integers(0, 300).map(bytes),
    st.just(b'{"v":1,"seq":99,"ep":9,"ack":98,"id":"x","type":"said","at":0,"da'),
    st.just(b'{"a":1}\n{"b":2}\n'),
)


class LogMachine(RuleBasedStateMachine):
    """`acked` is what the log must show; a reader follows along and must see a prefix of it."""

    @initialize()
    def begin(self) -> None:
        folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.root = Path(tempfile.mkdtemp(dir=folder))
        self.desk = Desk(self.root / "state", segment_bytes=1500)
        self.log: SessionLog | None = self.desk.open()
        self.reader = self.desk.open("read")
        self.followed: list[str] = []
        self.acked: list[str] = []
        self.counter = 0

    @precondition(lambda self: self.log is not None)
    @rule(size=st.integers(1, 4))
    def append(self, size: int) -> None:
        assert self.log is not None
        ids = [f"m{self.counter + i}" for i in range(size)]
        self.counter += size
        records = self.desk.append(self.log, *ids)
        check_bodies(self.log, records)
        self.acked += ids

    @precondition(lambda self: self.log is not None)
    @rule(size=st.integers(1, 5))
    def append_at_the_same_time(self, size: int) -> None:
        assert self.log is not None
        ids = [f"m{self.counter + i}" for i in range(size)]
        self.counter += size
        self.desk.append_together(self.log, [[draft(name)] for name in ids])
        self.acked += ids

    @precondition(lambda self: self.log is not None and self.acked)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        assert self.log is not None
        name = data.draw(st.sampled_from(self.acked))
        (record,) = self.desk.append(self.log, name)
        assert record.id == name
        assert record.seq < self.log.last_seq + 1

    @precondition(lambda self: self.log is not None)
    @rule(junk=JUNK)
    def crash(self, junk: bytes) -> None:
        assert self.log is not None
        self.log.close()
        self.log = None
        with self.desk.segments()[-1].open("ab") as file:
            file.write(junk)

    @precondition(lambda self: self.log is None)
    @rule()
    def reopen(self) -> None:
        self.log = self.desk.open()
        assert self.log.health.status != "damaged"
        assert names(self.log.records) == self.acked
        check_bodies(self.log, self.log.records)

    @precondition(lambda self: self.log is not None)
    @rule()
    def open_a_second_time(self) -> None:
        with pytest.raises(SessionLocked):
            self.desk.open()
        reader = self.desk.open("read")
        assert names(reader.records) == self.acked
        reader.close()

    @rule()
    def follow(self) -> None:
        new = self.reader.refresh()
        check_bodies(self.reader, new)
        self.followed += names(new)
        assert self.followed == self.acked

    @invariant()
    def a_follower_never_sees_more_than_was_acknowledged(self) -> None:
        if hasattr(self, "followed"):
            assert self.followed == self.acked[: len(self.followed)]
            assert self.reader.health.status != "damaged"

    def teardown(self) -> None:
        if hasattr(self, "desk"):
            self.desk.close()
            shutil.rmtree(self.root)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
