"""Summaries from a provider of the daemon's own (`ctxd[llm]`), through pydantic-ai-slim.

The key comes from the environment, is read when it is needed and is never stored. One request is
one request: retries of the library are off, prompt caching is not asked for.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Literal, TypeAlias

import anyio
import msgspec

Trouble: TypeAlias = Literal["overflow", "transient", "fatal", "timeout", "unavailable"]

KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY", "openai": "OPENAI_API_KEY"}


class ProviderOptions(msgspec.Struct, frozen=True):
    """Which model to ask. `key_variable` names the environment variable of the key, "" for the usual one."""

    provider: str
    model: str
    base_url: str = ""
    key_variable: str = ""


class Answer(msgspec.Struct, frozen=True):
    """A model's text and the usage it reported."""

    text: str
    model: str
    usage: dict[str, object]


class Refused(Exception):
    """The provider did not answer. `status` is the HTTP status where there was one; `body` its error."""

    def __init__(
        self, trouble: Trouble, message: str, *, status: int | None = None, body: Any = None
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.status = status
        self.body = body


async def ask(options: ProviderOptions, system: str, user: str, max_tokens: int, within: float) -> Answer:
    """One request; `within` in seconds. Raises Refused."""
    try:
        direct = importlib.import_module("pydantic_ai.direct")
        messages = importlib.import_module("pydantic_ai.messages")
        exceptions = importlib.import_module("pydantic_ai.exceptions")
    except ImportError as error:
        raise Refused("unavailable", "ctxd[llm] is not installed") from error
    model = _model(options)
    request = messages.ModelRequest(
        parts=[messages.SystemPromptPart(content=system), messages.UserPromptPart(content=user)]
    )
    settings = {"max_tokens": max_tokens, "temperature": 0.0, "timeout": within}
    try:
        with anyio.fail_after(within):
            response = await direct.model_request(model, [request], model_settings=settings)
    except TimeoutError as error:
        raise Refused("timeout", "the provider did not answer in time") from error
    except exceptions.ModelHTTPError as error:
        transient = error.status_code in (408, 409, 429) or error.status_code >= 500
        trouble: Trouble = "transient" if transient else "fatal"
        raise Refused(trouble, "the provider refused", status=error.status_code, body=error.body) from error
    except exceptions.AgentRunError as error:
        raise Refused("transient", type(error).__name__) from error
    text = "\n".join(part.content for part in response.parts if part.part_kind == "text")
    usage = {"input_tokens": response.usage.input_tokens, "output_tokens": response.usage.output_tokens}
    return Answer(text=text, model=response.model_name or options.model, usage=dict(usage))


def _model(options: ProviderOptions) -> Any:
    """The library's model object. Raises Refused for a provider that is not served or has no key."""
    variable = options.key_variable or KEY_VARIABLES.get(options.provider, "")
    key = os.environ.get(variable, "") if variable else ""
    if not key and not options.base_url:
        raise Refused("unavailable", f"no key in the environment variable {variable or '(none)'}")
    try:
        match options.provider:
            case "anthropic":
                models = importlib.import_module("pydantic_ai.models.anthropic")
                providers = importlib.import_module("pydantic_ai.providers.anthropic")
                client = importlib.import_module("anthropic").AsyncAnthropic(
                    api_key=key, base_url=options.base_url or None, max_retries=0
                )
                return models.AnthropicModel(
                    options.model, provider=providers.AnthropicProvider(anthropic_client=client)
                )
            case "google":
                models = importlib.import_module("pydantic_ai.models.google")
                providers = importlib.import_module("pydantic_ai.providers.google")
                return models.GoogleModel(
                    options.model,
                    provider=providers.GoogleProvider(api_key=key, base_url=options.base_url or None),
                )
            case "openai":
                models = importlib.import_module("pydantic_ai.models.openai")
                providers = importlib.import_module("pydantic_ai.providers.openai")
                client = importlib.import_module("openai").AsyncOpenAI(
                    api_key=key or "none", base_url=options.base_url or None, max_retries=0
                )
                return models.OpenAIChatModel(
                    options.model, provider=providers.OpenAIProvider(openai_client=client)
                )
            case _:
                raise Refused("unavailable", f"no such provider: {options.provider}")
    except ImportError as error:
        raise Refused("unavailable", f"ctxd[llm] has no {options.provider} here") from error
