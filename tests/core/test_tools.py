"""What a tool does is known by its name, whatever server it comes from; a host names its own."""

from __future__ import annotations

import pytest

from ctxd.core.tools import Tools, nature


@pytest.mark.parametrize(
    ("name", "effect", "file"),
    [
        ("Read", "read", True),
        ("read_file", "read", True),
        ("mcp__files__read_text_file", "read", True),
        ("ReadFile", "read", True),
        ("read_many_files", "read", True),
        ("Grep", "read", False),
        ("Edit", "write", True),
        ("StrReplaceFile", "write", True),
        ("replace_string_in_file", "write", True),
        ("fs_write", "write", True),
        ("Bash", "other", False),
    ],
)
def test_tools_of_known_hosts(name: str, effect: str, file: bool) -> None:
    assert nature(name) == (effect, file)


@pytest.mark.parametrize("name", ["peek", "Peek", "mcp__my__peek"])
def test_a_hosts_own_tool_is_known_with_and_without_its_server(name: str) -> None:
    tools = Tools(reads=frozenset({"peek"}))
    assert nature(name, tools) == ("read", True)
    assert nature(name) == ("other", False)


def test_what_a_host_says_of_a_known_name_wins() -> None:
    assert nature("grep", Tools(reads=frozenset({"grep"}))) == ("read", True)
    assert nature("read", Tools(writes=frozenset({"read"}))) == ("write", True)
