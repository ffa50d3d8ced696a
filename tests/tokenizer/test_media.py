"""Media cost what the provider's formula says of their pixels, whatever their base64 weighs."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.model.blocks import Media, MediaKind
from ctxd.tokenizer.families import Vision
from ctxd.tokenizer.media import REFERENCE_TOKENS, tokens_of
from tests.support.behaviour import behaviour
from tests.tokenizer.texts import Counters

VISIONS: tuple[Vision, ...] = get_args(Vision)


def image(width: int, height: int, *, detail: str = "", wire_bytes: int = 50_000) -> Media:
    return Media(kind="image", wire_bytes=wire_bytes, width=width, height=height, detail=detail)


@behaviour("counting.images")
@pytest.mark.parametrize(
    ("vision", "width", "height", "detail", "tokens"),
    [
        # Anthropic's table: ~54, ~1334, ~1590; larger ones are scaled down first
        ("claude", 200, 200, "", 54),
        ("claude", 1000, 1000, "", 1334),
        ("claude", 1092, 1092, "", 1590),
        ("claude", 1568, 784, "", 1640 - 40),
        ("claude", 4000, 3000, "", 1600),
        ("claude", 3136, 100, "", 105),
        ("claude", 1, 1, "", 1),
        ("claude-high", 1000, 1000, "", 1334),
        ("claude-high", 4000, 3000, "", 4784),
        ("generic", 1000, 1000, "", 1334),
        # OpenAI's examples: 1024 x 1024 is 765, 2048 x 4096 is 1105, low is 85
        ("openai-tiles-4o", 1024, 1024, "high", 765),
        ("openai-tiles-4o", 1024, 1024, "auto", 765),
        ("openai-tiles-4o", 2048, 4096, "high", 1105),
        ("openai-tiles-4o", 4096, 8192, "low", 85),
        ("openai-tiles-4o", 512, 512, "", 255),
        ("openai-tiles-4o", 10_000, 1, "", 765),
        ("openai-tiles-4o-mini", 1024, 1024, "high", 2833 + 4 * 5667),
        ("openai-tiles-o", 1024, 1024, "", 675),
        ("openai-tiles-5", 1024, 1024, "", 630),
        ("openai-tiles-5", 1024, 1024, "low", 70),
        ("openai-patches", 1024, 1024, "", 1229),
        ("openai-patches", 768, 1024, "", 922),
        ("openai-patches-mini", 1024, 1024, "", 1659),
        ("openai-patches-nano", 32, 32, "", 3),
        ("openai-patches-o4-mini", 9000, 9000, "", 2642),
        # Google: up to 384 x 384 is one tile; 960 x 540 is six
        ("gemini-tiles", 384, 384, "", 258),
        ("gemini-tiles", 960, 540, "", 6 * 258),
        ("gemini-tiles", 3000, 3000, "", 16 * 258),
        ("gemini-fixed", 960, 540, "", 1120),
    ],
)
def test_an_image_costs_its_providers_formula(
    vision: Vision, width: int, height: int, detail: str, tokens: int
) -> None:
    assert tokens_of(image(width, height, detail=detail), vision) == tokens


@pytest.mark.parametrize(
    ("vision", "tokens"),
    [
        ("claude", 1600),
        ("claude-high", 4784),
        ("generic", 1600),
        ("openai-tiles-4o", 1445),
        ("openai-patches", 1844),
        ("gemini-tiles", 1548),
        ("gemini-fixed", 1120),
    ],
)
def test_an_image_of_unknown_size_costs_a_large_one(vision: Vision, tokens: int) -> None:
    assert tokens_of(image(0, 0), vision) == tokens


@behaviour("counting.base64")
@pytest.mark.parametrize("vision", VISIONS)
def test_a_screenshot_is_never_counted_as_its_base64(fast: Counters, vision: Vision) -> None:
    """Report D.50: a pasted screenshot was "398k tokens"; its formula says a few thousand at most."""
    base64_text = "iVBORw0KGgoAAAANSUhEUgAAB4AAAAQ4CAYAAADo08FD" * 12_000
    as_text = fast["o200k_base"].count(base64_text)
    screenshot = image(1920, 1080, wire_bytes=len(base64_text))
    assert as_text > 250_000
    assert tokens_of(screenshot, vision) < 40_000
    assert tokens_of(screenshot, vision) == tokens_of(image(1920, 1080, wire_bytes=9), vision)


@pytest.mark.parametrize(
    ("kind", "wire_bytes", "vision", "tokens"),
    [
        ("document", 60_000, "claude", 2500),
        ("document", 200_000, "claude", 4 * 2500),
        ("document", 200_000, "claude-high", 4 * 3000),
        ("document", 200_000, "gemini-tiles", 4 * 258),
        ("document", 200_000, "gemini-fixed", 4 * 560),
        ("document", 30_000_000, "claude", 100 * 2500),
        ("document", 100, "claude", 10 * 2500),
        ("audio", 333_000, "gemini-fixed", 1000),
        ("audio", 100, "gemini-fixed", REFERENCE_TOKENS),
        ("other", 556_000, "gemini-fixed", 1000),
        ("other", 0, "claude", REFERENCE_TOKENS),
    ],
)
def test_other_media_cost_an_estimate_of_their_length(
    kind: MediaKind, wire_bytes: int, vision: Vision, tokens: int
) -> None:
    assert tokens_of(Media(kind=kind, wire_bytes=wire_bytes), vision) == tokens


@given(
    kind=st.sampled_from(get_args(MediaKind)),
    vision=st.sampled_from(VISIONS),
    wire_bytes=st.integers(0, 10**9),
    width=st.integers(-5, 10**6),
    height=st.integers(-5, 10**6),
    detail=st.sampled_from(["", "low", "high", "auto", "original"]),
)
def test_every_attachment_costs_something(
    kind: MediaKind, vision: Vision, wire_bytes: int, width: int, height: int, detail: str
) -> None:
    media = Media(kind=kind, wire_bytes=wire_bytes, width=width, height=height, detail=detail)
    assert tokens_of(media, vision) > 0
