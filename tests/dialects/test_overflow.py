"""Errors of the providers served, as they word them: too large, too often, or something else.

`provider_errors.jsonl` has the wordings and bodies of providers' documents and of public bug reports, one
error a line; `limit` is the context length it names, tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxd.dialects.overflow import ErrorKind, ProviderError, Recognised, recognise
from tests.support.behaviour import behaviour

ERRORS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "provider_errors.jsonl").read_text().splitlines()
]


def of_kind(kind: ErrorKind) -> list[Any]:
    return [pytest.param(error, id=error["name"]) for error in ERRORS if error["kind"] == kind]


def read(error: dict[str, Any]) -> ProviderError:
    return ProviderError(
        status=error.get("status"),
        code=error.get("code", ""),
        message=error.get("message", ""),
        body=error.get("body"),
    )


@behaviour("overflow.recognised")
@pytest.mark.parametrize("error", of_kind("overflow"))
def test_a_request_that_was_too_large_is_recognised_with_the_limit_it_names(error: dict[str, Any]) -> None:
    assert recognise(read(error)) == Recognised("overflow", error.get("limit", 0))


@behaviour("overflow.rate-limits")
@pytest.mark.parametrize("error", of_kind("rateLimit"))
def test_a_rate_limit_is_never_taken_for_an_overflow(error: dict[str, Any]) -> None:
    assert recognise(read(error)) == Recognised("rateLimit")


@pytest.mark.parametrize("error", of_kind("other"))
def test_what_a_smaller_prompt_does_not_mend_is_neither(error: dict[str, Any]) -> None:
    assert recognise(read(error)) == Recognised("other")


@pytest.mark.parametrize("error", [*of_kind("overflow"), *of_kind("rateLimit")])
def test_the_same_is_recognised_when_a_host_only_prints_it(error: dict[str, Any]) -> None:
    body = json.dumps(error.get("body"), ensure_ascii=False)
    printed = f"Error code: {error.get('status')} - {error.get('message', '')} {body}"
    assert recognise(ProviderError(status=error.get("status"), message=printed)).kind == error["kind"]


@pytest.mark.parametrize("error", of_kind("overflow"))
def test_a_status_of_429_is_never_an_overflow(error: dict[str, Any]) -> None:
    assert recognise(read({**error, "status": 429})) == Recognised("rateLimit")


def test_a_huge_error_is_judged_by_its_beginning() -> None:
    body = {"error": "y" * 5_000_000}
    late = ProviderError(status=400, message="x" * 5_000_000 + " prompt is too long", body=body)
    assert recognise(late) == Recognised("other")
    early = ProviderError(status=400, message="prompt is too long" + "x" * 5_000_000, body=body)
    assert recognise(early) == Recognised("overflow")


def test_a_body_nested_without_end_is_no_error() -> None:
    body: dict[str, Any] = {}
    for _ in range(900):
        body = {"error": body}
    assert recognise(ProviderError(status=400, body=body)) == Recognised("other")
