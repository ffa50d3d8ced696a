"""What a message weighs and what its calls were about."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest

from ctxd.core.facts import (
    CALL_OVERHEAD,
    MESSAGE_OVERHEAD,
    RESULT_OVERHEAD,
    about,
    describe,
    is_file_read,
    weigh,
)
from ctxd.model.blocks import MessageView, Opaque, Reasoning, ToolCall, ToolResult
from ctxd.model.messages import CallFacts, MessageFacts, Native
from tests.support.behaviour import behaviour
from tests.support.conversation import read
from tests.support.session import WEIGHER, Session


def weight(text: str) -> tuple[int, int, tuple[int, ...]]:
    return weigh(read(text)[0], WEIGHER)


def call(name: str, **arguments: object) -> CallFacts:
    return about(ToolCall("c", name, json.dumps(arguments)))


def facts(text: str, *, hidden: bool = False, deferred: bool = False) -> list[MessageFacts]:
    session = Session()
    session.say(text, hidden=hidden, deferred=deferred)
    return [entry.facts for entry in session.state.view]


@pytest.mark.parametrize(
    ("text", "tokens", "media", "results"),
    [
        ("user: ", MESSAGE_OVERHEAD, 0, ()),
        ("user: 12345678", MESSAGE_OVERHEAD + 2, 0, ()),
        ("think: 12345678\nassistant: 1234", MESSAGE_OVERHEAD + 3, 0, ()),
        ("call c Read", MESSAGE_OVERHEAD + 1 + 1 + CALL_OVERHEAD, 0, ()),
        ("call c Read\ncall d Read", MESSAGE_OVERHEAD + 2 * (1 + 1 + CALL_OVERHEAD), 0, ()),
        ("result c 400", MESSAGE_OVERHEAD + 100 + RESULT_OVERHEAD, 0, (100,)),
        ("result c 40\nresult d 80", MESSAGE_OVERHEAD + 30 + 2 * RESULT_OVERHEAD, 0, (10, 20)),
        ("image 750x100", MESSAGE_OVERHEAD, 100, ()),
        ("result c 40 image 750x7", MESSAGE_OVERHEAD + 10 + RESULT_OVERHEAD, 7, (10,)),
    ],
)
def test_every_kind_of_block_weighs_something(
    text: str, tokens: int, media: int, results: tuple[int, ...]
) -> None:
    assert weight(text) == (tokens, media, results)


def test_an_unknown_block_weighs_its_json_and_encrypted_reasoning_its_bytes() -> None:
    view = MessageView("assistant", (Opaque("x", "12345678"), Reasoning("", True, 40)))
    assert weigh(view, WEIGHER) == (MESSAGE_OVERHEAD + 2 + 10, 0, ())


def test_an_image_weighs_by_formula_and_never_by_its_base64() -> None:
    """Reports D.50: a pasted screenshot is not 400k tokens."""
    [message] = facts("user: see\nimage 1500x1000")
    assert (message.tokens, message.media_tokens) == (MESSAGE_OVERHEAD + 1, 2_000)
    assert message.media_bytes > 10_000


def test_a_results_media_is_kept_apart_from_its_neighbours() -> None:
    [message] = facts("result a image 750x100\nresult b 40 image 750x200")
    assert [(r.media, r.media_tokens) for r in message.results] == [(1, 100), (1, 200)]
    assert sum(r.media_bytes for r in message.results) == message.media_bytes
    assert message.media_tokens == 300


def test_deferred_facts_say_everything_but_the_counts() -> None:
    [at_once], [later] = facts("result c 400"), facts("result c 400", deferred=True)
    assert (later.tokens, later.results[0].tokens) == (-1, -1)
    assert later.counted(at_once.tokens, (100,)) == at_once


def test_media_is_weighed_at_once_even_where_counting_is_deferred() -> None:
    [at_once] = facts("result c 400 image 750x100")
    [view] = read("result c 400 image 750x100")
    value = {"role": "user", "content": []}
    native = Native(raw=msgspec.json.encode(value), value=value)
    later = describe("m", native, view, None, media=WEIGHER.media)
    assert later.tokens == -1
    assert later.media_tokens == at_once.media_tokens == 100
    assert later.results[0].media_tokens == 100


def test_a_person_speaks_in_a_user_message_that_is_more_than_results() -> None:
    text = "user: hi\n\nassistant: a\n\nresult c: r\n\nimage 10x10"
    assert [f.user_turn for f in facts(text)] == [True, False, False, True]
    assert facts("user: hi", hidden=True)[0].user_turn is False


def test_signed_thinking_is_seen() -> None:
    assert [f.signed for f in facts("think!: a\nassistant: b\n\nassistant: c")] == [True, False]


@behaviour("facts.errors")
def test_an_error_is_what_the_result_says_it_is_and_not_its_words() -> None:
    """O section 4, weakness: ok or error by a literal prefix."""
    marked, plain = facts("result! c: fine\n\nresult c: Error: failed ENOENT")
    assert (marked.results[0].is_error, plain.results[0].is_error) == (True, False)


def test_sizes_are_bytes_of_the_stored_form_and_digests_name_it() -> None:
    [message] = facts("result c: é世")
    assert message.results[0].bytes == 5
    assert message.results[0].digest == "sha256:" + hashlib.sha256("é世".encode()).hexdigest()
    assert message.bytes == len(
        '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"é世"}]}'.encode()
    )


def test_lone_surrogates_have_a_size_and_a_digest() -> None:
    session = Session()
    value = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "\ud800"}]}
    view = session.dialect.view(value)
    made = describe("m", Native(raw=b"{}", value=value), view, WEIGHER)
    assert made.results[0].bytes == 3
    assert made.results[0].digest != "sha256:" + hashlib.sha256(b"?").hexdigest()


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("Read", "read"),
        ("read_file", "read"),
        ("Grep", "read"),
        ("WebFetch", "read"),
        ("Edit", "write"),
        ("apply_patch", "write"),
        ("Bash", "other"),
        ("TodoWrite", "other"),
        ("mcp__files__read_file", "read"),
        ("mcp__files__Write", "write"),
        ("mcp__db__query", "other"),
    ],
)
def test_a_tool_is_known_by_its_name_whatever_its_case_or_server(name: str, effect: str) -> None:
    assert call(name, path="a.py").effect == effect


def test_an_editor_tool_that_only_looks_is_a_read() -> None:
    for name in ("str_replace_editor", "str_replace_based_edit_tool"):
        viewed = call(name, command="view", path="a.py", view_range=[1, 40])
        assert (viewed.effect, viewed.path, viewed.span, is_file_read(viewed)) == (
            "read",
            "a.py",
            "1-40",
            True,
        )
        assert call(name, command="str_replace", path="a.py").effect == "write"
        assert call(name, command="create", path="a.py").effect == "write"


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps(
            {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Add File: b.py\n*** End Patch"}
        ),
        "*** Begin Patch\n*** Update File: src/a.py\n@@\n",
    ],
)
def test_a_patch_touches_the_file_it_names(arguments: str) -> None:
    """O section 11, weakness: apply_patch often has no path argument, so it was no touch."""
    patched = about(ToolCall("c", "apply_patch", arguments))
    assert (patched.path, patched.target) == ("src/a.py", "src/a.py")


@pytest.mark.parametrize("key", ["path", "file_path", "filePath", "absolute_path", "notebook_path", "file"])
def test_the_path_is_found_under_every_name_tools_give_it(key: str) -> None:
    assert call("Read", **{key: "a.py"}).path == "a.py"


def test_only_tools_that_read_or_write_a_file_have_a_path() -> None:
    found = call("Grep", pattern="x", path="src")
    assert (found.path, found.target, is_file_read(found)) == ("", "src", False)


@pytest.mark.parametrize(
    ("arguments", "span"),
    [
        ({}, ""),
        ({"start_line": 5, "end_line": 9}, "5-9"),
        ({"offset": 5, "limit": 10}, "5-14"),
        ({"offset": 5}, "5-"),
        ({"end_line": 9}, "1-9"),
        ({"limit": 10}, "1-10"),
        ({"view_range": [3, 8]}, "3-8"),
        ({"offset": 0, "limit": 1}, "0-0"),
        ({"offset": "5"}, ""),
    ],
)
def test_a_range_has_one_form_however_it_was_asked_for(arguments: dict[str, object], span: str) -> None:
    assert call("Read", path="a.py", **arguments).span == span


@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        ("Read", {"path": "a.py", "offset": 1, "limit": 2}, "a.py:1-2"),
        ("Bash", {"command": "make test"}, "make test"),
        ("Bash", {"command": "a\nb"}, "a…"),
        ("Bash", {"command": "x" * 101}, "x" * 100 + "…"),
        ("shell", {"command": ["ls", "-l"]}, "ls -l"),
        ("Grep", {"pattern": "y" * 61}, "y" * 60 + "…"),
        ("WebFetch", {"url": "https://example.org"}, "https://example.org"),
        ("Mystery", {"secret": "no"}, ""),
        ("Read", {"path": "p" * 200}, "p" * 160 + "…"),
    ],
)
def test_a_target_is_one_short_line(name: str, arguments: dict[str, object], target: str) -> None:
    assert call(name, **arguments).target == target


@pytest.mark.parametrize(
    "arguments", ["", "not json", "[1]", "null", '"text"', "[" * 5_000, '{"path": 5}', '{"path": "\ud800"}']
)
def test_arguments_that_say_nothing_raise_nothing(arguments: str) -> None:
    assert about(ToolCall("c", "Read", arguments)).name == "Read"


def test_results_are_described_in_the_order_they_stand() -> None:
    view = MessageView("user", (ToolResult("b", "2"), ToolResult("a", "1")))
    made = describe("m", Native(raw=b"{}", value={}), view, WEIGHER)
    assert [r.call_id for r in made.results] == ["b", "a"]
