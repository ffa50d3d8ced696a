"""Public reports of sections A and D, in every dialect that has their shape; the number is the report's."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ctxd.dialects.registry import NAMES, get
from ctxd.model.blocks import MessageView
from tests.service.host import Answer, LocalHost, Refused, Session
from tests.support import natives, sdk
from tests.support.behaviour import behaviour

ALL = pytest.mark.parametrize("dialect", NAMES)
MODEL = {"id": "m", "contextWindow": 60_000}


class Talk:
    """A session of one dialect, and what a host says in it."""

    def __init__(self, host: LocalHost, dialect: str, **fields: Any) -> None:
        self.host = host
        self.dialect = dialect
        self.session: Session = host.open(dialect=dialect, **{"model": MODEL, **fields})

    def user(self, text: str) -> None:
        self.session.append(natives.user(self.dialect, text))

    def said(self, text: str) -> None:
        self.session.append(natives.said(self.dialect, text))

    def call(self, *ids: str) -> list[Answer]:
        made = natives.calling(self.dialect, ids)
        self.session.append(*made)
        return made

    def answer(self, *ids: str, text: str = "done") -> None:
        for call_id in ids:
            self.session.append(natives.answer(self.dialect, call_id, text))

    def turns(self, count: int, words: int = 300, name: str = "t") -> None:
        for number in range(count):
            ids = [f"{name}{number}a", f"{name}{number}b"]
            self.user(f"ask {name}{number}")
            self.call(*ids)
            self.answer(*ids, text="word " * words)
            self.said(f"answer {name}{number}")

    def compact(self, **fields: Any) -> Answer:
        return self.session.compact(strategy="deterministic", **fields)

    def sent(self, phase: str = "turnStart") -> list[Answer]:
        """The next request, which the laws and the SDK's types take."""
        messages: list[Answer] = self.session.prepare(phase)["messages"]
        verdict = self.host.call("context/validate", dialect=self.dialect, messages=messages)
        assert verdict == {"ok": True, "violations": []}
        assert sdk.faults(self.dialect, messages) == []
        return messages

    def shown(self, messages: list[Answer]) -> tuple[list[str], list[str]]:
        """Ids of all calls and of all results."""
        views = self.views(messages)
        return [c.call_id for v in views for c in v.calls], [r.call_id for v in views for r in v.results]

    def views(self, messages: list[Answer]) -> list[MessageView]:
        return [get(self.dialect).view(message) for message in messages]


