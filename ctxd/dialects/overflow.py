"""Telling a request that was too large from one that came too often.

Wording and codes of the providers served, as their documents and public reports give them. Rate
limits are looked for first: several of them speak of tokens and of "too large" as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

ErrorKind: TypeAlias = Literal["overflow", "rateLimit", "other"]

MAX_TEXT = 20_000
"""Characters of an error that are looked at."""

_RATE = re.compile(
    r"""rate[\s_-]?limit|too\s+many\s+requests|quota|per[\s-](?:minute|day|hour|second)|\b[tr]p[mdh]\b
        |throttl|insufficient_quota|billing|overloaded|resource[_\s]exhausted|capacity|slow\s+down
        |请求过于频繁|频率限制|限流|配额|余额不足|欠费""",
    re.IGNORECASE | re.VERBOSE,
)

_RATE_CODES = frozenset(
    [
        "rate_limit_exceeded",
        "rate_limit_error",
        "too_many_requests",
        "throttlingexception",
        "insufficient_quota",
        "resource_exhausted",
        "overloaded_error",
        "servicequotaexceededexception",
        "429",
    ]
)

_CODES = frozenset(
    [
        "context_length_exceeded",
        "prompt_too_long",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "string_above_max_length",
        "request_too_large",
        "exceed_context_size_error",
        "input_too_long",
        "max_tokens_exceeded",
        "context_limit_exceeded",
    ]
)

_WORDING = re.compile(
    r"""prompt(?:\s+is|_)?[\s_]too[\s_]long                                   # Anthropic, Ollama
        |input(?:\s+length)?\s+and\s+`?max_tokens`?\s+exceed\s+context        # Anthropic
        |maximum\s+context\s+length                                           # OpenAI, vLLM, OpenRouter
        |context[\s_]length[\s_]exceeded
        |exceeds?\s+(?:the\s+|its\s+)?(?:model['’]s\s+|available\s+|maximum\s+|configured\s+)*context
        |(?:larger|longer|greater)\s+than\s+the\s+(?:model['’]s\s+)?(?:max(?:imum)?\s+)?context
        |context[\s_](?:window|size|limit)(?:\s+(?:has\s+been|was|is))?\s+(?:exceeded|full|overflow)
        |exceeds?\s+the\s+(?:maximum|max)\s+(?:number\s+of\s+)?(?:input\s+)?tokens?  # Gemini
        |input\s+token\s+count.*exceeds                                       # Gemini, Vertex
        |input\s+is\s+too\s+long                                              # Bedrock
        |too\s+many\s+(?:input\s+)?tokens(?!\s*(?:per|/))                     # Bedrock, Cohere
        |reduce\s+the\s+length\s+of\s+(?:the\s+|your\s+)?(?:messages|prompt|input)   # OpenAI, Groq
        |please\s+(?:shorten|reduce)\s+(?:the\s+|your\s+)?(?:input|prompt|conversation|messages)
        |(?:request|input|prompt|payload)\s+(?:is\s+|entity\s+)?too\s+(?:large|long|big)
        |exceeds?\s+(?:the\s+)?(?:max(?:imum)?|limit).{0,40}\b(?:prompt|input|sequence)\s+length
        |(?:range\s+of\s+input\s+length|input\s+length\s+should\s+be)         # Qwen (DashScope)
        |conversation\s+(?:is\s+)?too\s+long
        |exceeded\s+model\s+token\s+limit                                     # Moonshot
        |requested\s+tokens.{0,40}exceed                                      # llama.cpp
        |超(?:过|出|长).{0,16}(?:上下文|长度|最大|限制|token)|(?:上下文|输入|prompt).{0,12}(?:过长|超长|超过|超出)""",
    re.IGNORECASE | re.VERBOSE,
)

_NUMBER = r"(\d[\d,_ ]{2,12}\d)"
_LIMITS = (
    re.compile(_NUMBER + r"(?:\s*tokens?)?\s*>\s*" + _NUMBER, re.IGNORECASE),
    re.compile(r"context\s+(?:length|window|size)\D{0,40}" + _NUMBER, re.IGNORECASE),
    re.compile(r"(?:max(?:imum)?|limit)\D{0,60}?" + _NUMBER, re.IGNORECASE),
)


class ProviderError(msgspec.Struct, frozen=True):
    """An error as the host passes it on. `body` is any JSON value."""

    status: int | None = None
    code: str = ""
    message: str = ""
    body: Any = None


class Recognised(msgspec.Struct, frozen=True):
    """What an error is. `limit` is the context length the provider named, tokens, 0 when it did not."""

    kind: ErrorKind
    limit: int = 0


def recognise(error: ProviderError) -> Recognised:
    """Classify an error. A status of 413 is an overflow, one of 429 never is."""
    codes = {code.lower() for code in (error.code, *_codes(error.body)) if code}
    text = " \n".join([error.message, *_texts(error.body)])[:MAX_TEXT]
    if error.status == 429 or codes & _RATE_CODES:
        return Recognised("rateLimit")
    named = bool(codes & _CODES) or error.status == 413
    if not named and _RATE.search(text):
        return Recognised("rateLimit")
    if named or _WORDING.search(text):
        return Recognised("overflow", _limit_in(text))
    return Recognised("other")


def _limit_in(text: str) -> int:
    for number, pattern in enumerate(_LIMITS):
        found = pattern.search(text)
        if found:
            digits = re.sub(r"\D", "", found[2] if number == 0 else found[1])
            return int(digits)
    return 0


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    """The strings of a JSON value, a few levels deep: messages nest, and some bodies are JSON in a string."""
    if depth > 6:
        return
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item, depth + 1)
        case list():
            for item in value[:20]:
                yield from _texts(item, depth + 1)


def _codes(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > 4 or not isinstance(value, dict):
        return
    for name, item in value.items():
        if name in ("code", "type", "status", "__type", "error_code") and isinstance(item, str | int):
            yield str(item).rsplit("#", 1)[-1]
        else:
            yield from _codes(item, depth + 1)
