"""Public fault reports (reference/reports.md), as far as they reach a dialect. The number is the report's."""

from __future__ import annotations

from typing import Any

import pytest

from ctxd.dialects.registry import NAMES, get
from ctxd.model.blocks import Media, MessageView, Text, ToolResult
from ctxd.model.messages import Usage
from tests.dialects.notation import PIXEL, Messages, read, write
from tests.support.behaviour import behaviour

BOTH = pytest.mark.parametrize("name", NAMES)
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
    assert mended("U A(1) U(summary) R(1) A", "openai-chat") == "U A(1) R(1) U(summary) A"
    assert cut_points("U A(1) U(summary) U(1) A", "anthropic") == {0, 1, 4, 5}


@behaviour("dialects.a2")
def test_a2_an_orphan_result_is_found_in_the_whole_list_however_often_it_was_cut() -> None:
    assert broken("U(summary) U(1) A(2) U(2)", "anthropic") == [("orphanResult", 1, "refuse")]
    assert mended("U(summary) U(1) A(2) U(2)", "anthropic") == "U(summary) A(2) U(2)"
    assert mended("U(summary) R(1) A(2) R(2)", "openai-chat") == "U(summary) A(2) R(2)"


@behaviour("dialects.a3")
def test_a3_among_hundreds_of_messages_no_cut_parts_a_call_from_its_results() -> None:
    text = "U " + " ".join(f"A({n},{n + 1}) U({n + 1},{n})" for n in range(0, 600, 2))
    assert cut_points(text, "anthropic") == {0, *range(1, 602, 2)}


@behaviour("dialects.a4")
@BOTH
def test_a4_a_verdict_says_which_rule_and_which_message(name: str) -> None:
    text = "U U(9)" if name == "anthropic" else "U R(9)"
    assert broken(text, name) == [("orphanResult", 1, "refuse")]


@behaviour("dialects.a5")
def test_a5_a_batch_that_waits_for_results_is_cut_at_its_start_or_not_at_all() -> None:
    assert cut_points("U A U A(1,2) U(1)", "anthropic") == {0, 1, 2, 3, 5}
    assert cut_points("U A U A(1,2) R(1)", "openai-chat") == {0, 1, 2, 3, 5}


@behaviour("dialects.a7")
def test_a7_thirteen_parallel_calls_keep_thirteen_results() -> None:
    ids = ",".join(str(n) for n in range(13))
    rows = " ".join(f"R({n})" for n in range(12, -1, -1))
    assert mended(f"U A({ids}) {rows} A", "openai-chat") == f"U A({ids}) {rows} A"
    assert mended(f"U A({ids}) U({ids}) A", "anthropic") == f"U A({ids}) U({ids}) A"
    assert cut_points(f"U A({ids}) {rows} A", "openai-chat") == {0, 1, 15, 16}


@behaviour("dialects.a8")
def test_a8_a_parallel_batch_goes_whole_or_stays_whole() -> None:
    assert cut_points("U A(1,2,3) R(1) R(2) R(3)", "openai-chat") == {0, 1, 5}
    assert cut_points("U A(1,2,3) U(1) U(2) U(3)", "anthropic") == {0, 1, 5}


@behaviour("dialects.a9")
@BOTH
def test_a9_pending_calls_are_no_orphans(name: str) -> None:
    assert broken("U A(1,2)", name) == []
    assert mended("U A(1,2)", name, pending=True) == "U A(1,2)"


@behaviour("dialects.a10")
def test_a10_one_stale_call_is_stubbed_and_stops_nothing() -> None:
    assert broken("U A(1) U A(2) U(2)", "anthropic") == [("unansweredCall", 1, "synthesize")]
    assert mended("U A(1) U A(2) U(2)", "anthropic") == "U A(1) U(1?,t) A(2) U(2)"
    assert cut_points("U A(1) U A(2) U(2)", "anthropic") == {0, 1, 2, 3, 5}


@behaviour("dialects.a11")
@BOTH
def test_a11_pending_calls_are_read_from_the_list_each_time(name: str) -> None:
    late = "U(1)" if name == "anthropic" else "R(1)"
    assert "1?" in mended("U A(1)", name)
    assert mended(f"U A(1) {late}", name) == f"U A(1) {late}"


@behaviour("dialects.a12")
def test_a12_the_newest_tool_loop_is_handed_back_as_it_came() -> None:
    messages = read("U A(think,1) U(1) A(think,2) U(2)", "anthropic")
    assert all(
        a is b for a, b in zip(get("anthropic").mend(messages, pending=False)[0], messages, strict=True)
    )
    # Its first message thought for all of it: cutting behind that would leave calls without thinking.
    assert cut_points("U A(think,1) U(1) A(2) U(2)", "anthropic") == {0, 1, 5}
    assert cut_points("U A(think,1) U(1) A(think,2) U(2)", "anthropic") == {0, 1, 3, 5}


@behaviour("dialects.a13")
def test_a13_mending_a_signed_message_leaves_its_thinking_the_same_object() -> None:
    messages = read("U A(think,b,1,1) U(1) A(b,think,2) U(2)", "anthropic")
    signed = [block for m in messages for block in m["content"] if block["type"] == "thinking"]
    sent = get("anthropic").mend(messages, pending=False)[0]
    left = [block for m in sent for block in m["content"] if block["type"] == "thinking"]
    assert write(sent, get("anthropic")) == "U A(think,1) U(1) A(think,2) U(2)"
    assert all(a is b for a, b in zip(left, signed, strict=True))


@behaviour("dialects.a16")
def test_a16_reasoning_that_must_be_passed_back_survives_every_edit() -> None:
    dialect = get("openai-chat")
    message = {**read("A(1,b)", "openai-chat")[0], "reasoning_content": "hm", "reasoning_text": "so"}
    sent = dialect.mend([message], pending=False)[0][0]
    for edited in (sent, dialect.with_text(message, "x"), dialect.without_media(message, "x")):
        assert (edited["reasoning_content"], edited["reasoning_text"]) == ("hm", "so")


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


@behaviour("dialects.a18")
@BOTH
@pytest.mark.parametrize(
    "content", ["", " \n", [], [{"type": "text", "text": ""}], [{"type": "text", "text": "\t"}]]
)
def test_a18_no_empty_block_is_ever_sent(name: str, content: Any) -> None:
    messages: Messages = [*read("U", name), {"role": "assistant", "content": content}, *read("U", name)]
    assert write(get(name).mend(messages, pending=False)[0], get(name)) == "U U"


@behaviour("dialects.a20")
@BOTH
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


@behaviour("usage.structured")
def test_d49_structured_results_have_a_text_that_counts() -> None:
    blocks = [{"type": "search_result", "title": "found", "content": [{"type": "text", "text": "much"}]}]
    result = {"type": "tool_result", "tool_use_id": "t", "content": blocks}
    (read_back,) = get("anthropic").view({"role": "user", "content": [result]}).results
    assert read_back.text == (
        '[{"type":"search_result","title":"found","content":[{"type":"text","text":"much"}]}]'
    )


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
