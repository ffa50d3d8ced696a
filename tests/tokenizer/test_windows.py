"""Windows and prices come from the catalog or are unknown; nothing is guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ctxd.tokenizer.catalog import Price
from ctxd.tokenizer.windows import price_of, window_of


@pytest.fixture(autouse=True)
def _cache_folder(vocabularies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder for all: the catalog is compiled once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(vocabularies))


@pytest.mark.parametrize(
    ("model", "provider", "window"),
    [
        ("claude-opus-4-5-20251101", None, 200_000),
        ("claude-opus-4-5-20251101", "anthropic", 200_000),
        ("claude-sonnet-4-20250514", "Anthropic", 200_000),
        ("anthropic/claude-sonnet-4.5", None, 200_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", 200_000),
        ("claude-opus-4-5", "our-gateway", 200_000),
        ("gpt-4o", "openai", 128_000),
        ("GPT-4o", None, 128_000),
        ("gpt-5", "azure", 400_000),
    ],
)
def test_a_model_of_the_catalog_has_its_window(model: str, provider: str | None, window: int) -> None:
    assert window_of(model, provider) == window


def test_a_window_missing_at_the_maker_is_read_where_the_same_model_is_resold() -> None:
    assert window_of("gemini-2.5-pro", "google") == 1_048_576
    assert window_of("gemini-2.5-pro") == 1_048_576


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("", None),
        ("", "openai"),
        (" ", "anthropic"),
        ("house-model", None),
        ("house-model", "openai"),
        ("claude", "anthropic"),
        ("claude-sonnet-99", None),
        ("claude-opus-4-10", "anthropic"),
        ("claude-opus-4-50", None),
        ("gpt-4o-clone", None),
        ("gpt-99", "openai"),
        ("o9", None),
        ("gemini-9", "google"),
        ("llama", "groq"),
        ("openai/", None),
        ("/gpt-4o", None),
        ("gpt-4o", "anthropic"),
    ],
)
def test_a_model_the_catalog_does_not_name_has_no_window(model: str, provider: str | None) -> None:
    """Report D.52: no 8k, 32k, 128k or 200k stands in for an unknown window."""
    assert window_of(model, provider) is None
    assert price_of(model, provider) is None


def test_prices_are_dollars_for_a_million_tokens() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert price_of("claude-opus-4-5", "anthropic", at) == Price(5.0, 25.0, 0.5, 6.25)
    assert price_of("gpt-4o", "openai", at) == Price(2.5, 10.0, 1.25, None)


def test_a_tiered_price_is_its_lowest_tier_and_a_dated_one_follows_the_date() -> None:
    before = price_of("claude-opus-4-6", "anthropic", datetime(2026, 2, 10, tzinfo=UTC))
    assert before is not None
    assert (before.input, before.output) == (5.0, 25.0)
    later = price_of("gpt-5.5-cyber", "openai", datetime(2026, 11, 1, tzinfo=UTC))
    assert later != price_of("gpt-5.5-cyber", "openai", datetime(2026, 10, 1, tzinfo=UTC))
