"""A provider asked through `ctxd[llm]`, against servers on loopback that speak the three APIs."""

from __future__ import annotations

import importlib
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.compaction.sampling import Trouble
from ctxd.model.settings import SummarizerOptions
from ctxd.service.compacting.provider import ProviderSummarizer
from ctxd.service.host import SampleFailed, SampleReply, SampleRequest
from ctxd.summarizers.provider import KEY_VARIABLES, Answer, ProviderOptions, Refused, ask
from tests.service.host import LocalHost
from tests.service.talks import MODEL, work
from tests.support.behaviour import behaviour
from tests.support.model_server import ModelServer, Sent, completion, failure, serving
from tests.support.scripted_host import ScriptedHost, plausible

for module in ("pydantic_ai", "openai", "anthropic", "google.genai"):
    pytest.importorskip(module, reason="the llm extra is not installed: pip install 'ctxd-server[llm]'")

PROVIDERS = ("anthropic", "google", "openai")
KEY = "sk-test-not-a-real-key-0123456789"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEY_VARIABLES.values():
        monkeypatch.setenv(variable, KEY)
    for proxy in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)


def options(provider: str, server: ModelServer | None = None, **more: Any) -> SummarizerOptions:
    address = ""
    if server is not None:
        address = server.address + ("/v1" if provider == "openai" else "")
    return SummarizerOptions(use="provider", provider=provider, model="asked-for", base_url=address, **more)


def sample(what: SummarizerOptions, within: float = 30.0) -> SampleReply:
    request = SampleRequest("s1", 1, "the rules", (("user", "the talk"),), 321)
    return anyio.run(ProviderSummarizer(what).sample, request, within)


def trouble(what: SummarizerOptions, within: float = 30.0) -> tuple[Trouble, int]:
    with pytest.raises(SampleFailed) as failed:
        sample(what, within)
    return failed.value.kind, failed.value.limit


def everything(sent: Sent) -> str:
    return json.dumps(sent.body)


@behaviour("provider.asks")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_request_carries_rules_and_talk_and_brings_text_and_usage(provider: str) -> None:
    with serving(lambda sent: completion(provider, "the summary")) as server:
        reply = sample(options(provider, server))
    (sent,) = server.sent
    assert (reply.text, reply.model, reply.is_text) == ("the summary", "served", True)
    assert reply.usage == {"input_tokens": 11, "output_tokens": 7}
    assert "the rules" in everything(sent)
    assert "the talk" in everything(sent)
    match provider:
        case "anthropic":
            assert sent.path == "/v1/messages"
            assert (sent.body["model"], sent.body["max_tokens"]) == ("asked-for", 321)
            assert [m["role"] for m in sent.body["messages"]] == ["user"]
        case "openai":
            assert sent.path == "/v1/chat/completions"
            assert sent.body["model"] == "asked-for"
            assert sent.body.get("max_completion_tokens", sent.body.get("max_tokens")) == 321
            assert [m["role"] for m in sent.body["messages"]] == ["system", "user"]
        case _:
            assert "asked-for:generateContent" in sent.path
            assert sent.body["generationConfig"]["maxOutputTokens"] == 321
            assert [c["role"] for c in sent.body["contents"]] == ["user"]


@behaviour("provider.plain")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_is_cached_streamed_or_offered_as_a_tool(provider: str) -> None:
    with serving(lambda sent: completion(provider, "x")) as server:
        sample(options(provider, server))
    (sent,) = server.sent
    for word in (
        "cache_control",
        "cachedContent",
        "prompt_cache",
        "tools",
        "tool_choice",
        "toolConfig",
        "functions",
    ):
        assert word not in everything(sent)
    assert not sent.body.get("stream")
    config = sent.body.get("generationConfig", sent.body)
    assert config["temperature"] == 0


@behaviour("provider.once")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_failure_is_one_request_and_left_to_ctxd_to_try_again(provider: str, status: int) -> None:
    """E §6.3: SDK retries 0; three samples would be nine requests."""
    with serving(lambda sent: failure(provider, status, "try later", "overloaded_error")) as server:
        assert trouble(options(provider, server)) == ("transient", 0)
    assert len(server.sent) == 1


WORDS: list[tuple[str, int, str, str, tuple[Trouble, int]]] = [
    ("anthropic", 400, "prompt is too long: 210000 tokens > 200000 maximum", "", ("overflow", 200_000)),
    ("anthropic", 413, "Request exceeds the maximum size", "request_too_large", ("overflow", 0)),
    ("anthropic", 400, "Your credit balance is too low to access the API", "", ("fatal", 0)),
    ("anthropic", 401, "invalid x-api-key", "authentication_error", ("fatal", 0)),
    (
        "openai",
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "context_length_exceeded",
        ("overflow", 8_192),
    ),
    ("openai", 429, "You exceeded your current quota", "insufficient_quota", ("fatal", 0)),
    ("openai", 429, "Rate limit reached for tokens per min (TPM): Request too large", "", ("transient", 0)),
    ("openai", 404, "The model does not exist", "model_not_found", ("fatal", 0)),
    (
        "google",
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "",
        ("overflow", 1_048_576),
    ),
    ("google", 429, "Resource has been exhausted", "RESOURCE_EXHAUSTED", ("transient", 0)),
    ("google", 403, "API key not valid", "PERMISSION_DENIED", ("fatal", 0)),
]


