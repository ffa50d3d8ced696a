"""A model id, however it is written, leads to one encoding, one factor and one formula for media."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxd.tokenizer.families import UNKNOWN, EncodingName, Family, Vision, choose
from tests.support.behaviour import behaviour
from tests.tokenizer.texts import Counters

EXACT: list[tuple[str, EncodingName, Vision]] = [
    ("gpt-4o", "o200k_base", "openai-tiles-4o"),
    ("gpt-4o-2024-08-06", "o200k_base", "openai-tiles-4o"),
    ("gpt-4o-mini", "o200k_base", "openai-tiles-4o-mini"),
    ("chatgpt-4o-latest", "o200k_base", "openai-tiles-4o"),
    ("ft:gpt-4o-2024-08-06:org::id", "o200k_base", "openai-tiles-4o"),
    ("gpt-4.1", "o200k_base", "openai-tiles-4o"),
    ("gpt-4.1-mini", "o200k_base", "openai-patches-mini"),
    ("gpt-4.1-nano-2025-04-14", "o200k_base", "openai-patches-nano"),
    ("gpt-4.5-preview", "o200k_base", "openai-tiles-4o"),
    ("gpt-5", "o200k_base", "openai-tiles-5"),
    ("gpt-5-codex", "o200k_base", "openai-tiles-5"),
    ("gpt-5-mini", "o200k_base", "openai-patches-mini"),
    ("gpt-5.2", "o200k_base", "openai-patches"),
    ("openai/gpt-5.1", "o200k_base", "openai-tiles-5"),
    ("openrouter/openai/gpt-5", "o200k_base", "openai-tiles-5"),
    ("GPT-4O", "o200k_base", "openai-tiles-4o"),
    ("o1", "o200k_base", "openai-tiles-o"),
    ("o3-mini", "o200k_base", "openai-tiles-o"),
    ("o4-mini-2025-04-16", "o200k_base", "openai-patches-o4-mini"),
    ("gpt-oss-120b", "o200k_base", "openai-tiles-4o"),
    ("codex-mini-latest", "o200k_base", "openai-tiles-4o"),
    ("gpt-4", "cl100k_base", "openai-tiles-4o"),
    ("gpt-4-32k-0613", "cl100k_base", "openai-tiles-4o"),
    ("gpt-4-turbo-2024-04-09", "cl100k_base", "openai-tiles-4o"),
    ("gpt-3.5-turbo", "cl100k_base", "openai-tiles-4o"),
    ("gpt-35-turbo-16k", "cl100k_base", "openai-tiles-4o"),
]


@pytest.mark.parametrize(("model", "encoding", "vision"), EXACT, ids=[row[0] for row in EXACT])
def test_openai_models_are_exact_on_their_encoding(
    model: str, encoding: EncodingName, vision: Vision
) -> None:
    choice = choose(model, None)
    assert (choice.family, choice.encoding, choice.factor, choice.exact) == ("openai", encoding, 1.0, True)
    assert choice.vision == vision


@pytest.mark.parametrize("model", [row[0] for row in EXACT if row[0].startswith(("gpt-4", "gpt-3.5", "o1"))])
def test_the_encoding_is_the_one_tiktoken_names(model: str) -> None:
    tiktoken_model = pytest.importorskip("tiktoken.model")
    try:
        assert tiktoken_model.encoding_name_for_model(model) == choose(model).encoding
    except KeyError:
        pytest.skip(f"this tiktoken does not know {model}")


ESTIMATED: list[tuple[str, str | None, Family, float, Vision]] = [
    ("claude-opus-4-5-20251101", None, "claude", 1.28, "claude"),
    ("claude-sonnet-4-20250514", None, "claude", 1.28, "claude"),
    ("claude-3-5-sonnet-latest", None, "claude", 1.28, "claude"),
    ("claude-3-haiku-20240307", None, "claude", 1.28, "claude"),
    ("claude-2.1", None, "claude", 1.28, "claude"),
    ("claude-instant-1.2", None, "claude", 1.28, "claude"),
    ("anthropic/claude-sonnet-4.6", None, "claude", 1.28, "claude"),
    ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock", "claude", 1.28, "claude"),
    ("claude-opus-4-7", None, "claude", 1.66, "claude-high"),
    ("claude-opus-4.7", "github-copilot", "claude", 1.66, "claude-high"),
    ("claude-sonnet-5", None, "claude", 1.66, "claude-high"),
    ("claude-opus-4-10", None, "claude", 1.66, "claude-high"),
    ("sonnet", "anthropic", "claude", 1.66, "claude-high"),
    ("gemini-2.5-pro", "google", "gemini", 1.24, "gemini-tiles"),
    ("models/gemini-1.5-flash", None, "gemini", 1.24, "gemini-tiles"),
    ("gemini-3-pro-preview", None, "gemini", 1.24, "gemini-fixed"),
    ("meta-llama/Llama-3.3-70B-Instruct", "together", "llama", 1.0, "generic"),
    ("Qwen/Qwen3-Coder-480B", None, "qwen", 1.16, "generic"),
    ("deepseek-chat", "deepseek", "deepseek", 1.05, "generic"),
    ("deepseek-r1-distill-llama-70b", None, "deepseek", 1.05, "generic"),
    ("mistral-large-latest", None, "mistral", 1.16, "generic"),
    ("devstral-small", None, "mistral", 1.16, "generic"),
    ("zai-org/GLM-4.6", None, "glm", 1.02, "generic"),
    ("MiniMax-M2", None, "minimax", 1.01, "generic"),
    ("moonshotai/kimi-k2", None, "kimi", 1.1, "generic"),
    ("gpt-9-ultra", None, "openai", 1.0, "openai-patches"),
    ("my-deployment", "azure", "openai", 1.0, "openai-patches"),
    ("my-model", "mistral", "mistral", 1.16, "generic"),
    ("grok-4", "x-ai", "unknown", 1.24, "generic"),
    ("house-model", None, "unknown", 1.24, "generic"),
    ("", None, "unknown", 1.24, "generic"),
]


@behaviour("counting.families")
@pytest.mark.parametrize(
    ("model", "provider", "family", "factor", "vision"),
    ESTIMATED,
    ids=[row[0] or "empty" for row in ESTIMATED],
)
def test_other_families_are_o200k_times_their_factor_and_say_so(
    model: str, provider: str | None, family: Family, factor: float, vision: Vision
) -> None:
    choice = choose(model, provider)
    assert (choice.family, choice.factor, choice.vision) == (family, factor, vision)
    assert (choice.encoding, choice.exact) == ("o200k_base", False)


@given(model=st.text(max_size=40), provider=st.none() | st.text(max_size=12))
def test_any_id_is_answered_and_never_below_the_encoding(model: str, provider: str | None) -> None:
    assert 1.0 <= choose(model, provider).factor <= 2.0


def test_chinese_is_never_estimated_by_characters(fast: Counters) -> None:
    """Report D.48: "你好世界" * 25 is 100 characters; characters / 4 says 25.

    Where nobody can count exactly, the estimate is at least 60. Where the tokenizer is known the count is
    the truth: 50 on o200k, 125 on cl100k, and 0.79 to 0.92 of o200k for open families (their own tokenizers).
    """
    text = "你好世界" * 25
    for model in ("claude-opus-4-5", "claude-opus-4-8", "gemini-2.5-pro", "house-model", "grok-4"):
        choice = choose(model)
        assert math.ceil(fast[choice.encoding].count(text) * choice.factor) >= 60, model
    for model in [row[0] for row in EXACT] + [row[0] for row in ESTIMATED]:
        choice = choose(model)
        assert math.ceil(fast[choice.encoding].count(text) * choice.factor) >= 50, model


def test_unknown_takes_the_largest_factor_of_the_public_tokenizers() -> None:
    others = [choose(row[0], row[1]) for row in ESTIMATED]
    assert UNKNOWN.factor == max(choice.factor for choice in others if choice.family != "claude")
