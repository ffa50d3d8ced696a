"""Mending, case by case: a broken list, and the list that is sent instead."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.base import BadShape
from ctxd.dialects.mending import OPENING, STUB
from ctxd.dialects.openai_responses import PIXEL as SCREEN
from ctxd.dialects.registry import get
from tests.dialects.notation import read, write

ANTHROPIC = [
    ("an older unanswered call gets a stub in front of the user turn", "U A(1) U", "U A(1) U(1?,t)"),
    ("siblings of a lost result stay", "U A(1,2,3) U(1,3) A", "U A(1,2,3) U(2?,1,3) A"),
    ("the turn's own messages stay apart", "U A(1,2) U(1) U(x)", "U A(1,2) U(2?,1) U(x)"),
    ("an orphan goes and its neighbours stay", "U A(1) U(1,9,x) A", "U A(1) U(1,x) A"),
    ("a message of orphans goes whole", "U U(9) A", "U A"),
    ("a result before its call is an orphan", "U(1,t) A(1) U(1)", "U A(1) U(1)"),
    ("of two results the first stays", "U A(1) U(1) U(1!) A", "U A(1) U(1) A"),
    ("a late result moves to its call", "U A(1) U(x) A U(1)", "U A(1) U(1) U(x) A"),
    ("a late result beside text moves alone", "U A(1) U(x) A U(1,y)", "U A(1) U(1,x) A U(y)"),
    ("words said while tools ran come after", "U A(1) U(x) U(1)", "U A(1) U(1) U(x)"),
    ("all of them, in their order", "U A(1,2) U(x) U(2) U(1)", "U A(1,2) U(2) U(1) U(x)"),
    ("words in front of a result come after it", "U A(1,2) U(1) U(x,2)", "U A(1,2) U(2,1) U(x)"),
    ("two late results for two turns part", "U A(1) U A(2) U A U(1,2)", "U A(1) U(1,t) A(2) U(2,t) A"),
    ("blank text goes", "U(b,t) A(b,1) U(1) A(b) U", "U A(1) U(1) U"),
    ("a second call of an id goes", "U A(1,1) U(1) A(1,2) U(2)", "U A(1) U(1) A(2) U(2)"),
    ("thinking that nothing follows goes", "U A(t,think) U A(think) U", "U A U U"),
    ("thinking that is followed stays", "U A(think) A(1) U(1)", "U A(think) A(1) U(1)"),
    ("calls of a user and results of an assistant go", "U(think,t) A(t)", "U A"),
    ("a system message moves behind its turn", "S U A S U A", "U S A U S A"),
    ("system messages in a row are joined", "U S S(more) A", "U S(t,more) A"),
    ("a system message without a user waits", "U A S", "U A"),
    ("an assistant at the start gets a user before it", "A(1) U(1)", f"U({OPENING}) A(1) U(1)"),
    ("split calls of one turn are one batch", "U A(1) A(2) U(1,2)", "U A(1) A(2) U(1,2)"),
    ("nothing stays of nothing", "U(b) A() S(b)", ""),
]

CHAT = [
    ("a stub stands directly behind the assistant", "U A(1) U", "U A(1) R(1?) U"),
    ("a stub before another assistant", "U A(1) A(2) R(2)", "U A(1) R(1?) A(2) R(2)"),
    ("siblings of a lost result stay", "U A(1,2,3) R(1) R(3) A", "U A(1,2,3) R(2?) R(1) R(3) A"),
    ("an orphan goes", "U R(9) A", "U A"),
    ("of two results the first stays", "U A(1) R(1) R(1!) A", "U A(1) R(1) A"),
    ("a late result moves to its call", "U A(1,2) R(2) U A R(1)", "U A(1,2) R(2) R(1) U A"),
    ("system words between call and result come after", "U A(1) S R(1)", "U A(1) R(1) S"),
    ("an id may be used again in a later message", "U A(1) R(1) A(1) R(1!)", "U A(1) R(1) A(1) R(1!)"),
    ("a late result goes to the nearest call", "U A(1) A(1) U A R(1)", "U A(1) R(1?) A(1) R(1) U A"),
    ("a second call of an id goes", "U A(1,1,2) R(1) R(2)", "U A(1,2) R(1) R(2)"),
    ("blank parts go", "S(b) U(b,t) A(b,1) R(1) A(b)", "U A(1) R(1)"),
    ("system messages stay where they are", "S U S S A S", "S U S S A S"),
]

RESPONSES = [
    ("a stub stands behind all of its response", "U A(1) A(2) U", "U A(1) A(2) R(1?) R(2?) U"),
    ("siblings of a lost result stay", "U A(1) A(2) R(2) A", "U A(1) A(2) R(1?) R(2) A"),
    ("a call of a later response is not answered by it", "U A(1) R(1) A(2) U", "U A(1) R(1) A(2) R(2?) U"),
    ("an orphan goes", "U R(9) A", "U A"),
    ("of two results the first stays", "U A(1) R(1) R(1!) A", "U A(1) R(1) A"),
    ("a late result moves to its call", "U A(1) A(2) R(2) A R(1)", "U A(1) A(2) R(2) R(1) A"),
    ("what a person said meanwhile comes after", "U A(1) U(x) R(1) A", "U A(1) R(1) U(x) A"),
    ("reasoning that led nowhere goes", "U A(think) U A(think)", "U U"),
    ("reasoning goes with what it led to", "U A(1) R(1) A(think) A(1) U", "U A(1) R(1) U"),
    ("reasoning stays with what else it led to", "U A(think) A(b) A(1) R(1)", "U A(think) A(1) R(1)"),
    ("blank parts go", "S(b) U(b,t) A(b) U", "U U"),
    ("a list may begin with the assistant", "A(think,1) R(1)", "A(think) A(1) R(1)"),
]

GEMINI = [
    ("neighbours become one content", "U U(x) A A(1) U(1) U(y)", "U(t,x) A(t,1) U(1,y)"),
    ("responses of a batch stand in one content", "U A(1,2) U(2) U(1) A", "U A(1,2) U(2,1) A"),
    ("a stub stands in front of the user turn", "U A(1) U", "U A(1) U(1?,t)"),
    ("siblings of a lost result stay", "U A(1,2,3) U(1,3) A", "U A(1,2,3) U(2?,1,3) A"),
    ("an orphan goes and its neighbours stay", "U A(1) U(1,9,x) A", "U A(1) U(1,x) A"),
    ("what a person said meanwhile comes after", "U A(1) U(x) U(1) A", "U A(1) U(1,x) A"),
    ("a late result moves to its call", "U A(1) U A U(1)", "U A(1) U(1,t) A"),
    ("signatures stay with their parts", "U A(sig,1,2) A(b,sig,t) U(2)", "U A(sig,1,2,sig,t) U(1?,2)"),
    ("a list that begins with the model gets a user before it", "A(1) U(1)", f"U({OPENING}) A(1) U(1)"),
    ("thinking a user can't have goes", "U(think,t) A", "U A"),
    ("an id may be used again in a later turn", "U A(1) U(1) A(1) U(1!)", "U A(1) U(1) A(1) U(1!)"),
]

CASES = {"anthropic": ANTHROPIC, "openai-chat": CHAT, "openai-responses": RESPONSES, "gemini": GEMINI}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [(name, before, after) for name, cases in CASES.items() for _, before, after in cases],
    ids=[case[0] for cases in CASES.values() for case in cases],
)
def test_mended(name: str, before: str, after: str) -> None:
    dialect = get(name)
    messages = read(before, name)
    mended, edits = dialect.mend(messages, pending=False)
    assert write(mended, dialect) == after
    assert bool(edits) == (write(messages, dialect) != after)


@pytest.mark.parametrize(
    ("name", "text", "pending", "settled"),
    [
        ("anthropic", "U A(1,2)", "U A(1,2)", "U A(1,2) U(1?,2?)"),
        ("anthropic", "U A(1,2) U(1)", "U A(1,2) U(1)", "U A(1,2) U(2?,1)"),
        ("anthropic", "U A(1,2) U(1,x)", "U A(1,2) U(2?,1,x)", "U A(1,2) U(2?,1,x)"),
        ("anthropic", "U A(1) U A(2)", "U A(1) U(1?,t) A(2)", "U A(1) U(1?,t) A(2) U(2?)"),
        ("openai-chat", "U A(1,2) R(2)", "U A(1,2) R(2)", "U A(1,2) R(1?) R(2)"),
        ("openai-chat", "U A(1) U", "U A(1) R(1?) U", "U A(1) R(1?) U"),
        ("openai-responses", "U A(1) A(2)", "U A(1) A(2)", "U A(1) A(2) R(1?) R(2?)"),
        ("openai-responses", "U A(1) A(2) R(2)", "U A(1) A(2) R(2)", "U A(1) A(2) R(1?) R(2)"),
        ("gemini", "U A(1,2) U(2)", "U A(1,2) U(2)", "U A(1,2) U(1?,2)"),
        ("gemini", "U A(1,2) U(2,x)", "U A(1,2) U(1?,2,x)", "U A(1,2) U(1?,2,x)"),
    ],
)
def test_only_the_newest_calls_may_stay_pending(name: str, text: str, pending: str, settled: str) -> None:
    dialect = get(name)
    assert write(dialect.mend(read(text, name), pending=True)[0], dialect) == pending
    assert write(dialect.mend(read(text, name), pending=False)[0], dialect) == settled


def test_what_mending_does_not_touch_stays_the_same_object() -> None:
    messages = read("U A(1) U(1) A(2) U A(3) U(3)", "anthropic")
    mended, _ = get("anthropic").mend(messages, pending=False)
    assert [a is b for a, b in zip(mended, messages)] == [True, True, True, True, False, True, True]


def test_what_follows_a_stub_or_is_only_moved_stays_the_same_object() -> None:
    chat = read("U A(1) U(x)", "openai-chat")
    assert get("openai-chat").mend(chat, pending=False)[0][3] is chat[2]
    native = read("U A(1) S U(x) U(1)", "anthropic")
    mended, _ = get("anthropic").mend(native, pending=False)
    assert [id(message) for message in mended] == [id(native[index]) for index in (0, 1, 4, 3, 2)]


def test_every_edit_names_its_rule_its_message_and_what_was_done() -> None:
    _, edits = get("anthropic").mend(read("U(9,t) A(1) U(b) A", "anthropic"), pending=False)
    assert [(e.rule, e.index, e.action) for e in edits] == [
        ("emptyContent", 2, "remove"),
        ("orphanResult", 0, "remove"),
        ("unansweredCall", 1, "synthesize"),
    ]


def test_the_stub_says_that_the_result_is_lost_and_side_effects_are_uncertain() -> None:
    mended, _ = get("anthropic").mend(read("U A(1) U", "anthropic"), pending=False)
    assert mended[2]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": STUB,
        "is_error": True,
    }
    assert "lost" in STUB
    assert "side effects" in STUB


def test_a_stub_turns_a_string_content_into_a_text_block_and_keeps_the_other_members() -> None:
    messages: list[Any] = [*read("U A(1)", "anthropic"), {"role": "user", "content": "hi", "extra": [1]}]
    mended, _ = get("anthropic").mend(messages, pending=False)
    assert mended[2]["content"][1:] == [{"type": "text", "text": "hi"}]
    assert mended[2]["extra"] == [1]


def test_blank_text_inside_a_result_goes_and_the_result_stays() -> None:
    blank, said = {"type": "text", "text": ""}, {"type": "text", "text": "said", "extra": 1}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [blank, said], "cache_control": {}}
    messages: list[Any] = [*read("U A(1)", "anthropic"), {"role": "user", "content": [result]}]
    mended, edits = get("anthropic").mend(messages, pending=False)
    assert mended[2]["content"] == [{**result, "content": [said]}]
    assert [(e.rule, e.index) for e in edits] == [("emptyContent", 2)]


def test_a_result_of_blank_text_alone_is_an_empty_string() -> None:
    messages: list[Any] = [
        *read("U A(1)", "openai-chat"),
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": ""}]},
    ]
    assert get("openai-chat").mend(messages, pending=False)[0][2]["content"] == ""


def test_a_member_that_loses_its_last_item_goes_with_it() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    messages: list[Any] = [
        {"role": "assistant", "content": [], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "assistant", "content": "done", "tool_calls": []},
    ]
    mended, edits = get("openai-chat").mend(messages, pending=False)
    assert mended[0] == {"role": "assistant", "content": None, "tool_calls": [call]}
    assert mended[1] is messages[1]
    assert mended[2] == {"role": "assistant", "content": "done"}
    assert [e.index for e in edits] == [0, 2]


def test_a_legacy_function_call_is_answered_by_a_function_message() -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{}"}}
    messages: list[Any] = [called, {"role": "user", "content": "well?"}]
    mended, _ = get("openai-chat").mend(messages, pending=False)
    assert mended[1] == {"role": "function", "name": "now", "content": STUB}


STUBS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": STUB},
    ),
    (
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": STUB},
    ),
    (
        {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {}, "status": "completed"},
        {"type": "local_shell_call_output", "id": "c", "output": STUB},
    ),
    (
        {"type": "apply_patch_call", "call_id": "c", "operation": {}, "status": "completed"},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": STUB},
    ),
    (
        {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
        {
            "type": "shell_call_output",
            "call_id": "c",
            "output": [{"stdout": STUB, "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
        },
    ),
    (
        {"type": "computer_call", "id": "i", "call_id": "c", "actions": [], "status": "completed"},
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": SCREEN},
        },
    ),
    (
        {"type": "mcp_approval_request", "id": "c", "name": "f", "arguments": "{}", "server_label": "s"},
        {"type": "mcp_approval_response", "approval_request_id": "c", "approve": False, "reason": STUB},
    ),
]


@pytest.mark.parametrize(("call", "stub"), STUBS, ids=lambda item: item["type"])
def test_a_stub_is_of_the_type_that_answers_the_call(call: dict[str, Any], stub: dict[str, Any]) -> None:
    mended, _ = get("openai-responses").mend([call], pending=False)
    assert mended == [call, stub]


def test_calls_without_ids_get_their_responses_by_name_and_order() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": {}}}

    def response(name: str, text: str) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": text}}}

    def stub(name: str) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"error": STUB}}}

    def sent(*contents: tuple[str, list[Any]]) -> Any:
        natives = [{"role": role, "parts": parts} for role, parts in contents]
        mended, _ = get("gemini").mend([{"role": "user", "parts": [{"text": "go"}]}, *natives], pending=False)
        return mended[2]["parts"]

    batch = ("model", [call("f"), call("g"), call("f")])
    assert sent(batch, ("user", [response("f", "1")])) == [stub("g"), response("f", "1"), stub("f")]
    assert sent(batch, ("user", [response("f", "1")]), ("user", [response("f", "2")])) == [
        stub("g"),
        response("f", "1"),
        response("f", "2"),
    ]
    said = [response("f", "1"), {"text": "wait"}, response("g", "2"), response("f", "3")]
    assert sent(batch, ("user", said)) == [
        response("g", "2"),
        response("f", "1"),
        response("f", "3"),
        {"text": "wait"},
    ]
    apart = [("model", [call("f")]), ("model", [call("f")])]
    assert sent(*apart, ("user", [response("f", "1"), response("f", "2")])) == [
        response("f", "1"),
        response("f", "2"),
    ]


def test_an_unreadable_message_is_named_by_its_place_in_the_list() -> None:
    messages: list[Any] = [
        *read("U", "anthropic"),
        {"role": "user", "content": [{"type": "text", "text": 1}]},
    ]
    with pytest.raises(BadShape) as caught:
        get("anthropic").mend(messages, pending=False)
    assert caught.value.path == "1.content.0.text"
