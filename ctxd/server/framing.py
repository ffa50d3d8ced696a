"""Frames of the base protocol: `Content-Length` headers, then a body of so many bytes.

Reads from a blocking stream and writes bytes; knows no JSON beyond finding the id in a body that
is too large to be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO

import msgspec

MAX_HEADER_BYTES = 8192
"""A header block longer than this is no header."""

_KEPT = 4096
_CHUNK = 65_536


class FramingError(Exception):
    """The stream is not a sequence of frames any more. Where the next one begins is unknown: fatal."""


class Frame(msgspec.Struct, frozen=True):
    """One body."""

    body: bytes


class Oversized(msgspec.Struct, frozen=True):
    """A body above the limit that was read and thrown away. `head`/`tail` are its first and last 4 KiB."""

    size: int
    head: bytes
    tail: bytes


def frame(*parts: bytes) -> tuple[bytes, ...]:
    """The body in these parts as it goes on the wire: its header before them."""
    return b"Content-Length: %d\r\n\r\n" % sum(map(len, parts)), *parts


def read_frame(stream: BinaryIO, limit: Callable[[], int]) -> Frame | Oversized | None:
    """The next frame; None at the end of the stream.

    `limit` is asked for the largest body, bytes, when a header has come. Header names are read in
    any case, lines may end in LF or CRLF, empty lines before a header are skipped. Raises
    FramingError on anything else that is no header, and on an end inside a frame.
    """
    size = _read_header(stream)
    if size is None:
        return None
    if size > limit():
        return _drain(stream, size)
    body = stream.read(size)
    if len(body) < size:
        raise FramingError("the stream ended inside a body")
    return Frame(body)


def _read_header(stream: BinaryIO) -> int | None:
    size: int | None = None
    read = 0
    begun = False
    while True:
        line = stream.readline(MAX_HEADER_BYTES - read + 1)
        read += len(line)
        if not line:
            if begun:
                raise FramingError("the stream ended inside a header")
            return None
        if read > MAX_HEADER_BYTES:
            raise FramingError(f"a header longer than {MAX_HEADER_BYTES} bytes")
        if not line.endswith(b"\n"):
            raise FramingError("the stream ended inside a header")
        text = line.strip(b" \t\r\n")
        if text:
            begun = True
            size = _read_field(text, size)
        elif begun:
            if size is None:
                raise FramingError("a header without Content-Length")
            return size


def _read_field(line: bytes, size: int | None) -> int | None:
    name, colon, value = line.partition(b":")
    if not colon:
        raise FramingError("a header line without a colon")
    if name.strip().lower() != b"content-length":
        return size
    digits = value.strip()
    if not digits.isdigit() or len(digits) > 18:
        raise FramingError("a Content-Length that is no length")
    if size is not None and size != int(digits):
        raise FramingError("two different Content-Length")
    return int(digits)


def _drain(stream: BinaryIO, size: int) -> Oversized:
    head = bytearray()
    tail = b""
    left = size
    while left:
        chunk = stream.read(min(left, _CHUNK))
        if not chunk:
            raise FramingError("the stream ended inside a body")
        left -= len(chunk)
        if len(head) < _KEPT:
            head += chunk[: _KEPT - len(head)]
        tail = (tail + chunk)[-_KEPT:]
    return Oversized(size=size, head=bytes(head), tail=tail)


_TOKEN = re.compile(
    rb'\s*(?:"((?:[^"\\]|\\.)*)"|(-?\d+)(?![\d.eE])|([{\[])|([}\]])|([:,])|[^\s"{}\[\]:,]+)', re.S
)
_LAST_ID = re.compile(
    rb'[,{]\s*"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")\s*'
    rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*"(?:[^"\\]|\\.)*"\s*)*\}\s*$',
    re.S,
)


def sniff_id(head: bytes, tail: bytes) -> int | str | None:
    """The id of a request that cannot be decoded, from its first and last bytes; None if it is not there.

    Hosts write the id before the parameters or after them: both are looked for, and only at the
    top level of the object.
    """
    found = _first_id(head)
    if found is None:
        last = _LAST_ID.search(tail)
        found = last[1] if last else None
    if found is None:
        return None
    try:
        value = msgspec.json.decode(found)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return value if isinstance(value, int | str) else None


def _first_id(head: bytes) -> bytes | None:
    depth = 0
    key: bytes | None = None
    after_colon = False
    position = 0
    while token := _TOKEN.match(head, position):
        position = token.end()
        string, number, opening, closing, mark = token.groups()
        if opening:
            depth += 1
            after_colon = False
        elif closing:
            depth -= 1
        elif mark:
            after_colon = mark == b":"
        elif depth == 1 and after_colon and key == b"id":
            if string is not None:
                return b'"%b"' % string
            return number
        elif depth == 1 and not after_colon:
            key = string
    return None
