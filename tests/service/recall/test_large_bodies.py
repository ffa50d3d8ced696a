"""Very large messages read in pieces: the same bytes as reading them at once, whatever is in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxd.dialects import registry
from ctxd.model.messages import Native
from ctxd.service.recall.large_bodies import LARGE_BYTES, PIECE_BYTES, read_stored
from tests.service.host import LocalHost
from tests.support import natives

LONG_BYTES = 2 * PIECE_BYTES
UNITS = ["x", "é", "值", "😀", '"', "\\", "\n", "\x00", "\\ud83d", 'a"b\\c\n']


def view_of(dialect: str) -> Any:
    return lambda native: registry.get(dialect).view(native.value)


def check(dialect: str, text: str, *, ascii_only: bool, piece_bytes: int = PIECE_BYTES) -> None:
    value = natives.answer(dialect, "c1", text)
    raw = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    read = read_stored(raw, "c1", view_of(dialect), dialect, piece_bytes=piece_bytes)
    assert bytes(read) == text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("dialect", registry.NAMES)
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize("ascii_only", [True, False], ids=["escaped", "as it is"])
def test_what_was_stored_is_read(dialect: str, unit: str, ascii_only: bool) -> None:
    for shift in range(3):
        text = "-" * shift + unit * (LONG_BYTES // len(unit) + 5)
        check(dialect, text, ascii_only=ascii_only)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(UNITS), st.integers(1, 30)), max_size=12), st.booleans())
def test_pieces_may_end_anywhere(runs: list[tuple[str, int]], ascii_only: bool) -> None:
    text = "".join(unit * times for unit, times in runs)
    check("openai-chat", text, ascii_only=ascii_only, piece_bytes=13)


@pytest.mark.parametrize("lone", ["\ud83d", "\udc00"])
def test_lone_surrogates_are_kept(lone: str) -> None:
    check("openai-chat", f"{lone} and {lone}\n" * 50, ascii_only=True, piece_bytes=40)


@pytest.mark.parametrize("raw", [b'{"a": "' + b"x" * (2 * PIECE_BYTES), b'{"a": "\\', b'{"a": "\\u12'])
def test_a_string_without_an_end_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError):
        read_stored(raw, "c1", view_of("anthropic"), "anthropic")


@pytest.mark.parametrize("stand_in", [False, True])
def test_text_that_looks_like_a_stand_in_is_read_as_it_is(host: LocalHost, stand_in: bool) -> None:
    """The digest tells, and the message is read at once then."""
    session = host.open(dialect="openai-chat")
    call = {"id": "c1", "type": "function", "function": {"name": "dump", "arguments": "{}"}}
    text = ("\ue000ctxd:0\ue001" if stand_in else "") + "row of something\n" * (LARGE_BYTES // 16)
    blocks = [{"type": "text", "text": "\ue000ctxd:0\ue001"}, {"type": "text", "text": text}]
    session.append(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": blocks},
    )
    host.reopen()
    session = host.open(dialect="openai-chat")
    stored = "\ue000ctxd:0\ue001\n" + text
    page = session.fetch("c1", page=10**6)
    assert page["totalBytes"] == len(stored.encode())
    assert stored.endswith(page["content"])
    (hit,) = session.call("recall/search", query="row", limit=1)["hits"]
    assert hit["toolCallId"] == "c1"


def test_the_view_of_a_large_message_is_the_dialects_own() -> None:
    value = natives.answer("gemini", "c1", "y" * (LONG_BYTES + 1))
    raw = json.dumps(value).encode()
    native = Native(raw, json.loads(raw), "gemini")
    (block,) = view_of("gemini")(native).results
    assert bytes(read_stored(raw, "c1", view_of("gemini"), "gemini")).decode() == block.text
