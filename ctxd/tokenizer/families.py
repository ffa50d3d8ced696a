"""Which encoding counts for a model, and by which factor its own tokenizer differs from it.

Owns the table of model families. Pure: must not know a tokenizer, a file or a session. A factor is a
start; what a session learns from reported usage replaces it elsewhere (behaviour.md, section 2).

Sources of the factors, all on o200k_base:
- Open families: their own tokenizers, measured on four kinds of text that fill agent sessions (English
  prose, Python, pretty JSON, logs, 400 kB each); the factor is the mean of the four ratios, rounded up.
- Claude up to 4.6: growth of the reported prompt over growth of its text in recorded Claude Code sessions,
  1.28 on the longest (129 calls), 1.21 to 1.37 on the others; it holds the framing of messages and tools.
  Published for bare text: 1.16 on English, 1.30 on code. Claude from 4.7 on has another tokenizer:
  that start times 1.30, the ratio of the two factors published together (1.53 and 1.18).
- Unknown: the highest factor measured for a family whose tokenizer is public (Gemini).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

EncodingName: TypeAlias = Literal["o200k_base", "cl100k_base"]

Family: TypeAlias = Literal[
    "openai", "claude", "gemini", "llama", "qwen", "deepseek", "mistral", "glm", "minimax", "kimi", "unknown"
]

Vision: TypeAlias = Literal[
    "claude",
    "claude-high",
    "openai-tiles-4o",
    "openai-tiles-4o-mini",
    "openai-tiles-o",
    "openai-tiles-5",
    "openai-patches",
    "openai-patches-mini",
    "openai-patches-nano",
    "openai-patches-o4-mini",
    "gemini-tiles",
    "gemini-fixed",
    "generic",
]
"""Names of the formulas in `ctxd.tokenizer.media`."""


class Choice(msgspec.Struct, frozen=True):
    """How to count for a model: tokens = count on `encoding` times `factor`.

    `exact`: `encoding` is the model's own, `factor` is 1 and text counts are the provider's.
    `vision` names the formula for the model's media.
    """

    family: Family
    encoding: EncodingName
    factor: float
    exact: bool
    vision: Vision


GEMINI_FACTOR = 1.24
UNKNOWN = Choice("unknown", "o200k_base", GEMINI_FACTOR, False, "generic")

_CLAUDE_OLD = Choice("claude", "o200k_base", 1.28, False, "claude")
_CLAUDE_NEW = Choice("claude", "o200k_base", 1.66, False, "claude-high")
_CLAUDE_NEW_FROM = (4, 7)
# claude-opus-4-7, claude-3-5-sonnet, claude-2.1; eight digits are a date, not a version
_CLAUDE_VERSION = re.compile(r"claude-(?:[a-z]+-)?v?(?P<version>\d(?:[.-]\d{1,2})?)(?!\d)")

_OPENAI_EXACT = re.compile(
    r"gpt-4o|gpt-?4\.1|gpt-?4\.5|gpt-5|gpt-oss|chatgpt-4o|codex|computer-use|o[134](?:-|$)"
)
_OPENAI_OLD = re.compile(r"gpt-4|gpt-3\.?5|text-embedding-(?:3|ada)")
_OPENAI_ANY = re.compile(r"gpt-|chatgpt|o\d(?:-|$)")

_OPEN_FAMILIES: tuple[tuple[re.Pattern[str], Family, float], ...] = (
    # Gemma shares Gemini's tokenizer. Rows: prose, Python, JSON, log of engineering.md, section 1.
    (re.compile(r"gemini|gemma"), "gemini", GEMINI_FACTOR),  # 1.064 1.136 1.332 1.393
    (re.compile(r"deepseek"), "deepseek", 1.05),  # 1.029 1.042 1.096 1.029; distilled models too
    (re.compile(r"qwen|qwq|tongyi"), "qwen", 1.16),  # Qwen-3.5: 1.035 1.072 1.158 1.342
    (re.compile(r"llama"), "llama", 1.0),  # Llama-3: 0.999 0.986 0.998 1.002; Llama-4: 0.998 in the mean
    (re.compile(r"mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral"), "mistral", 1.16),
    (re.compile(r"(?:^|[/_-])glm|chatglm"), "glm", 1.02),  # GLM-4.7: 1.002 0.992 1.006 1.053
    (re.compile(r"minimax|abab"), "minimax", 1.01),  # MiniMax-M3: 0.995 1.011 1.016 1.002
    (re.compile(r"kimi|moonshot"), "kimi", 1.1),  # not measured: midway between GLM and Qwen
)

_PROVIDERS: dict[str, Family] = {
    "openai": "openai",
    "azure": "openai",
    "anthropic": "claude",
    "google": "gemini",
    "gemini": "gemini",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "moonshotai": "kimi",
    "moonshot": "kimi",
    "minimax": "minimax",
    "zhipuai": "glm",
    "zai": "glm",
}


@lru_cache(maxsize=256)
def choose(model_id: str, provider: str | None = None) -> Choice:
    """The choice for a model id as providers and gateways write it, in any case.

    Prefixes (`openrouter/anthropic/…`, `us.anthropic.…`, `ft:…`) and dates don't matter. The id
    decides; the provider only where the id says nothing. Never raises: `UNKNOWN` is the last answer.
    """
    model = model_id.lower().strip()
    name = model.rsplit("/", 1)[-1].removeprefix("ft:").removeprefix("openai.")
    if "claude" in model:
        return _claude(model)
    for pattern, family, factor in _OPEN_FAMILIES:
        if pattern.search(model):
            return _open(family, factor, name)
    if _OPENAI_ANY.match(name) or _OPENAI_EXACT.match(name) or _OPENAI_OLD.match(name):
        return _openai(name)
    return _by_provider(name, (provider or "").lower().strip())


def _by_provider(name: str, provider: str) -> Choice:
    family = _PROVIDERS.get(provider)
    if family == "claude":
        return _claude(name)
    if family == "openai":
        return _openai(name)
    for _, known, factor in _OPEN_FAMILIES:
        if known == family:
            return _open(known, factor, name)
    return UNKNOWN


def _claude(model: str) -> Choice:
    """A Claude without a version is taken for a current one: the larger estimate."""
    if "instant" in model:
        return _CLAUDE_OLD
    found = _CLAUDE_VERSION.search(model)
    if found is None:
        return _CLAUDE_NEW
    major, _, minor = found["version"].replace("-", ".").partition(".")
    return _CLAUDE_NEW if (int(major), int(minor or 0)) >= _CLAUDE_NEW_FROM else _CLAUDE_OLD


def _openai(name: str) -> Choice:
    """tiktoken's own table: o200k from gpt-4o on, cl100k before. Newer ids than it knows are not exact."""
    if _OPENAI_EXACT.match(name):
        return Choice("openai", "o200k_base", 1.0, True, _openai_vision(name))
    if _OPENAI_OLD.match(name):
        return Choice("openai", "cl100k_base", 1.0, True, _openai_vision(name))
    return Choice("openai", "o200k_base", 1.0, False, "openai-patches")


def _openai_vision(name: str) -> Vision:
    """OpenAI's guide "Images and vision", section "Calculating costs"."""
    small = name.startswith(("gpt-4.1", "gpt-5"))
    if small and "nano" in name:
        return "openai-patches-nano"
    if small and "mini" in name:
        return "openai-patches-mini"
    if name.startswith("o4-mini"):
        return "openai-patches-o4-mini"
    if name.startswith("gpt-4o-mini"):
        return "openai-tiles-4o-mini"
    if re.match(r"o[13]", name):
        return "openai-tiles-o"
    if re.match(r"gpt-5(?:-|$|\.1)", name):
        return "openai-tiles-5"
    if name.startswith("gpt-5"):
        return "openai-patches"
    return "openai-tiles-4o"


def _open(family: Family, factor: float, name: str) -> Choice:
    vision: Vision = "generic"
    if family == "gemini":
        vision = (
            "gemini-tiles"
            if re.search(r"gemini-(?:1|2)|gemini-(?:pro|flash)-1|gemma", name)
            else "gemini-fixed"
        )
    return Choice(family, "o200k_base", factor, False, vision)
