"""A real small model as summariser: as a provider, and as the model behind a host (issue 3, shows 1).

A model this small seldom keeps to the form. What must hold is what holds with any model: nothing is lost,
nothing breaks, and the report says what happened.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.report.wire_check import check_request
from ctxd.service.host import SampleReply, SampleRequest
from tests.service.host import Answer, LocalHost, Session
from tests.service.recorded import SAMPLE, read_one
from tests.service.talks import MODEL
from tests.support.behaviour import behaviour
from tests.support.scripted_host import ScriptedHost
from tests.support.small_model import HOW, model_file, small_model

pytestmark = pytest.mark.slow

ROUNDS = 2
REASONS = {
    None,
    "invalidOutput",
    "emptyExhausted",
    "transientExhausted",
    "contextExhausted",
    "insufficientReduction",
}
OPTIONS: dict[str, Any] = {
    "timeoutMs": 600_000,
    "retryDelayMs": 0,
    "window": 2_560,
    "maxOutputTokens": 400,
}
"""A small part of its window, so that a slow machine is done in minutes."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if model_file() is None:
        pytest.skip(f"no small model here: {HOW}")
    with small_model() as found:
        yield found


def halves() -> list[list[Answer]]:
    """The bundled session in two, cut where no call waits."""
    given = [m for step in read_one(SAMPLE).steps for m in getattr(step, "messages", ())]
    middle = len(given) // 2
    while given[middle - 1]["role"] == "assistant":
        middle += 1
    return [given[:middle], given[middle:]]


def compact_twice(session: Session) -> list[Answer]:
    """Two compactions of the bundled session, with every promise that no model can break."""
    reports = []
    for some in halves():
        session.append(*some)
        report = session.compact(strategy="model")
        told = {name: report.get(name) for name in ("strategy", "failureReason", "attempts", "usage")}
        print(json.dumps(told))  # noqa: T201 - shown with -s
        assert report["outcome"] == "applied"
        assert report.get("failureReason") in REASONS
        assert 1 <= report["attempts"] <= 3
        assert report["after"]["tokens"] <= report["target"]
        assert report["audit"]["constraints"]["verbatim"] == report["audit"]["constraints"]["total"]
        assert report["audit"]["toolOutputs"]["recoverable"] == report["audit"]["toolOutputs"]["evicted"]
        assert check_request("anthropic", session.prepare()["messages"]) == []
        reports.append(report)
    return reports


@behaviour("summary.small-model")
def test_a_small_model_behind_a_provider(tmp_path: Path, address: str) -> None:
    pytest.importorskip("openai", reason="the llm extra is not installed: pip install 'ctxd-server[llm]'")
    told = {**OPTIONS, "use": "provider", "provider": "openai", "model": "m", "baseUrl": address + "/v1"}
    with LocalHost(tmp_path / "state", {"summarizer": told}) as host:
        reports = compact_twice(host.open(model=MODEL))
    assert all(report["usage"]["output_tokens"] > 0 for report in reports)


@behaviour("summary.small-model")
def test_a_small_model_behind_a_host(tmp_path: Path, address: str) -> None:
    async def think(request: SampleRequest) -> SampleReply:
        return await anyio.to_thread.run_sync(complete, address, request)

    script = ScriptedHost(think)
    with LocalHost(tmp_path / "state", {"summarizer": OPTIONS}, answers=script) as host:
        reports = compact_twice(host.open(model=MODEL))
    assert len(script.asked) == sum(report["attempts"] for report in reports)


def complete(address: str, request: SampleRequest) -> SampleReply:
    """What a host does with `sampling/createMessage`."""
    told = [{"role": "system", "content": request.system}]
    told += [{"role": role, "content": text} for role, text in request.messages]
    body = {"messages": told, "max_tokens": request.max_tokens, "temperature": 0, "cache_prompt": False}
    asked = urllib.request.Request(
        f"{address}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=600) as answer:
        got = json.load(answer)
    return SampleReply(text=got["choices"][0]["message"]["content"], usage=got["usage"])
