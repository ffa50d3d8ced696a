"""From any dialect to any other: what crosses arrives, what cannot is named, and the target takes it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.dialects.base import BadShape, Dialect
from ctxd.dialects.crossing.pieces import Loss
from ctxd.dialects.mending import STUB
from ctxd.dialects.registry import NAMES, get
from ctxd.dialects.translate import POLICIES, SYSTEM, translate, translate_system
from ctxd.model.blocks import MessageView, Text
from tests.dialects.lists import any_list, lawful_list
from tests.dialects.notation import PIXEL, Messages, read, write
from tests.support import sdk
from tests.support.behaviour import behaviour
from tests.support.recordings import FOLDER, RECORDINGS

PAIRS = [(source, target) for source in NAMES for target in NAMES if source != target]
CROSSED = pytest.mark.parametrize(("source", "target"), PAIRS)
MANY = settings(max_examples=60, deadline=None)


def crossed(messages: Messages, source: str, target: str) -> tuple[list[Any], list[Loss]]:
    return translate(messages, get(source), get(target))


def broken(dialect: Dialect, messages: list[Any]) -> list[Any]:
    views = [dialect.view(message) for message in messages]
    return [violation for rule in dialect.rules for violation in rule.violations(views)]


CASES = [
    ("anthropic", "openai-chat", "U A(t,1,2) U(2,1,x) A", "U A(t,1,2) R(2) R(1) U(x) A"),
    ("anthropic", "openai-responses", "U A(t,1,2) U(2,1,x) A", "U A A(1) A(2) R(2) R(1) U(x) A"),
    ("anthropic", "gemini", "U A(t,1,2) U(2,1,x) A", "U A(t,sig,1,2) U(2,1,x) A"),
    ("openai-chat", "anthropic", "U A(t,1,2) R(2) R(1) U(x) A", "U A(t,1,2) U(2,1) U(x) A"),
    ("openai-chat", "openai-responses", "S U A(1) R(1) S", "S U A(1) R(1) S"),
    ("openai-chat", "gemini", "U A(1,2) R(2) R(1) U(x) A", "U A(sig,1,2) U(2,1,x) A"),
    ("openai-responses", "anthropic", "U A(think,t,1,2) R(2) R(1) A", "U A(t,1,2) U(2,1) A"),
    ("openai-responses", "openai-chat", "S U A(think,1,odd) R(1) A", "S U A(1) R(1) A"),
    ("openai-responses", "gemini", "U A(1) R(1) A(2) R(2)", "U A(sig,1) U(1) A(sig,2) U(2)"),
    ("gemini", "anthropic", "U A(think,sig,1,2) U(2,1,x) A", "U A(1,2) U(2,1,x) A"),
    ("gemini", "openai-chat", "U A(sig,1,t) U(1) A(sig,t)", "U A(t,1) R(1) A"),
    ("gemini", "openai-responses", "U A(sig,1,t) U(1)", "U A(1) A R(1)"),
]


@pytest.mark.parametrize(("source", "target", "before", "after"), CASES)
def test_a_conversation_keeps_its_order_in_another_dialect(
    source: str, target: str, before: str, after: str
) -> None:
    assert write(crossed(read(before, source), source, target)[0], get(target)) == after


@behaviour("translate.lawful")
@CROSSED
@MANY
@given(data=st.data())
def test_whatever_is_given_the_target_takes_what_comes(source: str, target: str, data: st.DataObject) -> None:
    messages = data.draw(any_list(source) | lawful_list(source))
    before = copy.deepcopy(messages)
    sent, losses = crossed(messages, source, target)
    assert broken(get(target), sent) == []
    assert sdk.faults(target, sent) == []
    assert all(0 <= loss.index < len(messages) for loss in losses)
    assert (sent, losses) == crossed(copy.deepcopy(messages), source, target)
    assert messages == before


@CROSSED
@MANY
@given(data=st.data())
def test_words_calls_and_results_of_a_lawful_conversation_arrive_in_order(
    source: str, target: str, data: st.DataObject
) -> None:
    messages = data.draw(lawful_list(source))
    sent, _ = crossed(messages, source, target)
    assert content(get(target), sent) == content(get(source), messages)


def content(dialect: Dialect, messages: list[Any]) -> Any:
    views = [dialect.view(message) for message in messages]
    words = [text for view in views if view.role in ("user", "assistant") for text in words_of(view)]
    calls = [(c.call_id, c.name, json.loads(c.arguments)) for view in views for c in view.calls]
    results = [(r.call_id, r.text) for view in views for r in view.results]
    return words, calls, results


def words_of(view: MessageView) -> list[str]:
    """Words a message says; a system message said as the user's is the system's."""
    texts = [block.text for block in view.blocks if isinstance(block, Text)]
    return [line for text in texts if not text.startswith(SYSTEM) for line in text.split("\n\n")]


@behaviour("translate.ids")
@CROSSED
@MANY
@given(data=st.data())
def test_calls_keep_their_own_results_whatever_ids_the_target_takes(
    source: str, target: str, data: st.DataObject
) -> None:
    """Ids with signs no target takes, longer than any takes, used again in every turn."""
    ids = ["c1", "a b", "ü" * 9, "x" * 90, "call:run#2"]
    turns = data.draw(
        st.lists(st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True), max_size=4)
    )
    if source in ("anthropic", "openai-responses"):
        turns = once_each(turns)
    messages = [message for number, turn in enumerate(turns) for message in exchange(source, number, turn)]
    sent, _ = crossed(messages, source, target)
    views = [get(target).view(message) for message in sent]
    calls = [call for view in views for call in view.calls]
    results = [result for view in views for result in view.results]
    assert [json.loads(c.arguments)["n"] for c in calls] == [r.text for r in results]
    assert [c.call_id for c in calls] == [r.call_id for r in results]
    if target != "openai-chat":
        assert max(Counter(c.call_id for c in calls).values(), default=1) == 1


def once_each(turns: list[list[str]]) -> list[list[str]]:
    """The turns without ids that an earlier one has used."""
    kept: list[list[str]] = []
    for turn in turns:
        seen = {key for earlier in kept for key in earlier}
        kept.append([key for key in turn if key not in seen])
    return [turn for turn in kept if turn]


def exchange(dialect: str, number: int, ids: list[str]) -> Messages:
    """A question, calls and their results, named by what they are and not by their ids."""
    names = [f"{number}.{place}" for place in range(len(ids))]
    match dialect:
        case "anthropic":
            calls = [
                {"type": "tool_use", "id": i, "name": "f", "input": {"n": n}} for i, n in zip(ids, names)
            ]
            done = [{"type": "tool_result", "tool_use_id": i, "content": n} for i, n in zip(ids, names)]
            made = [{"role": "assistant", "content": calls}, {"role": "user", "content": done}]
        case "openai-chat":
            calls = [
                {"id": i, "type": "function", "function": {"name": "f", "arguments": json.dumps({"n": n})}}
                for i, n in zip(ids, names)
            ]
            rows = [{"role": "tool", "tool_call_id": i, "content": n} for i, n in zip(ids, names)]
            made = [{"role": "assistant", "content": None, "tool_calls": calls}, *rows]
        case "openai-responses":
            items = [
                {"type": "function_call", "call_id": i, "name": "f", "arguments": json.dumps({"n": n})}
                for i, n in zip(ids, names)
            ]
            outputs = [
                {"type": "function_call_output", "call_id": i, "output": n} for i, n in zip(ids, names)
            ]
            made = [*items, *outputs]
        case _:
            parts = [{"functionCall": {"id": i, "name": "f", "args": {"n": n}}} for i, n in zip(ids, names)]
            answers = [
                {"functionResponse": {"id": i, "name": "f", "response": {"output": n}}}
                for i, n in zip(ids, names)
            ]
            made = [{"role": "model", "parts": parts}, {"role": "user", "parts": answers}]
    return [get(dialect).make("user", "go"), *made, get(dialect).make("assistant", "so")]


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no transcripts in {FOLDER}")
@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recording_is_taken_by_every_other_provider(name: str) -> None:
    source, recording = RECORDINGS[name]
    messages = recording()
    for target in NAMES:
        if target != source:
            sent, _ = crossed(messages, source, target)
            assert broken(get(target), sent) == []
            assert sdk.faults(target, sent) == []


def losses_of(message: Any, source: str, target: str) -> list[tuple[str, str]]:
    lead = [] if source == "openai-responses" else [get(source).make("user", "go")]
    return [(loss.what, loss.detail) for loss in crossed([*lead, message], source, target)[1]]


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


LOSSES: list[tuple[str, str, dict[str, Any], list[tuple[str, str]]]] = [
    (
        "anthropic",
        "gemini",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "text", "text": "x", "citations": [{}], "cache_control": {"type": "ephemeral"}},
            ],
        },
        [
            ("reasoning", "signed"),
            ("reasoning", "signed"),
            ("item", "server_tool_use"),
            ("cacheMark", "text"),
            ("citations", "text"),
        ],
    ),
    (
        "anthropic",
        "openai-chat",
        {"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]},
        [("media", "image known to its provider alone")],
    ),
    (
        "openai-chat",
        "anthropic",
        {"role": "assistant", "content": "x", "reasoning_content": "hm"},
        [("reasoning", "plain")],
    ),
    (
        "openai-chat",
        "anthropic",
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]},
        [("media", "audio")],
    ),
    ("openai-chat", "gemini", {"role": "developer", "content": "x"}, [("role", "system")]),
    (
        "openai-responses",
        "openai-chat",
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        [("reasoning", "sealed")],
    ),
    ("openai-responses", "anthropic", {"type": "web_search_call", "id": "w"}, [("item", "web_search_call")]),
    (
        "openai-responses",
        "gemini",
        {"type": "compaction", "encrypted_content": "x"},
        [("item", "compaction")],
    ),
    (
        "gemini",
        "openai-chat",
        model(
            {"text": "hm", "thought": True}, {"text": "x", "thoughtSignature": "s"}, {"executableCode": {}}
        ),
        [("reasoning", "plain"), ("signature", "part"), ("item", "executableCode")],
    ),
    (
        "gemini",
        "openai-responses",
        model({"functionCall": {"id": "c", "name": "server.tool", "args": {}}}),
        [("name", "tool")],
    ),
    (
        "gemini",
        "anthropic",
        {"role": "user", "parts": [{"fileData": {"fileUri": "gs://a/b", "mimeType": "image/png"}}]},
        [("media", "image known to its provider alone")],
    ),
    (
        "gemini",
        "anthropic",
        {"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "f", "response": {}}}]},
        [("rule", "orphanResult")],
    ),
]


@behaviour("translate.losses")
@pytest.mark.parametrize(("source", "target", "message", "losses"), LOSSES)
def test_what_stays_behind_is_named_without_its_content(
    source: str, target: str, message: dict[str, Any], losses: list[tuple[str, str]]
) -> None:
    assert losses_of(message, source, target) == losses


@CROSSED
def test_a_failure_is_a_failure_in_every_dialect(source: str, target: str) -> None:
    failure = {
        "anthropic": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True}],
            },
        ],
        "gemini": [
            model({"functionCall": {"id": "c", "name": "f"}}),
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c", "name": "f", "response": {"error": "no"}}}],
            },
        ],
        "openai-responses": [
            {"type": "apply_patch_call", "call_id": "c", "operation": {}, "status": "completed"},
            {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"},
        ],
        "openai-chat": [],
    }[source]
    sent, _ = crossed([get(source).make("user", "go"), *failure], source, target)
    results = [r for message in sent for r in get(target).view(message).results]
    flagged = target in ("anthropic", "gemini")
    assert [(r.text, r.is_error) for r in results] == [("no", True) if flagged else ("Error: no", False)] * (
        len(failure) // 2
    )


IMAGE = {"type": "base64", "media_type": "image/png", "data": PIXEL}


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("openai-chat", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}),
        (
            "openai-responses",
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
        ),
        ("gemini", {"inlineData": {"mimeType": "image/png", "data": PIXEL}}),
    ],
)
def test_images_and_documents_cross_with_their_data(target: str, shown: dict[str, Any]) -> None:
    pdf = {"type": "document", "source": {**IMAGE, "media_type": "application/pdf"}, "title": "a.pdf"}
    message = {"role": "user", "content": [{"type": "image", "source": IMAGE}, pdf]}
    sent, losses = crossed([message], "anthropic", target)
    parts = sent[0]["parts" if target == "gemini" else "content"]
    assert parts[0] == shown
    assert PIXEL in json.dumps(parts[1])
    assert losses == []
    back, losses = crossed(sent, target, "anthropic")
    assert back[0]["content"][0] == message["content"][0]
    assert back[0]["content"][1]["source"] == pdf["source"]
    assert losses == []


def test_an_image_in_a_result_crosses_where_results_can_show_one() -> None:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "image", "source": IMAGE}]}
    messages = [*read("U A(1)", "anthropic"), {"role": "user", "content": [result]}]
    chat, losses = crossed(messages, "anthropic", "openai-chat")
    assert [(loss.index, loss.what) for loss in losses] == [(2, "media")]
    assert "could not be carried over" in chat[2]["content"]
    items, losses = crossed(messages, "anthropic", "openai-responses")
    assert losses == []
    assert PIXEL in items[2]["output"][0]["image_url"]
    contents, losses = crossed(messages, "anthropic", "gemini")
    assert losses == []
    assert contents[2]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": PIXEL}}


def test_a_call_of_free_text_stays_one_where_there_are_such_calls() -> None:
    items = [
        {"role": "user", "content": "go"},
        {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls *"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "a"},
    ]
    chat, _ = crossed(items, "openai-responses", "openai-chat")
    assert chat[1]["tool_calls"] == [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls *"}}]
    assert crossed(chat, "openai-chat", "openai-responses")[0][1:] == items[1:]
    native, _ = crossed(items, "openai-responses", "anthropic")
    assert native[1]["content"][0]["input"] == {"input": "ls *"}


@pytest.mark.parametrize("arguments", ["", "not json", "[1]", '{"a": 1e999}', '{"a":'])
def test_arguments_that_are_no_object_become_one(arguments: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    sent, _ = crossed(messages, "openai-chat", "anthropic")
    assert sent[1]["content"][0]["input"] == {"input": arguments}


def test_unanswered_calls_wait_when_they_are_the_newest_and_are_stubbed_when_not() -> None:
    sent, _ = crossed(read("U A(1) U A(2)", "anthropic"), "anthropic", "openai-responses")
    assert write(sent, get("openai-responses")) == "U A(1) R(1?) U A(2)"
    assert STUB in json.dumps(sent)


def test_a_system_message_is_told_from_the_users_where_there_is_no_such_role() -> None:
    sent, _ = crossed(read("S(rules) U", "openai-chat"), "openai-chat", "anthropic")
    assert sent[0]["content"][0]["text"] == SYSTEM + "rules"


@pytest.mark.parametrize(
    ("target", "system"),
    [
        ("openai-chat", [{"role": "system", "content": "a\nb"}]),
        ("openai-responses", "a\nb"),
        ("gemini", {"parts": [{"text": "a\nb"}]}),
    ],
)
def test_a_system_prompt_crosses_as_its_text(target: str, system: Any) -> None:
    blocks = [{"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "b"}]
    assert translate_system(blocks, get("anthropic"), get(target)) == system
    assert translate_system(system, get(target), get("anthropic")) == "a\nb"
    assert get(target).check_system(translate_system([], get("anthropic"), get(target))) == ""


def test_a_policy_of_ones_own_decides_what_stands_for_a_signature() -> None:
    policy = POLICIES["gemini"].__class__(r"c\d", r"\w+", has_system=False)
    sent, _ = translate(read("U A(1)", "anthropic"), get("anthropic"), get("gemini"), policy=policy)
    assert "thoughtSignature" not in json.dumps(sent)


def test_a_message_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadShape):
        crossed([{"role": "robot", "content": "x"}], "anthropic", "gemini")
