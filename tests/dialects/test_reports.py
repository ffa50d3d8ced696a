"""Public fault reports (reference/reports.md), as far as they reach a dialect. The number is the report's."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.registry import NAMES, get
from ctxd.model.blocks import Media, MessageView, Text, ToolResult
from ctxd.model.messages import Usage
from tests.dialects.notation import PIXEL, Messages, read, write
from tests.support.behaviour import behaviour

ALL = pytest.mark.parametrize("name", NAMES)
ROWS = ("openai-chat", "openai-responses")
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def views(messages: Messages, name: str) -> list[MessageView]:
    return [get(name).view(message) for message in messages]


def cut_points(text: str, name: str) -> set[int]:
    seen = views(read(text, name), name)
    return set.intersection(*(rule.cut_points(seen) for rule in get(name).rules))


def broken(text: str, name: str) -> list[tuple[str, int, str]]:
    seen = views(read(text, name), name)
    return [(v.rule, v.index, v.mend) for rule in get(name).rules for v in rule.violations(seen)]


def mended(text: str, name: str, *, pending: bool = False) -> str:
    return write(get(name).mend(read(text, name), pending=pending)[0], get(name))


@behaviour("dialects.a1")
def test_a1_what_was_put_between_a_call_and_its_result_is_moved_behind_it() -> None:
    assert mended("U A(1) U(summary) U(1) A", "anthropic") == "U A(1) U(1) U(summary) A"
    assert mended("U A(1) U(summary) U(1) A", "gemini") == "U A(1) U(1,summary) A"
    for name in ROWS:
        assert mended("U A(1) U(summary) R(1) A", name) == "U A(1) R(1) U(summary) A"
        assert cut_points("U A(1) U(summary) R(1) A", name) == {0, 1, 4, 5}
    for name in ("anthropic", "gemini"):
        assert cut_points("U A(1) U(summary) U(1) A", name) == {0, 1, 4, 5}


@behaviour("dialects.a2")
@ALL
def test_a2_an_orphan_result_is_found_in_the_whole_list_however_often_it_was_cut(name: str) -> None:
    text = "U(summary) R(1) A(2) R(2)" if name in ROWS else "U(summary) U(1) A(2) U(2)"
    assert ("orphanResult", 1, "refuse") in broken(text, name)
    assert mended(text, name) == text.replace(" R(1)", "").replace(" U(1)", "")


@behaviour("dialects.a3")
@ALL
def test_a3_among_hundreds_of_messages_no_cut_parts_a_call_from_its_results(name: str) -> None:
    turns = [(n, n + 1) for n in range(0, 600, 2)]
    if name in ROWS:
        text = "U " + " ".join(f"A({a},{b}) R({b}) R({a})" for a, b in turns)
        length = 4 if name == "openai-responses" else 3
    else:
        text = "U " + " ".join(f"A({a},{b}) U({b},{a})" for a, b in turns)
        length = 2
    assert cut_points(text, name) == {0, *range(1, 300 * length + 2, length)}


@behaviour("dialects.a4")
@ALL
def test_a4_a_verdict_says_which_rule_and_which_message(name: str) -> None:
    text = "U A R(9)" if name in ROWS else "U A U(9)"
    assert broken(text, name) == [("orphanResult", 2, "refuse")]


@behaviour("dialects.a5")
def test_a5_a_batch_that_waits_for_results_is_cut_at_its_start_or_not_at_all() -> None:
    assert cut_points("U A U A(1,2) U(1)", "anthropic") == {0, 1, 2, 3, 5}
    assert cut_points("U A U A(1,2) U(1)", "gemini") == {0, 1, 2, 3, 5}
    assert cut_points("U A U A(1,2) R(1)", "openai-chat") == {0, 1, 2, 3, 5}
    assert cut_points("U A U A(think,1,2) R(1)", "openai-responses") == {0, 1, 2, 3, 7}


@behaviour("dialects.a7")
@ALL
def test_a7_thirteen_parallel_calls_keep_thirteen_results(name: str) -> None:
    ids = ",".join(str(n) for n in range(13))
    rows = " ".join(f"R({n})" for n in range(12, -1, -1))
    text = f"U A({ids}) {rows} A" if name in ROWS else f"U A({ids}) U({ids}) A"
    messages = read(text, name)
    assert get(name).mend(messages, pending=False) == (messages, [])
    assert cut_points(text, name) == {0, 1, len(messages) - 1, len(messages)}


@behaviour("dialects.a8")
@ALL
def test_a8_a_parallel_batch_goes_whole_or_stays_whole(name: str) -> None:
    text = "U A(1,2,3) R(1) R(2) R(3)" if name in ROWS else "U A(1,2,3) U(1) U(2) U(3)"
    assert cut_points(text, name) == {0, 1, len(read(text, name))}


@behaviour("dialects.a9")
@ALL
def test_a9_pending_calls_are_no_orphans(name: str) -> None:
    messages = read("U A(1,2)", name)
    assert broken("U A(1,2)", name) == []
    assert get(name).mend(messages, pending=True) == (messages, [])


@behaviour("dialects.a10")
def test_a10_one_stale_call_is_stubbed_and_stops_nothing() -> None:
    assert broken("U A(1) U A(2) U(2)", "anthropic") == [("unansweredCall", 1, "synthesize")]
    for name in ("anthropic", "gemini"):
        assert mended("U A(1) U A(2) U(2)", name) == "U A(1) U(1?,t) A(2) U(2)"
        assert cut_points("U A(1) U A(2) U(2)", name) == {0, 1, 2, 3, 5}
    for name in ROWS:
        assert broken("U A(1) U A(2) R(2)", name) == [("unansweredCall", 1, "synthesize")]
        assert mended("U A(1) U A(2) R(2)", name) == "U A(1) R(1?) U A(2) R(2)"
        assert cut_points("U A(1) U A(2) R(2)", name) == {0, 1, 2, 3, 5}


@behaviour("dialects.a11")
@ALL
def test_a11_pending_calls_are_read_from_the_list_each_time(name: str) -> None:
    late = "R(1)" if name in ROWS else "U(1)"
    assert "1?" in mended("U A(1)", name)
    assert mended(f"U A(1) {late}", name) == f"U A(1) {late}"


@behaviour("dialects.a12")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("anthropic", "U A(think,1) U(1) A(think,2) U(2)"),
        ("openai-responses", "U A(think,1) R(1) A(think,2) R(2)"),
        ("gemini", "U A(think,sig,1,2) U(2,1) A(sig,3) U(3)"),
    ],
)
def test_a12_the_newest_tool_loop_is_handed_back_as_it_came(name: str, text: str) -> None:
    messages = read(text, name)
    assert all(a is b for a, b in zip(get(name).mend(messages, pending=False)[0], messages, strict=True))


def test_a12_a_loop_is_cut_only_where_its_rest_keeps_its_thinking() -> None:
    # Its first message thought for all of it: cutting behind that would leave calls without thinking.
    assert cut_points("U A(think,1) U(1) A(2) U(2)", "anthropic") == {0, 1, 5}
    assert cut_points("U A(think,1) U(1) A(think,2) U(2)", "anthropic") == {0, 1, 3, 5}
    assert cut_points("U A(think,1) R(1) A(2) R(2)", "openai-responses") == {0, 1, 6}
    assert cut_points("U A(think,1) R(1) A(think,2) R(2)", "openai-responses") == {0, 1, 4, 7}
    # Every step of Gemini's carries a signature of its own.
    assert cut_points("U A(sig,1) U(1) A(sig,2) U(2)", "gemini") == {0, 1, 3, 5}


@behaviour("dialects.a13")
def test_a13_mending_a_signed_message_leaves_its_thinking_the_same_object() -> None:
    messages = read("U A(think,b,1,1) U(1) A(b,think,2) U(2)", "anthropic")
    signed = [block for m in messages for block in m["content"] if block["type"] == "thinking"]
    sent = get("anthropic").mend(messages, pending=False)[0]
    left = [block for m in sent for block in m["content"] if block["type"] == "thinking"]
    assert write(sent, get("anthropic")) == "U A(think,1) U(1) A(think,2) U(2)"
    assert all(a is b for a, b in zip(left, signed, strict=True))


def test_a13_mending_a_content_leaves_its_signed_parts_the_same_objects() -> None:
    messages = read("U A(sig,1,b,1,sig,t) U(1) A(b,sig,2) U(2)", "gemini")
    signed = [part for m in messages for part in m["parts"] if "thoughtSignature" in part]
    sent = get("gemini").mend(messages, pending=False)[0]
    left = [part for m in sent for part in m["parts"] if "thoughtSignature" in part]
    assert write(sent, get("gemini")) == "U A(sig,1,sig,t) U(1) A(sig,2) U(2)"
    assert all(a is b for a, b in zip(left, signed, strict=True))


@behaviour("dialects.a16")
def test_a16_reasoning_that_must_be_passed_back_survives_every_edit() -> None:
    dialect = get("openai-chat")
    message = {**read("A(1,b)", "openai-chat")[0], "reasoning_content": "hm", "reasoning_text": "so"}
    sent = dialect.mend([message], pending=False)[0][0]
    for edited in (sent, dialect.with_text(message, "x"), dialect.without_media(message, "x")):
        assert (edited["reasoning_content"], edited["reasoning_text"]) == ("hm", "so")


def test_a16_reasoning_items_stay_with_the_call_they_led_to() -> None:
    messages = read("U A(think,1) U A(think,b) U", "openai-responses")
    sent = get("openai-responses").mend(messages, pending=False)[0]
    assert write(sent, get("openai-responses")) == "U A(think) A(1) R(1?) U U"
    assert sent[1] is messages[1]


@behaviour("dialects.a17")
def test_a17_unknown_members_of_calls_and_blocks_survive_every_edit() -> None:
    signature = {"google": {"thought_signature": "c2ln", "nothing": None}}
    call = {**read("A(1)", "openai-chat")[0]["tool_calls"][0], "extra_content": signature}
    second = read("A(2)", "openai-chat")[0]["tool_calls"][0]
    message: dict[str, Any] = {"role": "assistant", "content": [{"type": "text", "text": " "}]}
    message["tool_calls"] = [call, second]
    dialect = get("openai-chat")
    for edited in (dialect.mend([message], pending=True)[0][0], dialect.with_text(message, "x")):
        assert edited["tool_calls"] == [call, second]
        assert edited["tool_calls"][0] is call


@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature", "from_tomorrow"])
def test_a17_members_of_parallel_calls_of_gemini_come_back_as_they_were(key: str) -> None:
    (content,) = read("A(1,2)", "gemini")
    first = {**content["parts"][0], key: "c2lnbmVk", "nothing": None}
    message = {**content, "parts": [{"text": " "}, first, content["parts"][1]]}
    dialect = get("gemini")
    for edited in (
        dialect.mend([*read("U", "gemini"), message], pending=True)[0][1],
        dialect.with_text(message, ""),
    ):
        assert edited["parts"] == [first, content["parts"][1]]
        assert edited["parts"][0] is first


@behaviour("dialects.a18")
@ALL
@pytest.mark.parametrize(
    "content", ["", " \n", [], [{"type": "text", "text": ""}], [{"type": "text", "text": "\t"}]]
)
def test_a18_no_empty_block_is_ever_sent(name: str, content: Any) -> None:
    if name == "gemini":
        parts = content if isinstance(content, list) else [{"text": content}]
        empty: dict[str, Any] = {"role": "model", "parts": parts}
        for part in parts:
            part.pop("type", None)
    else:
        empty = {"role": "assistant", "content": content}
    messages: Messages = [*read("U", name), empty, *read("U(x)", name)]
    assert write(get(name).mend(messages, pending=False)[0], get(name)).replace(",", ") U(") in (
        "U U(x)",
        "U(t) U(x)",
    )


@behaviour("dialects.a20")
@ALL
def test_a20_messages_that_look_alike_are_not_taken_for_one_another(name: str) -> None:
    messages = read("U(go) A(ok) U(go) A(ok) U(go)", name)
    sent = get(name).mend(messages, pending=False)[0]
    assert [id(message) for message in sent] == [id(message) for message in messages]


@behaviour("usage.cached")
def test_d43_cached_tokens_are_part_of_the_prompt_once() -> None:
    cached = {"input_tokens": 10, "cache_creation_input_tokens": 42444, "cache_read_input_tokens": 0}
    assert get("anthropic").usage(cached) == Usage(42454, cache_write=42444)
    inside = {"prompt_tokens": 93537, "prompt_tokens_details": {"cached_tokens": 93440}}
    assert get("openai-chat").usage(inside) == Usage(93537, cache_read=93440)
    items = {"input_tokens": 93537, "input_tokens_details": {"cached_tokens": 93440}}
    assert get("openai-responses").usage(items) == Usage(93537, cache_read=93440)
    gemini = {"promptTokenCount": 5423, "cachedContentTokenCount": 1381}
    assert get("gemini").usage(gemini) == Usage(5423, cache_read=1381)


@behaviour("usage.structured")
def test_d49_structured_results_have_a_text_that_counts() -> None:
    blocks = [{"type": "search_result", "title": "found", "content": [{"type": "text", "text": "much"}]}]
    result = {"type": "tool_result", "tool_use_id": "t", "content": blocks}
    (read_back,) = get("anthropic").view({"role": "user", "content": [result]}).results
    assert read_back.text == (
        '[{"type":"search_result","title":"found","content":[{"type":"text","text":"much"}]}]'
    )
    item = {"type": "function_call_output", "call_id": "c", "output": [{"type": "rows", "rows": [1]}]}
    assert get("openai-responses").view(item).results[0].text == '[{"type":"rows","rows":[1]}]'
    response = {"functionResponse": {"name": "f", "response": {"rows": [1]}}}
    assert get("gemini").view({"role": "user", "parts": [response]}).results[0].text == '{"rows":[1]}'


def test_d50_an_image_is_never_text_but_its_bytes_are_known() -> None:
    seen = Media("image", len(PIXEL), 1, 1)
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "look"}, IMAGE]}
    odd = {**result, "content": [*result["content"], {"type": "hologram"}]}
    view = get("anthropic").view(
        {"role": "user", "content": [result, odd, IMAGE, {"type": "text", "text": "see"}]}
    )
    assert view.blocks[0] == ToolResult("t", "look", media=(seen,))
    assert view.results[1].media == (seen,)
    assert PIXEL not in view.results[1].text
    assert view.blocks[2:] == (seen, Text("see"))
    url = f"data:image/png;base64,{PIXEL}"
    chat = get("openai-chat").view(
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    )
    assert chat.blocks == (Media("image", len(url), 1, 1),)
    shot = {
        "type": "function_call_output",
        "call_id": "c",
        "output": [{"type": "input_image", "image_url": url}],
    }
    assert get("openai-responses").view(shot).blocks == (
        ToolResult("c", "", media=(Media("image", len(url), 1, 1),)),
    )
    inline = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    seen_too = {"functionResponse": {"name": "f", "response": {"output": "look"}, "parts": [inline]}}
    gemini = get("gemini").view({"role": "user", "parts": [seen_too, inline]})
    assert gemini.blocks == (ToolResult("call:f", "look", media=(seen,)), seen)
