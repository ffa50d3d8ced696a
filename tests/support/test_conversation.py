"""The mini-language reads what it writes, and both dialects say the same in it."""

from __future__ import annotations

import pytest

from ctxd.dialects import registry
from tests.support.conversation import filler, natives, read, write

EVERYTHING = """\
system: be brief

user: Fix the parser.\\nIt fails on "x: y".
image 800x600

think!: hm
assistant: I look.
call c1 Read path=a.py offset=10 limit=20
call c2 Bash command="ls -l | grep 'a: b'"

result c1 3000: line
result! c2: failed: no such file

assistant: Again.
call c3 Shot

result c3 image 100x100

user 5000: log

assistant: Done."""


def test_a_conversation_is_written_as_it_was_read() -> None:
    assert write(read(EVERYTHING)) == EVERYTHING


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"])
def test_a_dialects_messages_read_as_the_conversation_they_were_made_of(dialect: str) -> None:
    codec = registry.get(dialect)
    shown = write([codec.view(message) for message in natives(EVERYTHING, dialect)])
    expected = EVERYTHING if dialect == "anthropic" else _as_chat(EVERYTHING)
    assert shown == expected


def test_results_apart_are_messages_apart() -> None:
    together = natives("call a X\ncall b X\nresult a: 1\nresult b: 2", "anthropic")
    apart = natives("call a X\ncall b X\nresult a: 1\n\nresult b: 2", "anthropic")
    assert [m["role"] for m in together] == ["assistant", "user"]
    assert [m["role"] for m in apart] == ["assistant", "user", "user"]


@pytest.mark.parametrize("line", ["nobody: hi", "!!", "USER: hi"])
def test_a_line_that_says_nothing_known_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        read(f"user: hi\n{line}")


def test_filler_is_as_long_as_asked() -> None:
    assert [len(filler("word", size)) for size in (0, 1, 5, 4999)] == [0, 1, 5, 4999]


def _as_chat(text: str) -> str:
    """Chat rows: a result each, no error flag, no signature on plain reasoning."""
    rows = text.replace("\nresult! c2", "\n\nresult c2")
    return rows.replace("think!: hm", "think: hm")