@behaviour("reports.every-dialect")
@ALL
def test_a01_a_compaction_between_call_and_result_parts_no_pair(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(12)
    talk.user("go")
    talk.call("x")
    assert talk.compact()["outcome"] == "applied"
    talk.answer("x", text="late but here")
    talk.said("done")
    talk.turns(12, name="u")
    assert talk.compact()["outcome"] == "applied"
    messages = talk.sent()
    assert json.dumps(messages).count("[Background:") == 1
    assert messages == talk.session.messages("model")


@ALL
def test_a02_no_orphan_result_survives_chained_compactions(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(8)
    talk.user("go")
    talk.call("tuA")
    talk.answer("tuA")
    talk.call("tuB")
    assert talk.compact()["outcome"] == "applied"
    with pytest.raises(Refused) as refused:
        talk.answer("tuZ")
    assert refused.value.rules == [("orphanResult", 0)]
    talk.answer("tuB")
    talk.said("on")
    for name in "uv":
        talk.turns(8, name=name)
        talk.compact()
        calls, results = talk.shown(talk.sent())
        assert calls == results


@pytest.mark.parametrize("target", [1, 2_000, 8_000, 16_000])
@ALL
def test_a03_a_cut_never_falls_between_calls_and_their_results(
    host: LocalHost, dialect: str, target: int
) -> None:
    talk = Talk(host, dialect)
    for number in range(60):
        ids = [f"{number}a", f"{number}b"]
        messages = [natives.user(dialect, "go"), *natives.calling(dialect, ids)]
        messages += [natives.answer(dialect, i, "word " * 120) for i in ids]
        talk.session.append(*messages, natives.said(dialect, "ok"))
    assert talk.compact(targetTokens=target)["outcome"] == "applied"
    calls, results = talk.shown(talk.sent())
    assert calls == results
    assert len(calls) % 2 == 0


@ALL
def test_a04_a_host_is_shown_which_result_is_unexpected_and_where(host: LocalHost, dialect: str) -> None:
    made = [
        natives.user(dialect, "go"),
        *natives.calling(dialect, ["toolu_1"]),
        natives.answer(dialect, "toolu_1", "x"),
        natives.said(dialect, "ok"),
        natives.answer(dialect, "toolu_9", "y"),
    ]
    verdict = host.call("context/validate", dialect=dialect, messages=made, repair=True)
    (violation,) = verdict["violations"]
    assert (violation["rule"], violation["index"]) == ("orphanResult", len(made) - 1)
    assert "toolu_9" in violation["detail"]
    assert verdict["repaired"] == made[:-1]
    assert [(edit["rule"], edit["index"]) for edit in verdict["edits"]] == [("orphanResult", len(made) - 1)]


@ALL
def test_a08_a_parallel_batch_goes_whole_or_stays_whole(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    for turn in range(14):
        talk.user(f"ask {turn}")
        ids = [f"{turn}fc{n}" for n in range(3)]
        talk.call(*ids)
        talk.answer(*ids, text="word " * 150)
        talk.said("ok")
    for target in (6_000, 3_000, 1_500, 700):
        assert talk.compact(targetTokens=target)["outcome"] in ("applied", "noop")
        calls, results = talk.shown(talk.sent())
        for turn in range(14):
            batch = [f"{turn}fc{n}" for n in range(3)]
            assert [i for i in calls if i in batch] in ([], batch)
            assert [i for i in results if i in batch] in ([], batch)


@ALL
def test_a09_calls_in_flight_are_no_orphans(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(12)
    talk.user("go")
    talk.call("tu1", "tu2")
    assert talk.compact()["outcome"] == "applied"
    messages = talk.session.prepare("iteration")["messages"]
    assert talk.shown(messages)[0][-2:] == ["tu1", "tu2"]
    talk.answer("tu2", "tu1")
    assert talk.shown(talk.sent("iteration"))[1][-2:] == ["tu2", "tu1"]


@ALL
def test_a10_an_old_call_without_result_gets_a_stub_and_blocks_nothing(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.user("go")
    talk.call("tu1")
    talk.user("never mind")
    talk.call("tu2")
    talk.answer("tu2")
    calls, results = talk.shown(talk.sent())
    assert calls == results == ["tu1", "tu2"]
    talk.turns(12)
    assert talk.compact()["outcome"] == "applied"
    assert talk.sent() == talk.session.messages("model")


@ALL
def test_a11_what_is_pending_is_read_from_the_log_after_a_rewrite(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(12)
    talk.user("go")
    talk.call("tu1", "tu2")
    talk.answer("tu1")
    talk.compact()
    host.reopen()
    talk.session = host.open(dialect=dialect)
    talk.answer("tu2", text="the real one")
    talk.said("on")
    messages = talk.sent()
    assert talk.shown(messages)[1].count("tu2") == 1
    assert "the real one" in json.dumps(messages)
    assert "No result" not in json.dumps(messages)


@ALL
def test_a05_a_second_trigger_right_after_a_boundary_does_nothing(host: LocalHost, dialect: str) -> None:
    host.configure({"elision": {"enabled": False}})
    talk = Talk(host, dialect, model={"id": "m", "contextWindow": 20_000})
    talk.turns(14)
    talk.user("go")
    talk.call("pending")
    first = talk.session.prepare()
    assert first["report"]["compactionPerformed"]
    for phase in ("turnStart", "iteration", "turnStart"):
        again = talk.session.prepare(phase)
        assert (again["generation"], again["messages"]) == (first["generation"], first["messages"])
    assert talk.shown(first["messages"])[0][-1] == "pending"
    talk.answer("pending")
    assert talk.shown(talk.sent())[1][-1] == "pending"


@ALL
def test_a07_a_result_that_lands_while_compacting_is_kept(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(15)
    ids = [f"p{n}" for n in range(13)]
    talk.user("go")
    talk.call(*ids)
    talk.answer(*ids[:7], text="early")
    late = [natives.answer(dialect, call_id, f"meanwhile {call_id}") for call_id in ids[7:]]
    answers = host.together(
        ("context/compact", {"sessionId": talk.session.id, "strategy": "deterministic"}),
        *[("session/append", {"sessionId": talk.session.id, "messages": [one]}) for one in late],
    )
    assert answers[0]["outcome"] == "applied"
    messages = talk.sent()
    calls, results = talk.shown(messages)
    assert calls[-13:] == ids
    assert sorted(results[-13:]) == sorted(ids)
    said = json.dumps(messages)
    assert all(f"meanwhile {call_id}" in said for call_id in ids[7:])


@pytest.mark.parametrize("dialect", ["openai-responses", "gemini"])
def test_a12_the_newest_tool_loop_is_frozen_byte_for_byte(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(12)
    loop = [natives.user(dialect, "go")]
    for number in range(3):
        loop += natives.calling(dialect, [f"l{number}"])
        loop.append(natives.answer(dialect, f"l{number}", "x"))
    talk.session.append(*loop)
    assert talk.sent()[-len(loop) :] == loop
    talk.compact()
    newest = 3 if dialect == "openai-responses" else 2
    assert talk.sent("iteration")[-newest:] == loop[-newest:]


@ALL
def test_a13_a_message_with_signed_reasoning_is_kept_whole_or_not_at_all(
    host: LocalHost, dialect: str
) -> None:
    host.configure({"elision": {"startAt": 0.0, "oversizedBytes": 200}, "cache": {"expectedCalls": 1000}})
    talk = Talk(host, dialect)
    signed: list[Answer] = []
    for number in range(8):
        talk.user(f"ask {number}")
        signed += talk.call(f"s{number}")
        talk.answer(f"s{number}", text="word " * 400)
        talk.said("ok")
    assert talk.session.prepare()["report"]["stages"]
    kept = [m for m, v in zip(talk.sent(), talk.views(talk.sent())) if v.calls]
    assert kept == [message for message in signed if get(dialect).view(message).calls]
    talk.compact(targetTokens=2_000)
    messages = talk.sent()
    for message, view in zip(messages, talk.views(messages)):
        assert not view.calls or message in signed
    if dialect == "openai-responses":
        kinds = [message.get("type", "message") for message in messages]
        assert kinds.count("reasoning") == kinds.count("function_call")


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "gemini"])
def test_a16_reasoning_that_must_be_passed_back_stays_with_its_call(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.turns(12)
    asked = natives.user(dialect, "go")
    loop = [*natives.calling(dialect, ["c1"]), natives.answer(dialect, "c1", "x")]
    if dialect == "anthropic":
        thinking = {"type": "thinking", "thinking": "hm " * 50, "signature": "c2ln"}
        loop[0]["content"].insert(0, thinking)
    talk.session.append(asked, *loop)
    assert talk.compact()["outcome"] == "applied"
    assert talk.sent("iteration")[-len(loop) :] == loop
    host.reopen()
    talk.session = host.open(dialect=None)
    assert talk.sent("iteration")[-len(loop) :] == loop


@pytest.mark.parametrize("name", ["thoughtSignature", "thought_signature"])
def test_a17_signatures_of_parallel_calls_survive_byte_for_byte(host: LocalHost, name: str) -> None:
    talk = Talk(host, "gemini")
    first = {"functionCall": {"id": "c1", "name": "f", "args": {}}, name: "CpMB+/=", "extra": None}
    second = {"functionCall": {"id": "c2", "name": "f", "args": {}}}
    turn = [
        natives.user("gemini", "go"),
        {"role": "model", "parts": [first, second]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": i, "name": "f", "response": {"output": "x" * 9000}}}
                for i in ("c1", "c2")
            ],
        },
    ]
    talk.session.append(*turn)
    assert talk.session.prepare()["messages"] == turn
    host.reopen()
    assert host.open(dialect=None).messages("model") == turn


EMPTY: dict[str, list[Answer]] = {
    "openai-responses": [
        {"role": "user", "content": ""},
        {"role": "user", "content": []},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": ""}, {"type": "input_text", "text": "k"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": " "}]},
        {"type": "reasoning", "id": "r", "summary": []},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": " \n"}]},
        {"role": "model"},
        {"role": "model", "parts": []},
        {"role": "user", "parts": [{"text": ""}, {"text": "k"}, {}]},
    ],
}


@pytest.mark.parametrize("dialect", list(EMPTY))
def test_a18_nothing_empty_is_ever_sent(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.user("go")
    talk.session.append(*EMPTY[dialect])
    talk.user("on")
    shown = [v for v in talk.views(talk.sent()) if v.blocks]
    assert "\n".join(view.text for view in shown) == "go\nk\non"
    assert len(talk.session.lines()) == len(EMPTY[dialect]) + 2
    talk.turns(12)
    talk.compact(targetTokens=2_000)
    talk.sent()


@ALL
def test_a20_a_boundary_is_told_by_identity_not_by_likeness(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    for _ in range(30):
        talk.user("go on " + "word " * 200)
        talk.said("ok")
    assert talk.compact(targetTokens=2_000)["outcome"] == "applied"
    messages = talk.sent()
    assert json.dumps(messages).count("[Background:") == 1
    assert talk.session.project()["tokens"] < 3_000


USAGE = {
    "openai-responses": (
        {"input_tokens": 93_537, "input_tokens_details": {"cached_tokens": 93_440}, "output_tokens": 0},
        93_537,
    ),
    "gemini": (
        {
            "promptTokenCount": 5_423,
            "cachedContentTokenCount": 1_381,
            "thoughtsTokenCount": 48,
            "totalTokenCount": 5_471,
        },
        5_423,
    ),
}


@pytest.mark.parametrize("dialect", list(USAGE))
def test_d43_cached_tokens_are_in_the_prompt_once(host: LocalHost, dialect: str) -> None:
    talk = Talk(host, dialect)
    talk.user("go")
    usage, tokens = USAGE[dialect]
    projection = talk.session.report(talk.session.prepare()["requestId"], usage=usage)["projection"]
    assert (projection["tokens"], projection["source"]) == (tokens, "provider")


STRUCTURED = {
    "openai-responses": {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [{"type": "rows", "rows": [[n, *range(20)] for n in range(900)]}],
    },
    "gemini": {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "id": "c1",
                    "name": "Read",
                    "response": {"rows": [[n, *range(20)] for n in range(900)]},
                }
            }
        ],
    },
}


@pytest.mark.parametrize("dialect", list(STRUCTURED))
def test_d49_structured_results_count(host: LocalHost, dialect: str) -> None:
    host.configure({"recall": {"turnShare": 1.0}})
    talk = Talk(host, dialect)
    talk.user("go")
    talk.call("c1")
    before = talk.session.project()["tokens"]
    talk.session.append(STRUCTURED[dialect])
    assert talk.session.project()["tokens"] - before > 20_000


def picture(dialect: str, side: int, filler: int) -> Answer:
    """An image as a part of a user's message, and of a result where it may stand in one."""
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + side.to_bytes(4, "big") * 2 + b"\x08\x06\x00\x00\x00"
    data = base64.b64encode(header + bytes(filler)).decode()
    match dialect:
        case "anthropic":
            return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        case "openai-chat":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        case "openai-responses":
            link = f"data:image/png;base64,{data}"
            return {"type": "input_image", "image_url": link, "detail": "auto"}
        case _:
            return {"inlineData": {"mimeType": "image/png", "data": data}}


def shows(dialect: str, *parts: Answer) -> Answer:
    return {"role": "user", "parts" if dialect == "gemini" else "content": list(parts)}


@ALL
def test_d50_an_image_is_tokens_by_formula_and_bytes_by_what_is_sent(host: LocalHost, dialect: str) -> None:
    model = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}.get(dialect, "gpt-4o")
    talk = Talk(host, dialect, model={"id": model, "contextWindow": 200_000})
    before = talk.session.project()
    shot = picture(dialect, 1000, 1_000_000)
    talk.session.append(shows(dialect, shot))
    after = talk.session.project()
    assert 200 < after["tokens"] - before["tokens"] < 3_000
    assert after["bytes"]["value"] - before["bytes"]["value"] > 1_300_000
    talk.turns(12)
    report = talk.compact()
    assert report["outcome"] == "applied"
    assert "A" * 400 not in json.dumps([talk.sent(), report])


@ALL
def test_d51_a_request_too_large_in_bytes_lets_its_oldest_images_go(host: LocalHost, dialect: str) -> None:
    limit = 320_000
    host.configure({"wire": {"maxBytes": limit}})
    talk = Talk(host, dialect, model={"id": "m", "contextWindow": 200_000})
    shots = [picture(dialect, 500 + number, 4_700) for number in range(53)]
    for number, shot in enumerate(shots):
        talk.session.append(shows(dialect, shot))
        talk.said(f"seen {number}")
    talk.user("and now?")
    made = talk.session.prepare()
    assert "byteBudget" in {stage["reason"] for stage in made["report"]["stages"]}
    assert made["projection"]["bytes"]["value"] <= limit
    messages = json.dumps(talk.sent())
    kept = [number for number, shot in enumerate(shots) if json.dumps(shot) in messages]
    assert kept == list(range(53 - len(kept), 53))
    assert 0 < len(kept) < 53


TOOLS: dict[str, Any] = {
    "openai-responses": lambda name, schema: {"type": "function", "name": name, "parameters": schema},
    "gemini": lambda name, schema: {"functionDeclarations": [{"name": name, "parameters": schema}]},
}


@pytest.mark.parametrize("dialect", list(TOOLS))
def test_d53_tool_schemas_are_a_part_of_the_projection(host: LocalHost, dialect: str) -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(80)}}
    tools = [TOOLS[dialect](f"tool_{n}", schema) for n in range(44)]
    talk = Talk(host, dialect, tools=tools, model={"id": "m", "contextWindow": 200_000})
    projection = talk.session.project(detail="categories")
    (share,) = [c for c in projection["categories"] if c["name"] == "tools"]
    assert share["tokens"] > 25_000
    assert projection["floor"] >= share["tokens"]
    assert talk.session.prepare()["tools"] == tools
