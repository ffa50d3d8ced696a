"""LSP framing on asyncio streams: one JSON object per frame, `Content-Length` in front.

Owns bytes to message and back. Must not know methods, ids or processes.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any


class BrokenFrame(Exception):
    """The other side sent something that is no frame; the stream cannot be read on."""


def encode_frame(message: dict[str, Any]) -> bytes:
    """One frame. Lone surrogates go as escapes, everything else as UTF-8. Raises ValueError for NaN.

    `params` may be bytes, JSON text that goes as it is.
    """
    if isinstance(params := message.get("params"), bytes):
        rest = json.dumps({name: value for name, value in message.items() if name != "params"}).encode()
        size = len(rest) + len(b',"params":') + len(params)
        return b'Content-Length: %d\r\n\r\n%b,"params":%b}' % (size, rest[:-1], params)
    try:
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError:
        body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_frame(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end of the stream. Raises BrokenFrame."""
    length = -1
    while True:
        try:
            line = await reader.readline()
        except ValueError as error:
            raise BrokenFrame("header line too long") from error
        if not line:
            if length >= 0:
                raise BrokenFrame("stream ended inside a header")
            return None
        if not line.strip():
            if length >= 0:
                break
            continue
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise BrokenFrame("Content-Length is no number")
            length = int(value)
    try:
        body = await reader.readexactly(length)
        message = json.loads(body)
    except asyncio.IncompleteReadError as error:
        raise BrokenFrame("stream ended inside a body") from error
    except ValueError as error:
        raise BrokenFrame("body is not JSON") from error
    if not isinstance(message, dict):
        raise BrokenFrame("body is not an object")
    return message
