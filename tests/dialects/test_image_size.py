"""Image sizes are read from headers alone, and nothing unreadable raises. The files are Pillow's."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.dialects.image_size import JPEG_HEAD_CHARACTERS, size_of

TRANSCRIPT = Path(__file__).parents[2] / "../shared/transcripts/claude-code/image-result.jsonl"

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAACUAAAATCAIAAACY31PkAAAAJElEQVR4nGOsqKhgoCNgoqdlo/aN2jdq36h9o/aN2jdqH10A"
    "AFSkAY4gu4xxAAAAAElFTkSuQmCC"
)
GIF = (
    "R0lGODdhLAERAIAAAAAAAAAAACwAAAAALAERAEAIdAABCBxIsKDBgwgTKlzIsKHDhxAjSpxIsaLFixgzatzIsaPHjyBDihxJ"
    "sqTJkyhTqlzJsqXLlzBjypxJs6bNmzhz6tzJs6fPn0CDCh1KtKjRo0iTKl3KtKnTp1CjSp1KtarVq1izat3KtavXr2DDih1L"
    "VmZAADs="
)
VP8 = (
    "UklGRkgAAABXRUJQVlA4IDwAAABQBQCdASqBAE0AP83m8nO/uDQsoMgD8DmJaQoWoAE99G1DnGUA91N9G1DnGUA91N9GxAAA"
    "/roAAAAAAAA="
)
VP8L = "UklGRh4AAABXRUJQVlA4TBEAAAAv/oAAAAdQvOIVr/+BiOh/AAA="
VP8X_HEAD = "UklGRgwEAABXRUJQVlA4WAoAAAAIAAAA5wMAAAIAVlA4INwDAAAQcwCdASroAwEC"
JPEG_HEAD = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcp"
    "LDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy"
    "MjIyMjIyMjIyMjIyMjL/wAARCABBACEDASIAAhEBAxEB"
)


def jpeg_behind(segments: int, *, marker: int = 0xE1) -> bytes:
    """The JPEG above with metadata segments of 60 000 bytes before its tables, as cameras write it."""
    whole = base64.b64decode(JPEG_HEAD)
    segment = bytes([0xFF, marker]) + (60_002).to_bytes(2, "big") + b"\xff" * 60_000
    return whole[:20] + segment * segments + whole[20:]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        pytest.param(PNG, (37, 19), id="png"),
        pytest.param(GIF, (300, 17), id="gif"),
        pytest.param(VP8, (129, 77), id="webp lossy"),
        pytest.param(VP8L, (255, 3), id="webp lossless"),
        pytest.param(VP8X_HEAD, (1000, 513), id="webp extended"),
        pytest.param(JPEG_HEAD, (33, 65), id="jpeg"),
        pytest.param("data:image/png;base64," + PNG, (37, 19), id="data url"),
        pytest.param(base64.encodebytes(base64.b64decode(PNG)).decode(), (37, 19), id="line breaks"),
        pytest.param(JPEG_HEAD.replace("/", "_"), (33, 65), id="url-safe alphabet"),
        pytest.param(PNG[:32], (37, 19), id="nothing after the header"),
    ],
)
def test_the_header_gives_width_and_height(data: str, size: tuple[int, int]) -> None:
    assert size_of(data) == size


@pytest.mark.parametrize("segments", [1, 5])
def test_a_jpeg_frame_header_is_found_behind_its_metadata(segments: int) -> None:
    assert size_of(base64.b64encode(jpeg_behind(segments)).decode()) == (33, 65)


def test_metadata_beyond_the_decoding_limit_leaves_the_size_unknown() -> None:
    segments = JPEG_HEAD_CHARACTERS // 60_000
    assert size_of(base64.b64encode(jpeg_behind(segments)).decode()) == (0, 0)


def test_fill_bytes_before_a_jpeg_marker_are_skipped() -> None:
    whole = base64.b64decode(JPEG_HEAD)
    assert size_of(base64.b64encode(whole[:20] + b"\xff\xff" + whole[20:]).decode()) == (33, 65)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("", id="empty"),
        pytest.param("AAAA", id="zero bytes"),
        pytest.param("not base64 at all, é", id="not base64"),
        pytest.param("data:image/png;base64,", id="empty data url"),
        pytest.param(PNG[:24], id="png cut before its size"),
        pytest.param(GIF[:8], id="gif cut before its size"),
        pytest.param(VP8[:32], id="webp cut before its size"),
        pytest.param(JPEG_HEAD[:200], id="jpeg cut before its frame header"),
        pytest.param(base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(8)).decode(), id="png of 0x0"),
        pytest.param(base64.b64encode(b"\xff\xd8\xff\xe0\0\0" + bytes(64)).decode(), id="jpeg, length 0"),
        pytest.param(base64.b64encode(b"\xff\xd8\xff\xda" + bytes(64)).decode(), id="jpeg scan, no frame"),
        pytest.param(base64.b64encode(b"RIFF\0\0\0\0WEBPVP9 " + bytes(64)).decode(), id="unknown webp"),
        pytest.param(base64.b64encode(b"%PDF-1.7\n" + bytes(64)).decode(), id="a pdf"),
        pytest.param("\ud800" * 64, id="lone surrogates"),
    ],
)
def test_what_has_no_readable_header_has_no_size(data: str) -> None:
    assert size_of(data) == (0, 0)


HEADS = [PNG, GIF, VP8, VP8L, VP8X_HEAD, JPEG_HEAD]


@given(st.sampled_from(HEADS), st.integers(0, 400), st.binary(max_size=40))
def test_damage_never_raises_and_never_gives_half_a_size(head: str, at: int, damage: bytes) -> None:
    whole = base64.b64decode(head)
    damaged = whole[:at] + damage + whole[at + len(damage) :]
    width, height = size_of(base64.b64encode(damaged).decode())
    assert (width > 0) == (height > 0)


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    assert min(size_of(text)) >= 0


def test_the_image_of_a_real_session_is_read() -> None:
    if not TRANSCRIPT.exists():
        pytest.skip("../shared/transcripts is absent")
    lines = [json.loads(line) for line in TRANSCRIPT.read_text(encoding="utf-8").splitlines()]
    assert [size_of(data) for data in images(lines)] == [(1, 1)]


def images(value: Any) -> Iterator[str]:
    """The base64 of every Messages API image block in `value`."""
    if isinstance(value, list):
        for item in value:
            yield from images(item)
    elif isinstance(value, dict):
        if value.get("type") == "image" and "source" in value:
            yield value["source"]["data"]
        for item in value.values():
            yield from images(item)
