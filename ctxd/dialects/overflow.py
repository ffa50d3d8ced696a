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
        |throttl|insufficient[\s_](?:quota|balance|credits?|funds)|billing|overloaded|resource[_\s]exhausted
        |(?:at|over|insufficient)\s+capacity|slow\s+down|please\s+wait\s+before|try\s+again\s+(?:later|after|in\s+\d)
        |请求过于频繁|并发数?过高|频率限制|限流|配额|限额|余额不足|欠费""",
    re.IGNORECASE | re.VERBOSE,
)

_RATE_CODES = frozenset(
    [
        "rate_limit_exceeded",
        "rate_limit_error",
        "rate_limit_reached_error",
        "too_many_requests",
        "throttlingexception",
        "insufficient_quota",
        "resource_exhausted",
        "overloaded_error",
        "servicequotaexceededexception",
        "429",
    ]
)

_EXHAUSTED = re.compile(
    r"""insufficient[_\s](?:quota|balance|credits?|funds)|billing|credit\s+balance|out\s+of\s+credits?
        |exceeded\s+your\s+(?:current\s+)?quota|payment\s+required|余额不足|欠费|额度已用""",
    re.IGNORECASE | re.VERBOSE,
)

_CODES = frozenset(
    [
        "context_length_exceeded",
        "prompt_too_long",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "request_too_large",
        "exceed_context_size_error",
        "input_too_long",
        "max_tokens_exceeded",
        "context_limit_exceeded",
        "1261",
    ]
)

_OUTPUT = re.compile(
    r"""maximum\s+allowed\s+number\s+of\s+output\s+tokens|\d+\s+completion\s+tokens,\s+whereas
        |max_(?:completion_)?tokens\s+(?:should|must)\s+be\s+less""",
    re.IGNORECASE | re.VERBOSE,
)
"""The wish for output was too large: a smaller prompt mends nothing."""

_WORDING = re.compile(
    r"""prompt(?:\s+is|_)?[\s_]too[\s_]long                                   # Anthropic, Ollama, Fireworks
        |(?:input|output)(?:\s+length)?\s+and\s+`?max_tokens`?\s+exceed\s+context   # Anthropic
        |exceeds?\s+the\s+maximum\s+(?:request\s+)?size                       # Anthropic, bytes
        |maximum\s+(?:context|prompt|model)\s+length                           # OpenAI, vLLM, OpenRouter, xAI
        |context[\s_]length[\s_]exceeded
        |\bexceed(?:s|ed)?\s+(?:the\s+|its\s+)?(?:model['’]s\s+|available\s+|maximum\s+|max\s+|configured\s+)*context
        |(?:larger|longer|greater)\s+than\s+the\s+(?:model['’]s\s+)?(?:max(?:imum)?\s+)?context
        |context[\s_](?:window|size|limit|length)\s+(?:has\s+been\s+|was\s+|is\s+)?(?:exceed(?:ed|s)|full|overflow)
        |context\s*window\s*exceeded|context\s+the\s+overflows                # LiteLLM; LM Studio
        |exceeds?\s+(?:the\s+)?max(?:imum)?\s+(?:number\s+of\s+)?(?:input\s+)?(?:tokens?|length)  # Zhipu
        |input\s+token\s+count.{0,40}\b(?:exceeds|only\s+supports)             # Gemini, Vertex
        |input\s+tokens\s+exceed                                              # Azure
        |token\s+count\s+of\s+\d+\s+exceeds\s+the\s+limit                     # Copilot
        |(?:request\s+)?payload\s+size\s+exceeds\s+the\s+limit                # Gemini, bytes
        |input\s+is\s+too\s+long                                             # Bedrock
        |expected\s+maxlength:|'body'\s+failed\s+to\s+satisfy\s+constraint    # Bedrock
        |too\s+many\s+(?:input\s+)?tokens                                    # Bedrock, Cohere
        |reduce\s+the\s+length\s+of\s+(?:the\s+|your\s+|either\s+)?(?:messages|prompt|input|one)  # Groq
        |please\s+(?:shorten|reduce)\s+(?:the\s+|your\s+)?(?:input|prompt|conversation|messages)
        |(?:request|input|prompt|payload)\s+(?:\([^)]*\)\s+)?(?:is\s+|entity\s+)?too\s+(?:large|long|big)
        |(?:range\s+of\s+input\s+length|input\s+length\s+should\s+be)         # Qwen (DashScope)
        |conversation\s+(?:is\s+)?too\s+long
        |exceeded\s+model\s+token\s+limit                                     # Moonshot
        |requested\s+tokens.{0,40}exceed                                      # llama-cpp-python
        |`?inputs`?\s+(?:tokens\s+\+|must\s+have\s+less\s+than)                # TGI
        |'(?:messages|input)\b[^']*':\s+string\s+too\s+long                    # OpenAI
        |超(?:过|出|长).{0,16}(?:上下文|长度|最大|限制|token)|(?:上下文|输入|prompt).{0,12}(?:过长|超长|超过|超出)""",
    re.IGNORECASE | re.VERBOSE,
)

_NUMBER = r"(\d[\d,_ ]{0,12}\d)(?!\d|\.\d|\s*(?:bytes|characters|chars|[KMG]i?B)\b)"
_LIMITS = tuple(
    re.compile(pattern.replace("#", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"\d\s*(?:tokens?\s*)?>=?\s*#(?:\s|,|$)",
        r"\bn_ctx\W{1,4}#",
        r"(?:context|prompt|model)\s+(?:length|size|window)(?:\s+(?:is|of|limit))?[\s:(]*(?:only\s+)?#",
        r"maximum\s+number\s+of\s+tokens\s+allowed\s*\(?#",
        r"only\s+supports\s+up\s+to\s+#",
        r"configured\s+limit\s+of\s+#",
        r"exceeds\s+the\s+limit\s+of\s+#",
        r"model\s+token\s+limit:?\s*#",
        r"too\s+large\s+for\s+model\s+with\s+#",
        r"cannot\s+exceed\s+#",
        r"limit\s+for\s+this\s+model\s+is\s+#",
        r"max\s+input\s+tokens:?\s*#",
        r"input\s+length\s+should\s+be\s*\[\d+,\s*#\]",
        r"must\s+be\s+<=\s*#",
        r"must\s+have\s+less\s+than\s+#\s+tokens",
        r"最大(?:上下文)?长度\D{0,6}#",
    )
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
    """Classify an error. A status of 413 is an overflow unless it speaks of rates, one of 429 never is."""
    codes = {code.lower() for code in (error.code, *_codes(error.body)) if code}
    text = " \n".join([error.message, *_texts(error.body)])[:MAX_TEXT]
    if error.status in (402, 429) or codes & _RATE_CODES:
        return Recognised("rateLimit")
    named = bool(codes & _CODES)
    if not named and _RATE.search(text):
        return Recognised("rateLimit")
    if not named and _OUTPUT.search(text):
        return Recognised("other")
    if named or error.status == 413 or _WORDING.search(text):
        return Recognised("overflow", _limit_in(text, error.body))
    return Recognised("other")


def is_exhausted(error: ProviderError) -> bool:
    """True when money or quota ran out: the same request will not work a moment later (E §6.5)."""
    text = " \n".join([error.code, error.message, *_texts(error.body)])[:MAX_TEXT]
    return error.status == 402 or _EXHAUSTED.search(text) is not None


def _limit_in(text: str, body: Any) -> int:
    """The context length that an error names, tokens; a number of bytes or characters is none."""
    numbers = dict(_numbers(body))
    if "n_ctx" in numbers:
        return numbers["n_ctx"]
    for pattern in _LIMITS:
        if found := pattern.search(text):
            return int(re.sub(r"\D", "", found[1]))
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


def _codes(value: Any) -> Iterator[str]:
    for name, item in _members(value):
        if name in ("code", "type", "status", "__type", "error_code") and isinstance(item, str | int):
            yield str(item).rsplit("#", 1)[-1]


def _numbers(value: Any) -> Iterator[tuple[str, int]]:
    for name, item in _members(value):
        if isinstance(item, int) and not isinstance(item, bool):
            yield name, item


def _members(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every member of the objects in a JSON value, a few levels deep, lists and JSON in strings included."""
    if depth > 6:
        return
    match value:
        case dict():
            for name, item in value.items():
                yield str(name), item
                yield from _members(item, depth + 1)
        case list():
            for item in value[:20]:
                yield from _members(item, depth + 1)
        case str() if value.lstrip()[:1] in ("{", "[") and len(value) <= MAX_TEXT:
            try:
                parsed = msgspec.json.decode(value)
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                return
            yield from _members(parsed, depth + 1)
