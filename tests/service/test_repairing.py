"""Repair of a list of messages as octos.md, section 29, has it, and better where that loses something."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.registry import get
from tests.reports.checks import said, user
from tests.service.host import Answer, LocalHost
from tests.support.behaviour import behaviour

Message = dict[str, Any]


def calls(*ids: str, content: str | None = None) -> Message:
    tools = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": tools}


def result(call_id: str, text: str = "") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text or f"result of {call_id}"}


def repaired(host: LocalHost, *messages: Message, dialect: str = "openai-chat") -> list[Message]:
    """The list repaired: lawful, and a second repair changes nothing."""
    verdict = host.call("context/validate", dialect=dialect, messages=list(messages), repair=True)
    made: list[Message] = verdict["repaired"]
    again: Answer = host.call("context/validate", dialect=dialect, messages=made, repair=True)
    assert (again["ok"], again["repaired"], again["edits"]) == (True, made, [])
    return made


def results_of(messages: list[Message]) -> list[tuple[str, str]]:
    views = [get("openai-chat").view(message) for message in messages]
    return [(result.call_id, result.text) for view in views for result in view.results]


@behaviour("mending.lawful")
def test_o29_results_scattered_past_other_messages_come_back_behind_their_calls(
    host: LocalHost,
) -> None:
    made = repaired(host, user("go"), calls("a", "b"), user("and?"), result("b"), said("well"), result("a"))
    assert sorted(results_of(made)) == [("a", "result of a"), ("b", "result of b")]
    assert [message["role"] for message in made] == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_o29_a_result_before_a_call_of_its_id_is_not_taken_for_that_calls(host: LocalHost) -> None:
    """There it is moved behind. Where ids are used again it is what a cut left of an earlier call: a stub
    says that nothing is known, another call's result would say what is wrong."""
    made = repaired(host, user("go"), result("a"), calls("a"), user("and?"))
    ((call_id, text),) = results_of(made)
    assert call_id == "a"
    assert "lost" in text


@behaviour("dialects.a7")
def test_o29_good_siblings_of_a_lost_result_are_kept(host: LocalHost) -> None:
    """There, an assistant with any unmatched call loses all of them."""
    made = repaired(host, user("go"), calls("a", "b", "c"), result("a"), result("c"), user("and?"))
    assert sorted(call_id for call_id, _ in results_of(made)) == ["a", "b", "c"]
    assert dict(results_of(made))["a"] == "result of a"
    assert dict(results_of(made))["c"] == "result of c"
    assert "lost" in dict(results_of(made))["b"]
    assert len(made[1]["tool_calls"]) == 3


def test_o29_results_without_a_call_or_an_id_go(host: LocalHost) -> None:
    made = repaired(host, user("go"), result("nobody"), said("ok"), user("and?"))
    assert results_of(made) == []


def test_o29_an_id_that_is_used_again_has_a_result_of_its_own(host: LocalHost) -> None:
    made = repaired(host, user("go"), calls("a"), result("a", "first"), calls("a"), user("and?"))
    texts = [text for _, text in results_of(made)]
    assert texts[0] == "first"
    assert "lost" in texts[1]
    assert len(texts) == 2


@pytest.mark.parametrize("text", ["记" * 700, "é" * 801, "x" * 3000, "🙂" * 500])
def test_o29_an_old_result_is_cut_by_no_repair_however_often(host: LocalHost, text: str) -> None:
    """There, one above 800 bytes and below 800 characters got a mark at each pass."""
    made = repaired(host, user("go"), calls("a"), result("a", text), said("ok"), user("and?"))
    assert results_of(made) == [("a", text)]


@behaviour("translate.ids")
def test_o29_ids_that_differ_in_a_prefix_alone_stay_two(host: LocalHost) -> None:
    """There, `toolu_1` and `chatcmpl-1` both become `call_1`."""
    session = host.open(dialect="anthropic")
    ids = ["toolu_1", "chatcmpl-1", "call_1", "fc_1", "1"]
    for call_id in ids:
        call = {"type": "tool_use", "id": call_id, "name": "f", "input": {}}
        answer = {"type": "tool_result", "tool_use_id": call_id, "content": f"result of {call_id}"}
        session.append(
            user("go"), {"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}
        )
    session.append(said("done"), user("and?"))
    for dialect in ("openai-chat", "openai-responses", "gemini", "anthropic"):
        session.call("session/update", dialect=dialect)
        sent = session.prepare()["messages"]
        views = [get(dialect).view(message) for message in sent]
        found = [(result.call_id, result.text) for view in views for result in view.results]
        assert [text for _, text in found] == [f"result of {call_id}" for call_id in ids]
        assert len({call_id for call_id, _ in found}) == len(ids)
        assert [call.call_id for view in views for call in view.calls] == [call_id for call_id, _ in found]
    for call_id in ids:
        assert session.fetch(call_id)["content"] == f"result of {call_id}"


def test_o29_later_system_messages_stay_where_they_are(host: LocalHost) -> None:
    """There they are merged into the first message, whatever its role."""
    later = {"role": "system", "content": "[Background task] is done"}
    given = [{"role": "system", "content": "Be careful."}, user("go"), said("ok"), later, user("and?")]
    assert repaired(host, *given) == given
