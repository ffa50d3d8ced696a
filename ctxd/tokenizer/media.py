"""Tokens of images, documents and other media, by the provider's formula and never from their base64.

Pure. Must not know the data: a `Media` carries pixels and wire bytes, and that has to do (report D.50).
What a formula needs and the media does not say is replaced by a stated default on the high side.

Sources:
- Anthropic, "Vision": width x height / 750 tokens, after scaling down to 1568 pixels on the long edge and
  about 1600 tokens; from Claude 4.7 on 2576 pixels and 4784 tokens. "PDF support": 1500 to 3000 tokens
  of text a page and its image; public measurements give 2100 to 2500 a page together.
- OpenAI, "Images and vision": tiles of 512 pixels after fitting into 2048 x 2048 and a short side of 768;
  or patches of 32 pixels, at most 1536, times a factor. For models the guide doesn't list 1.2 was measured.
- Google, "Image understanding" and "Media resolution": 258 tokens for each tile up to Gemini 2.5, 1120 for
  each image from Gemini 3 on; 258 and 560 for each page of a PDF; 32 tokens for each second of audio.
"""

from __future__ import annotations

import math
from typing import assert_never

from ctxd.model.blocks import Media
from ctxd.tokenizer.families import Vision

PAGE_WIRE_BYTES = 65_536
"""Base64 taken for one page of a PDF whose pages can't be counted. Our own estimate."""

MOST_PAGES = 100
"""Anthropic's limit for one request; more pages are not believed."""

REFERENCE_WIRE_BYTES = 1024
"""Media smaller than this are a URL or file id: the size of what it names is unknown."""

REFERENCE_PAGES = 10
"""Pages assumed for a document given by reference."""

AUDIO_BYTES_PER_TOKEN = 333
"""64 kbit/s as base64 at Google's 32 tokens a second."""

OTHER_BYTES_PER_TOKEN = 556
"""Video at 1 Mbit/s as base64 at Google's 300 tokens a second."""

REFERENCE_TOKENS = 1920
"""Audio or other media given by reference: a minute of audio at 32 tokens a second."""


def tokens_of(media: Media, vision: Vision) -> int:
    """Prompt tokens of one attachment for a model whose formula is `vision` (`Choice.vision`)."""
    match media.kind:
        case "image":
            return _image(media, vision)
        case "document":
            return _pages(media.wire_bytes) * _page(vision)
        case "audio":
            return _by_bytes(media.wire_bytes, AUDIO_BYTES_PER_TOKEN)
        case "other":
            return _by_bytes(media.wire_bytes, OTHER_BYTES_PER_TOKEN)
        case never:
            assert_never(never)


def _image(media: Media, vision: Vision) -> int:
    width, height = media.width, media.height
    low = media.detail == "low"
    match vision:
        case "claude" | "generic":
            return _area(width, height, longest=1568, most=1600)
        case "claude-high":
            return _area(width, height, longest=2576, most=4784)
        case "openai-tiles-4o":
            return _tiles(width, height, low=low, base=85, tile=170)
        case "openai-tiles-4o-mini":
            return _tiles(width, height, low=low, base=2833, tile=5667)
        case "openai-tiles-o":
            return _tiles(width, height, low=low, base=75, tile=150)
        case "openai-tiles-5":
            return _tiles(width, height, low=low, base=70, tile=140)
        case "openai-patches":
            return _patches(width, height, factor=1.2)
        case "openai-patches-mini":
            return _patches(width, height, factor=1.62)
        case "openai-patches-nano":
            return _patches(width, height, factor=2.46)
        case "openai-patches-o4-mini":
            return _patches(width, height, factor=1.72)
        case "gemini-tiles":
            return 258 * _gemini_tiles(width, height)
        case "gemini-fixed":
            return 1120
        case never:
            assert_never(never)


def _page(vision: Vision) -> int:
    match vision:
        case "gemini-tiles":
            return 258
        case "gemini-fixed":
            return 560
        case "claude-high":
            return 3000
        case _:
            return 2500


def _pages(wire_bytes: int) -> int:
    if wire_bytes < REFERENCE_WIRE_BYTES:
        return REFERENCE_PAGES
    return min(MOST_PAGES, math.ceil(wire_bytes / PAGE_WIRE_BYTES))


def _by_bytes(wire_bytes: int, bytes_per_token: int) -> int:
    if wire_bytes < REFERENCE_WIRE_BYTES:
        return REFERENCE_TOKENS
    return math.ceil(wire_bytes / bytes_per_token)


def _area(width: int, height: int, *, longest: int, most: int) -> int:
    """Unknown size: `most`, what every larger image costs anyway."""
    if width <= 0 or height <= 0:
        return most
    scale = min(1.0, longest / max(width, height))
    return max(1, min(most, math.ceil(width * scale * height * scale / 750)))


def _tiles(width: int, height: int, *, low: bool, base: int, tile: int) -> int:
    """Unknown size: the largest image, 2048 x 768, eight tiles. `auto` is counted as `high`."""
    if low:
        return base
    if width <= 0 or height <= 0:
        return base + 8 * tile
    scale = min(1.0, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    across = math.ceil(max(1, round(width * scale)) / 512)
    down = math.ceil(max(1, round(height * scale)) / 512)
    return base + across * down * tile


def _patches(width: int, height: int, *, factor: float) -> int:
    """Unknown size: the cap of 1536 patches."""
    if width <= 0 or height <= 0:
        return math.ceil(1536 * factor)
    patches = min(1536, math.ceil(width / 32) * math.ceil(height / 32))
    return math.ceil(patches * factor)


def _gemini_tiles(width: int, height: int) -> int:
    """Small images are one tile; others are cut by two thirds of the short side, 256 to 768 pixels.

    Unknown size: six tiles, the documentation's example of a landscape picture.
    """
    if width <= 0 or height <= 0:
        return 6
    if width <= 384 and height <= 384:
        return 1
    crop = min(768, max(256, int(min(width, height) / 1.5)))
    return math.ceil(width / crop) * math.ceil(height / crop)
