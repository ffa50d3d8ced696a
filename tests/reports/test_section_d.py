"""Public reports, section D: tokens, bytes, windows. Each test has the input of its report."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.reports.checks import MODEL, calls, compact, results, said, sent, talk, user
from tests.service.host import Answer, LocalHost, Session


def anchored(session: Session, usage: Answer) -> Answer:
    """The projection after a request whose answer had no messages, only usage."""
    session.append(user("go"))
    answer: Answer = session.report(session.prepare()["requestId"], usage=usage)["projection"]
    return answer


@pytest.mark.parametrize(
    ("dialect", "usage", "tokens"),
    [
        (
            "anthropic",
            {"input_tokens": 10, "cache_creation_input_tokens": 42_444, "cache_read_input_tokens": 0},
            42_454,
        ),
        (
            "openai-chat",
            {"prompt_tokens": 93_537, "prompt_tokens_details": {"cached_tokens": 93_440}},
            93_537,
        ),
    ],
)
def test_d43_cached_tokens_are_in_the_prompt_once(
    host: LocalHost, dialect: str, usage: Answer, tokens: int
) -> None:
    projection = anchored(host.open(dialect=dialect, model=MODEL), usage)
    assert (projection["tokens"], projection["source"]) == (tokens, "provider")


def test_d44_what_a_prompt_holds_beside_the_messages_is_shown(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    anchored(session, {"input_tokens": 12, "cache_read_input_tokens": 20_000, "output_tokens": 0})
    categories = {c["name"]: c["tokens"] for c in session.project(detail="categories")["categories"]}
    assert sum(categories.values()) == pytest.approx(20_012, abs=3)
    assert categories["unseen"] > 19_900


def test_d46_before_and_after_are_on_one_scale_and_a_noop_is_no_success(host: LocalHost) -> None:
    session = host.open(model=MODEL)
    session.append(user("short"), said("shorter"))
    report = compact(session)
    assert (report["outcome"], report["after"]) == ("noop", report["before"])
    assert "checkpointId" not in report
    assert session.project()["generation"] == 0
    talk(session, 15)
    items = session.project(detail="items")["items"]
    report = compact(session)
    assert report["outcome"] == "applied"
    assert report["before"]["tokens"] == pytest.approx(sum(i["tokens"] for i in items), rel=0.01)
    items = session.project(detail="items")["items"]
    assert report["after"]["tokens"] == pytest.approx(sum(i["tokens"] for i in items), rel=0.01)


def test_d47_fixed_overhead_is_carried_over_a_compaction_and_every_number_says_what_it_is(
    host: LocalHost,
) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
    talk(session, 15)
    session.append(user("go"))
    local = session.prepare()
    assert local["projection"]["source"] == "local_estimate"
    usage = {"input_tokens": local["projection"]["tokens"] + 20_000, "output_tokens": 5}
    measured = session.report(local["requestId"], said("done"), usage=usage)["projection"]
    assert measured["source"] == "provider"
    report = compact(session)
    after = session.project()
    assert after["source"] == "local_estimate"
    assert after["tokens"] == pytest.approx(report["after"]["tokens"] + 20_000, rel=0.05)


SCRIPTS: list[tuple[str, str, int]] = [
    # o200k's own count is 50; the 60 of the report are what decisions take it for (a fifth more).
    ("Chinese", "你好世界" * 25, 50),
    ("emoji", "👩‍👩‍👧🏽" * 25, 100),
    ("dense code", "a[i]+=b[j]^(c<<3)|~d;" * 20, 150),
]


@pytest.mark.parametrize(("text", "least"), [s[1:] for s in SCRIPTS], ids=[s[0] for s in SCRIPTS])
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "deepseek-v3"])
def test_d48_other_scripts_are_not_a_quarter_token_a_character(
    host: LocalHost, model: str, text: str, least: int
) -> None:
    assert host.call("tokens/count", text=text, model={"id": model})["tokens"] >= least
    session = host.open(model={"id": model, "contextWindow": 60_000})
    before = session.project()["tokens"]
    session.append(user(text))
    assert session.project()["tokens"] - before >= least


def test_d49_structured_results_count_and_one_old_usage_hides_nothing(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
    anchored(session, {"input_tokens": 30, "output_tokens": 0})
    rows: list[Answer] = [{"type": "row", "id": n, "values": list(range(20))} for n in range(900)]
    session.append(calls("c1"), results(("c1", rows)))
    projection = session.project()
    assert projection["tokens"] > 25_000
    assert projection["estimatedPendingTokens"] > 25_000


def image(side: int, filler: int = 0) -> Answer:
    """A PNG of `side` pixels by its header, padded to some bytes."""
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + side.to_bytes(4, "big") * 2 + b"\x08\x06\x00\x00\x00"
    data = base64.b64encode(header + bytes(filler)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def test_d50_an_image_is_tokens_by_formula_and_bytes_by_what_is_sent(host: LocalHost) -> None:
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
    before = session.project()
    picture = image(1000, 1_000_000)
    session.append({"role": "user", "content": [picture, {"type": "text", "text": "what is it?"}]})
    after = session.project(detail="categories")
    grown = after["tokens"] - before["tokens"]
    assert 1_200 < grown < 2_000
    assert after["bytes"]["value"] - before["bytes"]["value"] > 1_300_000
    assert {c["name"] for c in after["categories"]} >= {"media"}
    talk(session, 15)
    report = compact(session)
    assert report["outcome"] == "applied"
    data = picture["source"]["data"][:400]
    assert data not in str(session.messages("model")[0])
    assert data not in str(report)


def test_d51_a_request_too_large_in_bytes_lets_its_oldest_images_go(host: LocalHost) -> None:
    """53 images of 33.6 MB in the report; here a hundredth of that against a hundredth of the limit."""
    limit = 320_000
    host.configure({"wire": {"maxBytes": limit}})
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
    for number in range(53):
        shot: list[Any] = [image(500 + number, 4_700)]
        session.append(
            user(f"look {number}"), calls(f"c{number}"), results((f"c{number}", shot)), said("seen")
        )
    assert session.project()["bytes"]["value"] > limit
    made = session.prepare()
    assert "byteBudget" in {stage["reason"] for stage in made["report"]["stages"]}
    assert made["projection"]["bytes"]["value"] <= limit
    assert made["projection"]["bytes"]["limit"] == limit
    messages = sent(session)
    shown = [n for n in range(53) if image(500 + n, 4_700) in find_images(messages)]
    assert shown
    assert shown == list(range(shown[0], 53))
    kept = [m for m in session.messages() if find_images([m])]
    assert len(kept) == 53


def find_images(messages: list[Answer]) -> list[Answer]:
    """All images inside results."""
    return [
        part
        for message in messages
        if isinstance(message["content"], list)
        for block in message["content"]
        if isinstance(block.get("content"), list)
        for part in block["content"]
        if part["type"] == "image"
    ]


@pytest.mark.parametrize(
    ("model", "value", "source"),
    [
        ({"id": "my-local-model"}, None, "unknown"),
        ({"id": "my-local-model", "contextWindow": 0}, None, "unknown"),
        ({"id": "my-local-model", "contextWindow": 8_192}, 8_192, "host"),
        ({"id": "told-by-option"}, 131_072, "host"),
    ],
)
def test_d52_a_window_is_known_or_said_to_be_unknown_and_never_guessed(
    host: LocalHost, model: Answer, value: int | None, source: str
) -> None:
    host.configure({"model": {"windows": {"told-by-option": 131_072}}})
    session = host.open(model=model)
    assert session.info["window"] == {"value": value, "source": source}
    projection = session.project()
    if value is None:
        assert (projection["phase"], projection["window"]) == ("unknown", None)
        assert projection["availableForInput"] is None
    else:
        assert 0 < projection["handoffThreshold"] < projection["compactionThreshold"]
        assert projection["compactionThreshold"] < projection["availableForInput"] < value


def test_d53_tool_schemas_are_a_part_of_the_projection(host: LocalHost) -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(80)}}
    tools = [
        {"name": f"tool_{n}", "description": "does a thing " * 60, "input_schema": schema} for n in range(44)
    ]
    session = host.open(model={"id": "claude-sonnet-4-5", "contextWindow": 200_000}, tools=tools)
    projection = session.project(detail="categories")
    (share,) = [c for c in projection["categories"] if c["name"] == "tools"]
    assert share["tokens"] > 25_000
    assert projection["tokens"] >= share["tokens"]
    assert projection["floor"] >= share["tokens"]
