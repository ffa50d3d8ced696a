"""Pixel sizes of images, read from the first bytes of their base64 text.

Owns the headers of PNG, JPEG, GIF and WebP. Must not know what an image costs, and never decodes
more of the data than the header needs: the whole image stays text.
"""

from __future__ import annotations

import base64

HEAD_CHARACTERS = 1024
"""Base64 characters decoded first. Everything but a JPEG with metadata is answered by them."""

JPEG_HEAD_CHARACTERS = 2 * 1024 * 1024
"""Most base64 characters decoded for a JPEG, whose frame header stands behind EXIF and colour profiles."""

_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})


def size_of(base64_data: str) -> tuple[int, int]:
    """Width and height in pixels; (0, 0) when they can't be read.

    `base64_data` is standard or URL-safe base64, line breaks allowed, or a whole `data:` URL.
    Never raises: broken or foreign data is an unreadable size, not an error.
    """
    start = base64_data.find(",", 0, HEAD_CHARACTERS) + 1 if base64_data[:5].lower() == "data:" else 0
    head = _decode(base64_data, start, HEAD_CHARACTERS)
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return _checked(head, 24, _big(head, 16, 4), _big(head, 20, 4))
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _checked(head, 10, _little(head, 6, 2), _little(head, 8, 2))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp_size(head)
    if head.startswith(b"\xff\xd8\xff"):
        size = _jpeg_size(head)
        if size is None and len(base64_data) - start > HEAD_CHARACTERS:
            size = _jpeg_size(_decode(base64_data, start, JPEG_HEAD_CHARACTERS))
        return size or (0, 0)
    return (0, 0)


def _decode(data: str, start: int, characters: int) -> bytes:
    """The bytes of a prefix of `data`, cut to whole groups of four; empty when it is not base64."""
    text = "".join(data[start : start + characters].split()).replace("-", "+").replace("_", "/")
    text = text[: len(text) // 4 * 4]
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _webp_size(head: bytes) -> tuple[int, int]:
    """Lossy (VP8), lossless (VP8L) and extended (VP8X) files; RFC 9649."""
    match head[12:16]:
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            return _checked(head, 30, _little(head, 26, 2) & 0x3FFF, _little(head, 28, 2) & 0x3FFF)
        case b"VP8L" if head[20:21] == b"\x2f":
            bits = _little(head, 21, 4)
            return _checked(head, 25, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            return _checked(head, 30, _little(head, 24, 3) + 1, _little(head, 27, 3) + 1)
        case _:
            return (0, 0)


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """The size in the frame header; None when `head` ends before it."""
    at = 2
    while at + 4 <= len(head):
        if head[at] != 0xFF:
            return (0, 0)
        marker = head[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _BARE_MARKERS:
            at += 2
        elif marker in _FRAME_MARKERS:
            if at + 9 > len(head):
                return None
            return _checked(head, at + 9, _big(head, at + 7, 2), _big(head, at + 5, 2))
        elif marker in (0xD9, 0xDA) or _big(head, at + 2, 2) < 2:
            return (0, 0)
        else:
            at += 2 + _big(head, at + 2, 2)
    return None


def _checked(head: bytes, needed: int, width: int, height: int) -> tuple[int, int]:
    """The size when the header was whole and both sides are positive."""
    return (width, height) if len(head) >= needed and width > 0 and height > 0 else (0, 0)


def _big(head: bytes, at: int, length: int) -> int:
    return int.from_bytes(head[at : at + length], "big")


def _little(head: bytes, at: int, length: int) -> int:
    return int.from_bytes(head[at : at + length], "little")
