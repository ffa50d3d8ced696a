"""The two threads around the pipes: order, back-pressure, and what happens when the other end goes."""

from __future__ import annotations

import io
import os
import queue
import threading

import pytest

from ctxd.server.framing import Frame, FramingError, Oversized
from ctxd.server.stdio import Reader, Writer
from tests.support.peer import frame

DEADLINE = 20.0
MIB = 1024 * 1024


class Ends:
    """What a writer tells its owner."""

    def __init__(self) -> None:
        self.broke = threading.Event()
        self.drained = threading.Event()


@pytest.fixture
def ends() -> Ends:
    return Ends()


def open_writer(ends: Ends) -> tuple[Writer, int]:
    source, sink = os.pipe()
    writer = Writer(sink, broke=ends.broke.set, drained=ends.drained.set)
    writer.start()
    return writer, source


def read_all(source: int, size: int) -> bytes:
    with os.fdopen(source, "rb") as stream:
        return stream.read(size)


def test_bytes_leave_in_the_order_they_were_sent(ends: Ends) -> None:
    writer, source = open_writer(ends)
    parts = [bytes([n]) * (n * 1000) for n in range(100)]
    for part in parts:
        writer.send(part)
    expected = b"".join(parts)
    assert read_all(source, len(expected)) == expected
    assert writer.flush(DEADLINE)


def test_sending_never_blocks_and_congestion_ends_when_the_host_reads(ends: Ends) -> None:
    writer, source = open_writer(ends)
    block = b"x" * MIB
    for _ in range(20):
        writer.send(block)
    assert writer.congested
    assert not writer.flush(0)
    assert len(read_all(source, 20 * MIB)) == 20 * MIB
    writer.wait_clear()
    assert ends.drained.wait(DEADLINE)
    assert not writer.congested


def test_a_closed_pipe_is_told_once_and_nothing_waits_for_it_any_more(ends: Ends) -> None:
    writer, source = open_writer(ends)
    os.close(source)
    for _ in range(20):
        writer.send(b"x" * MIB)
    assert ends.broke.wait(DEADLINE)
    writer.send(b"late")
    writer.wait_clear()
    assert writer.flush(0)
    assert not writer.congested


def read_everything(data: bytes, limit: int = 100) -> tuple[list[Frame | Oversized], Exception | None]:
    seen: list[Frame | Oversized] = []
    ended: queue.Queue[Exception | None] = queue.Queue()
    reader = Reader(
        io.BytesIO(data), limit=limit, deliver=seen.append, ended=ended.put, may_read=lambda: None
    )
    reader.start()
    return seen, ended.get(timeout=DEADLINE)


def test_every_frame_is_delivered_in_order_and_then_the_end() -> None:
    frames, error = read_everything(frame(b"a") + frame(b"b" * 101) + frame(b"c"))
    assert frames == [Frame(b"a"), Oversized(101, b"b" * 101, b"b" * 101), Frame(b"c")]
    assert error is None


def test_a_broken_stream_ends_with_what_broke_it() -> None:
    frames, error = read_everything(frame(b"a") + b"nonsense\n")
    assert frames == [Frame(b"a")]
    assert isinstance(error, FramingError)


def test_the_reader_waits_while_too_much_is_not_dealt_with() -> None:
    body = b"x" * (5 * MIB)
    seen: queue.Queue[Frame | Oversized] = queue.Queue()
    ended: queue.Queue[Exception | None] = queue.Queue()
    reader = Reader(
        io.BytesIO(frame(body) * 3), limit=len(body), deliver=seen.put, ended=ended.put, may_read=lambda: None
    )
    reader.start()
    for _ in range(2):
        assert seen.get(timeout=DEADLINE) == Frame(body)
    assert seen.empty()
    assert ended.empty()
    reader.release(len(body))
    assert seen.get(timeout=DEADLINE) == Frame(body)
    assert ended.get(timeout=DEADLINE) is None
