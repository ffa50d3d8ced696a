"""Summaries from a provider of the daemon's own (`ctxd[llm]`), through pydantic-ai-slim.

The key comes from the host or the environment, is read when it is needed and is never stored. One request is
one request: retries of the library are off, and neither tools nor prompt caching are asked for.
Importing the library takes seconds, so it happens in a thread, when a summary is first wanted.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

import anyio
import msgspec

from ctxd.compaction.sampling import Trouble

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY", "openai": "OPENAI_API_KEY"}

_TYPES = {
    "anthropic": ("AnthropicModel", "AnthropicProvider"),
    "google": ("GoogleModel", "GoogleProvider"),
    "openai": ("OpenAIChatModel", "OpenAIProvider"),
}

NO_KEY = "none"
"""What a server behind `base_url` is given where there is no key: local ones do not ask for any."""

_TALKATIVE = ("anthropic", "google_genai", "httpcore", "httpcore2", "httpx", "httpx2", "openai")
"""Loggers that tell bodies of requests, which are conversations."""


class ProviderOptions(msgspec.Struct, frozen=True):
    """Which model to ask. `key_variable` names the environment variable of the key, "" for the usual one.

    A `key` that is given goes before it.
    """

    provider: str
    model: str
    base_url: str = ""
    key_variable: str = ""
    key: str = ""

    def __repr__(self) -> str:
        return f"ProviderOptions({self.provider!r}, {self.model!r})"


class Answer(msgspec.Struct, frozen=True):
    """A model's text and the usage it reported. `is_text` is false where it gave something else instead."""

    text: str
    model: str
    usage: dict[str, Any]
    is_text: bool = True


class Refused(Exception):
    """There is no answer. `answered`: the provider said so itself, with `status` and `body`."""

    def __init__(
        self, trouble: Trouble, message: str, *, status: int | None = None, body: Any = None
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.status = status
        self.body = body

    @property
    def answered(self) -> bool:
        return self.status is not None


async def ask(options: ProviderOptions, system: str, user: str, max_tokens: int, within: float) -> Answer:
    """One request; `within` in seconds. Raises Refused, and nothing else but for cancellation."""
    settings = {"max_tokens": max_tokens, "temperature": 0.0, "timeout": within, "max_retries": 0}
    try:
        with anyio.fail_after(within):
            library = await anyio.to_thread.run_sync(_load, options)
            async with library.provider:
                return await _request(library, system, user, settings)
    except Refused:
        raise
    except TimeoutError as error:
        raise Refused("timeout", "the provider did not answer in time") from error
    except Exception as error:
        raise _refusal(error) from error


class _Library(msgspec.Struct, frozen=True):
    """Modules and objects of pydantic-ai for one request."""

    direct: Any
    messages: Any
    provider: Any
    model: Any


def _load(options: ProviderOptions) -> _Library:
    """The library with the model that options name. Raises Refused where there is none, or no key."""
    if options.provider not in _TYPES:
        raise Refused("unavailable", f"no such provider: {options.provider}")
    variable = options.key_variable or KEY_VARIABLES[options.provider]
    key = options.key or os.environ.get(variable, "")
    if not key and not options.base_url:
        raise Refused("unavailable", f"no key in the environment variable {variable}")
    try:
        direct = importlib.import_module("pydantic_ai.direct")
        messages = importlib.import_module("pydantic_ai.messages")
        models = importlib.import_module(f"pydantic_ai.models.{options.provider}")
        providers = importlib.import_module(f"pydantic_ai.providers.{options.provider}")
    except ImportError as error:
        raise Refused("unavailable", "ctxd[llm] is not installed") from error
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    model_type, provider_type = _TYPES[options.provider]
    provider = getattr(providers, provider_type)(api_key=key or NO_KEY, base_url=options.base_url or None)
    model = getattr(models, model_type)(options.model, provider=provider)
    return _Library(direct, messages, provider, model)


async def _request(library: _Library, system: str, user: str, settings: dict[str, Any]) -> Answer:
    parts = [
        library.messages.SystemPromptPart(content=system),
        library.messages.UserPromptPart(content=user),
    ]
    response = await library.direct.model_request(
        library.model, [library.messages.ModelRequest(parts=parts)], model_settings=settings
    )
    texts = [part.content for part in response.parts if part.part_kind == "text"]
    others = [part for part in response.parts if part.part_kind not in ("text", "thinking")]
    usage = response.usage
    return Answer(
        text="\n".join(texts),
        model=response.model_name or "",
        usage={"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        is_text=bool(texts) or not others,
    )


def _refusal(error: Exception) -> Refused:
    """The library's errors: those with an HTTP status carry the provider's own words in `body`."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return Refused("fatal", "the provider refused", status=status, body=getattr(error, "body", None))
    exceptions = importlib.import_module("pydantic_ai.exceptions")
    transient = isinstance(error, exceptions.AgentRunError | OSError)
    return Refused("transient" if transient else "fatal", type(error).__name__)