@behaviour("provider.errors")
@pytest.mark.parametrize(("provider", "status", "message", "code", "expected"), WORDS)
def test_what_providers_say_is_understood(
    provider: str, status: int, message: str, code: str, expected: tuple[Trouble, int]
) -> None:
    with serving(lambda sent: failure(provider, status, message, code)) as server:
        assert trouble(options(provider, server)) == expected
    assert len(server.sent) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_that_never_answers_is_given_up(provider: str) -> None:
    with serving(lambda sent: completion(provider, "x")) as server:
        # The library is imported when it is first used, which takes its time.
        sample(options(provider, server))
    with serving(lambda sent: None) as server:
        assert trouble(options(provider, server), within=0.5) == ("timeout", 0)
    assert len(server.sent) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_connection_that_is_refused_may_work_later(provider: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        what = SummarizerOptions(provider=provider, model="m", base_url=address)
        assert trouble(what) == ("transient", 0)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("body", [{}, {"choices": []}, {"error": None}, {"candidates": []}])
def test_an_answer_of_another_shape_is_trouble_and_never_a_crash(provider: str, body: dict[str, Any]) -> None:
    with serving(lambda sent: (200, body)) as server:
        try:
            reply = sample(options(provider, server))
        except SampleFailed as failed:
            assert failed.kind in ("transient", "fatal")
        else:
            assert reply.text == ""


def test_an_answer_that_only_calls_a_tool_is_no_text() -> None:
    def respond(sent: Sent) -> tuple[int, dict[str, Any]]:
        status, body = completion("openai", "")
        call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        body["choices"][0] = {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": None, "tool_calls": [call]},
        }
        return status, body

    with serving(respond) as server:
        assert not sample(options("openai", server)).is_text


# Keys


@behaviour("provider.key")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_a_key_nobody_is_asked(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLES[provider])
    assert trouble(options(provider)) == ("unavailable", 0)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_of_ones_own_needs_no_key_and_gets_none_of_another(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda sent: completion(provider, "x")) as server:
        sample(options(provider, server, api_key_env="MY_KEY"))
        monkeypatch.setenv("MY_KEY", "mine")
        sample(options(provider, server, api_key_env="MY_KEY"))
    assert KEY not in str([sent.headers for sent in server.sent])
    assert "mine" in str(server.sent[1].headers)
    assert not any("key=" in sent.path for sent in server.sent)


@behaviour("provider.key")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_of_the_hosts_own_goes_before_the_environments_and_is_never_shown(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = "sk-given-by-the-host-0123456789"
    with serving(lambda sent: completion(provider, "x")) as server:
        what = options(provider, server, api_key=given)
        sample(what)
        monkeypatch.delenv(KEY_VARIABLES[provider])
        sample(what)
    for sent in server.sent:
        assert given in str(sent.headers)
        assert KEY not in str(sent.headers)
    assert given not in repr(what) + repr(ProviderOptions(provider, "m", key=given))


def test_an_unknown_provider_is_nobody() -> None:
    assert trouble(SummarizerOptions(provider="acme", model="m")) == ("unavailable", 0)


def test_without_the_extra_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)

    async def run() -> Answer:
        return await ask(ProviderOptions("openai", "m"), "s", "u", 10, 5.0)

    with pytest.raises(Refused) as refused:
        anyio.run(run)
    assert refused.value.trouble == "unavailable"


# In a session


@pytest.fixture
def server() -> Iterator[ModelServer]:
    def respond(sent: Sent) -> tuple[int, dict[str, Any]]:
        talk = sent.body["messages"][-1]["content"]
        request = SampleRequest("s1", 1, "", (("user", talk),), 1)
        return completion("openai", plausible(request))

    with serving(respond) as made:
        yield made


@behaviour("provider.key")
def test_a_session_is_summarised_by_a_provider_and_the_key_is_nowhere(
    tmp_path: Path, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told = {
        "provider": "openai",
        "model": "m",
        "baseUrl": server.address + "/v1",
        "use": "provider",
        "maxOutputTokens": 500,
    }
    with LocalHost(tmp_path / "state", {"summarizer": told}) as host:
        session = host.open(model=MODEL)
        session.append(*work())
        report = session.compact(strategy="model")
        assert (report["outcome"], report["strategy"], report["attempts"]) == ("applied", "model", 1)
        assert report["usage"] == {"input_tokens": 11, "output_tokens": 7}
        server.respond = lambda sent: failure("openai", 401, f"Incorrect API key provided: {KEY}")
        session.append(*work(start=50))
        report = session.compact(strategy="model")
        assert (report["strategy"], report["failureReason"]) == ("deterministic", "deterministic")
        assert KEY not in json.dumps(report)
    assert server.sent[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in caplog.text
    assert "out1 line1" not in caplog.text
    for path in (tmp_path / "state").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_a_host_that_can_be_asked_is_asked_before_a_provider(tmp_path: Path, server: ModelServer) -> None:
    script = ScriptedHost(plausible)
    told = {"provider": "openai", "model": "m", "baseUrl": server.address + "/v1"}
    with LocalHost(tmp_path / "state", {"summarizer": told}, answers=script) as host:
        session = host.open(model=MODEL)
        session.append(*work())
        assert session.compact(strategy="model")["strategy"] == "model"
        assert (len(script.asked), len(server.sent)) == (1, 0)
        script.replies = []
        session.append(*work(start=50))
        assert session.compact(strategy="model")["strategy"] == "model"
        assert len(server.sent) == 1
