"""Frames: what is read as one, what is drained, what ends the stream, and finding the id of a lost body."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.server.framing import Frame, FramingError, Oversized, read_frame, sniff_id
from tests.support.behaviour import behaviour
from tests.support.peer import frame

LIMIT = 1000


def read(data: bytes) -> Frame | Oversized | None:
    return read_frame(io.BytesIO(data), lambda: LIMIT)


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_what_is_framed_is_read_back_body_by_body(bodies: list[bytes]) -> None:
    stream = io.BytesIO(b"".join(map(frame, bodies)))
    assert [read_frame(stream, lambda: LIMIT) for _ in bodies] == [Frame(b) for b in bodies]
    assert read_frame(stream, lambda: LIMIT) is None


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 2\r\n\r\n{}",
        b"content-length:2\n\n{}",
        b"CONTENT-LENGTH :  2 \r\n\r\n{}",
        b"X-Anything: a:b\r\nContent-Length: 2\r\nContent-Type: x\r\n\r\n{}",
        b"\r\n\n\r\nContent-Length: 2\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 0002\r\n\r\n{}",
    ],
)
def test_a_header_is_read_in_any_usual_spelling(data: bytes) -> None:
    assert read(data) == Frame(b"{}")


@behaviour("wire.broken-header")
@pytest.mark.parametrize(
    "data",
    [
        b"{}\r\n\r\n",
        b"Content-Type: x\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: two\r\n\r\n{}",
        b"Content-Length:\r\n\r\n{}",
        b"Content-Length: 2.0\r\n\r\n{}",
        b"Content-Length: " + b"9" * 19 + b"\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"X: " + b"y" * 9000,
        b"X: y\r\n" * 2000,
        b"\n" * 9000,
        b"Content-Length: 2",
        b"Content-Length: 2\r\n",
        b"Content-Length: 2\r\n\r\n{",
        b"Content-Length: 2000\r\n\r\n{}",
    ],
)
def test_what_is_no_header_and_an_end_inside_a_frame_are_fatal(data: bytes) -> None:
    with pytest.raises(FramingError):
        read(data)


def test_the_end_between_frames_is_no_error() -> None:
    assert read(b"") is None
    assert read(b"\r\n") is None


@behaviour("wire.oversize")
@pytest.mark.parametrize("size", [LIMIT + 1, 4096, 4097, 70_000, 140_001])
def test_a_body_above_the_limit_is_drained_to_its_last_byte(size: int) -> None:
    body = bytes(i % 251 for i in range(size))
    stream = io.BytesIO(frame(body) + frame(b"next"))
    assert read_frame(stream, lambda: LIMIT) == Oversized(size, body[:4096], body[-4096:])
    assert read_frame(stream, lambda: LIMIT) == Frame(b"next")


PADDING = {"params": {"id": 9, "text": 'a "id": 8, \\', "list": [{"id": 7}] * 3, "x": "y" * 9000}}


@pytest.mark.parametrize("identity", [0, 17, -3, "a", 'q"\\uote', "", 2**70])
@pytest.mark.parametrize("first", [True, False])
def test_the_id_of_a_lost_body_is_found_before_or_after_its_params(identity: int | str, first: bool) -> None:
    head = {"jsonrpc": "2.0", "id": identity, "method": "m"}
    body = json.dumps({**head, **PADDING} if first else {"method": "m", **PADDING, "id": identity}).encode()
    assert sniff_id(body[:4096], body[-4096:]) == identity


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "m", **PADDING},
        {"jsonrpc": "2.0", **PADDING, "method": "m", "more": {"id": 4}},
        {"id": None, **PADDING},
        {"id": 1.5, **PADDING},
        {"id": {"id": 1}, **PADDING},
        [{"id": 1}],
        {"idx": 1, "x": "id"},
    ],
)
def test_no_id_is_made_up_for_a_body_without_one(body: object) -> None:
    text = json.dumps(body).encode()
    assert sniff_id(text[:4096], text[-4096:]) is None


@given(st.binary(max_size=200))
def test_looking_for_an_id_in_garbage_finds_an_id_or_nothing(data: bytes) -> None:
    assert sniff_id(data, data) is None or isinstance(sniff_id(data, data), int | str)
