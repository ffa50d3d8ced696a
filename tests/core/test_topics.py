from __future__ import annotations

import pytest

from ctxd.core.topics import topic_key, topic_name, topic_of
from tests.support.behaviour import behaviour

ATTACKS = {
    "empty": "",
    "blank": "   ",
    "only the suffix": ".md",
    "up": "../x",
    "up and back": "a/../b",
    "dots": "..",
    "dot": ".",
    "hidden": ".git",
    "home": "~root",
    "slash": "a/b",
    "absolute": "/etc/passwd",
    "backslash": "a\\b",
    "drive": "C:foo",
    "stream": "notes:secret",
    "wildcard": "no*tes",
    "question": "what?",
    "pipe": "a|b",
    "quote": 'a"b',
    "angle": "<notes>",
    "nul": "a\0b",
    "newline": "a\nb",
    "escape": "a\x1b[2Jb",
    "delete": "a\x7fb",
    "right to left override": "a\u202egnp.md",
    "isolate": "a\u2066b",
    "zero width": "no\u200btes",
    "byte order mark": "\ufeffnotes",
    "line separator": "a\u2028b",
    "lone surrogate": "a\udc80",
    "private use": "a\ue000",
    "unassigned": "a\u0378",
    "leading blank": " notes",
    "trailing blank": "notes ",
    "trailing dot": "notes.",
    "device": "CON",
    "device with an ending": "nul.txt",
    "device with a digit": "com1",
    "short name": "PROGRA~1",
    "too long": "n" * 81,
    "too many bytes": "字" * 70,
}


@behaviour("memory.topic-names")
@pytest.mark.parametrize("name", ATTACKS.values(), ids=ATTACKS)
def test_a_name_that_some_system_reads_otherwise_is_refused_without_repeating_it(name: str) -> None:
    with pytest.raises(ValueError) as refused:
        topic_name(name)
    assert len(name.strip()) < 3 or name not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("notes", "notes"),
        ("notes.md", "notes"),
        ("部署", "部署"),
        ("naïve plan 2", "naïve plan 2"),
        ("nai\u0308ve", "naïve"),
        ("MEMORY", "MEMORY"),
        ("memory.MD", "MEMORY"),
        ("Memory", "MEMORY"),
        ("v1.2-rc", "v1.2-rc"),
        ("v1.2~rc", "v1.2~rc"),
    ],
)
def test_a_name_is_composed_and_without_its_ending(given: str, name: str) -> None:
    assert topic_name(given) == name


def test_names_that_a_forgiving_file_system_takes_for_one_have_one_key() -> None:
    assert topic_key("Straße") == topic_key("STRASSE")
    assert topic_key("ﬁx") == topic_key("fix")
    assert topic_key("notes") != topic_key("note")


@pytest.mark.parametrize(
    "name", ["notes.txt", ".notes.md", "no:tes.md", "notes.MD", "memory.md", "nai\u0308ve.md"]
)
def test_a_file_that_no_topic_would_be_written_to_is_none(name: str) -> None:
    assert topic_of(name) is None


def test_a_file_is_its_topic() -> None:
    assert topic_of("notes.md") == "notes"
    assert topic_of("MEMORY.md") == "MEMORY"
