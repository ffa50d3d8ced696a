"""Very large messages: the text of a result, or what is left of one, without decoding it at once.

Decoding 64 MB of JSON holds the interpreter for longer than the event loop may stand still, in whatever
thread it runs. Here long strings are decoded in pieces and never become one Python string. What cannot be
read so is left to the reader of ordinary messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from mmap import mmap
from typing import Any

import msgspec

from ctxd.model.blocks import MessageView, ToolResult
from ctxd.model.messages import Native

LARGE_BYTES = 4 * 1024 * 1024
"""Messages above this are read in pieces."""

PIECE_BYTES = 256 * 1024
_INSIDE = re.compile(rb'[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*')
"""The inside of a JSON string, as far as whole characters and escapes are there."""

_HIGH = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
"""The first half of a character beyond the basic plane, which is one with the second."""

_STAND_IN = "\ue000ctxd:%d\ue001"
_STOOD_IN = re.compile("\ue000ctxd:(\\d+)\ue001".encode())


def read_stored(
    raw: bytes,
    call_id: str,
    view: Callable[[Native], MessageView],
    dialect: str,
    *,
    piece_bytes: int = PIECE_BYTES,
) -> mmap | bytes:
    """The stored form of a call's result in a large message; strings of two pieces and more are taken apart.

    Raises ValueError where it cannot be read in pieces; the caller checks the digest of what is returned.
    """
    skeleton, long = _take_out(raw, piece_bytes)
    native = Native(skeleton, msgspec.json.decode(skeleton), dialect)
    text = next(b.text for b in view(native).blocks if isinstance(b, ToolResult) and b.call_id == call_id)
    data = text.encode("utf-8", "surrogatepass")
    # Room whose pages the system gives when they are written: filling, growing or copying as much in one go
    # would hold the interpreter. No text is longer than its JSON.
    room = mmap(-1, len(raw))
    position = 0
    for match in _STOOD_IN.finditer(data):
        room.write(data[position : match.start()])
        for start, stop in long[int(match[1])]:
            room.write(_decode(raw[start:stop]))
        position = match.end()
    room.write(data[position:])
    return _fit(room)


def _fit(room: mmap) -> mmap | bytes:
    """What was written, without the room behind it."""
    size = room.tell()
    if not size:
        return b""
    try:
        room.resize(size)
    except SystemError:  # macOS cannot
        return room[:size]
    return room


def leave_out(raw: bytes, shown: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes | None:
    """A large message without the long strings that `shown`, which replaces some of its content, leaves out.

    None where it cannot be read in pieces, or `shown` keeps such a string.
    """
    try:
        skeleton, _ = _take_out(raw, PIECE_BYTES)
        kept = _STOOD_IN.search(msgspec.json.encode(shown(msgspec.json.decode(skeleton))))
    except ValueError:
        return None
    return None if kept else skeleton


def _take_out(raw: bytes, piece_bytes: int) -> tuple[bytes, list[list[tuple[int, int]]]]:
    """The JSON with stand-ins for its long strings, and where the pieces of each lie."""
    kept: list[bytes] = []
    long: list[list[tuple[int, int]]] = []
    position = begun = 0
    while (quote := raw.find(b'"', position)) >= 0:
        pieces = list(_pieces(raw, quote + 1, piece_bytes))
        end = pieces[-1][1] if pieces else quote + 1
        if end - quote > 2 * piece_bytes:
            kept += [raw[begun : quote + 1], (_STAND_IN % len(long)).encode()]
            long.append(pieces)
            begun = end
        position = end + 1
    return b"".join([*kept, raw[begun:]]), long


def _pieces(raw: bytes, start: int, piece_bytes: int) -> Iterator[tuple[int, int]]:
    """Parts of a string that can be decoded alone, up to its closing quote. Raises ValueError without one."""
    while raw[start : start + 1] != b'"':
        match = _INSIDE.match(raw, start, min(len(raw), start + piece_bytes))
        stop = match.end() if match else start
        if stop >= len(raw):
            raise ValueError("a string without an end")
        if raw[stop] != 0x22:
            while stop > start and raw[stop] & 0xC0 == 0x80:
                stop -= 1
            if _HIGH.match(raw, max(start, stop - 6), stop) and _is_escape(raw, start, stop - 6):
                stop -= 6
        if stop <= start:
            raise ValueError("no character and no escape")
        yield start, stop
        start = stop


def _is_escape(raw: bytes, start: int, position: int) -> bool:
    """Whether a backslash is one that escapes, and not one that is escaped."""
    first = position
    while first > start and raw[first - 1] == 0x5C:
        first -= 1
    return (position - first) % 2 == 0


def _decode(piece: bytes) -> bytes:
    quoted = b'"%b"' % piece
    try:
        text = msgspec.json.decode(quoted, type=str)
    except msgspec.DecodeError:
        # Only json.loads takes lone surrogates.
        text = json.loads(quoted)
    return text.encode("utf-8", "surrogatepass")
