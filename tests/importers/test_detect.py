"""Formats are told from content; what is not served is said, with what is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxd.importers.detect import UnknownFormat, detect_format, find_files, read_transcripts
from ctxd.importers.steps import Format

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared/transcripts"


FORMATS = {
    "claude-code/chinese.jsonl": ("claude-code", "anthropic"),
    "codex/rollout-123-calls.jsonl": ("codex", "openai-responses"),
    "gemini/cli-session.json": ("gemini-cli", "gemini"),
    "openai-chat/tau-airline-40.json": ("openai-chat", "openai-chat"),
    "pi/two-compactions.jsonl": ("pi", "anthropic"),
    "swe-agent/function-calling.traj": ("swe-agent", "openai-chat"),
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_recorded_session_is_known_by_its_content_under_any_name(name: str, tmp_path: Path) -> None:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    renamed = tmp_path / "x.txt"
    renamed.write_bytes(path.read_bytes())
    transcript = read_transcripts(renamed)[0]
    assert (transcript.format, transcript.dialect) == FORMATS[name]


BODIES: list[tuple[str, Any, Format]] = [
    ("Anthropic by its system", {"system": "s", "messages": [{"role": "user", "content": "x"}]}, "anthropic"),
    (
        "Anthropic by its tools",
        {"tools": [{"name": "t", "input_schema": {}}], "messages": [{"role": "user", "content": "x"}]},
        "anthropic",
    ),
    (
        "Anthropic by its blocks",
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]}],
        "anthropic",
    ),
    (
        "Anthropic by its model",
        {"model": "claude-x", "messages": [{"role": "user", "content": "x"}]},
        "anthropic",
    ),
    ("chat by its tools", {"tools": [{"type": "function"}], "messages": [{"role": "user"}]}, "openai-chat"),
    (
        "chat by its roles",
        {"model": "claude-x", "messages": [{"role": "system", "content": "x"}]},
        "openai-chat",
    ),
    ("chat where nothing tells", [{"role": "user", "content": "x"}], "openai-chat"),
    ("Responses items", {"input": [{"role": "user", "content": "x"}]}, "openai-responses"),
    ("a Responses string", {"input": "x", "instructions": "y"}, "openai-responses"),
    ("Gemini contents", {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}, "gemini"),
    ("a Gemini CLI checkpoint", {"history": [{"role": "user", "parts": [{"text": "x"}]}]}, "gemini"),
    ("a list of contents", [{"parts": [{"text": "x"}]}], "gemini"),
    ("a Gemini CLI chat", {"sessionId": "s", "messages": [{"id": "1", "type": "user"}]}, "gemini-cli"),
    ("a trajectory", {"trajectory": [], "history": [{"role": "user", "content": "x"}]}, "swe-agent"),
]


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "many lines"])
@pytest.mark.parametrize(("document", "format"), [b[1:] for b in BODIES], ids=[b[0] for b in BODIES])
def test_a_document_is_known_by_what_only_its_format_has(
    tmp_path: Path, document: Any, format: Format, indent: int | None
) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps(document, indent=indent))
    assert detect_format(path) == format


LINES: list[tuple[str, Any, Format]] = [
    ("Codex", {"timestamp": "t", "type": "session_meta", "payload": {"id": "i"}}, "codex"),
    ("Codex before September 2025", {"id": "i", "timestamp": "t", "instructions": None}, "codex"),
    ("pi", {"type": "session", "version": 3, "id": "i", "timestamp": "t", "cwd": "/x"}, "pi"),
    ("Copilot CLI", {"type": "session.start", "data": {}, "id": "i", "timestamp": "t"}, "copilot-cli"),
    ("Gemini CLI", {"sessionId": "s", "projectHash": "h", "kind": "main"}, "gemini-cli"),
    ("Claude Code", {"type": "summary", "leafUuid": "u", "summary": "s"}, "claude-code"),
]


@pytest.mark.parametrize(("record", "format"), [line[1:] for line in LINES], ids=[line[0] for line in LINES])
def test_a_log_is_known_by_its_first_line(tmp_path: Path, record: Any, format: Format) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps(record) + "\n" + json.dumps({"type": "x"}) + "\n")
    assert detect_format(path) == format


def test_a_folder_gives_its_transcripts_in_order_and_files_that_are_named_stay_apart(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "a/1.traj", "a/notes.txt", "3.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    named, found = find_files([tmp_path / "a/notes.txt", tmp_path])
    assert [path.name for path in named] == ["notes.txt"]
    assert [path.name for path in found] == ["3.json", "1.traj", "2.jsonl"]
    with pytest.raises(FileNotFoundError):
        find_files([tmp_path / "nowhere"])


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello", b"\0" * 100, b"{}", b'{"type":"user"}', b"[[]]"])
def test_content_of_no_format_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    with pytest.raises(UnknownFormat):
        read_transcripts(path)


def test_the_name_of_a_file_says_nothing(tmp_path: Path) -> None:
    chat = tmp_path / "session.jsonl"
    chat.write_text(json.dumps([{"role": "user", "content": "hi"}]))
    code = tmp_path / "chat.json"
    code.write_bytes((ROOT / "tests/data/image-result.jsonl").read_bytes())
    assert (detect_format(chat), detect_format(code)) == ("openai-chat", "claude-code")


def test_a_damaged_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\0" * 50 + b'\n{"torn\n' + (ROOT / "tests/data/image-result.jsonl").read_bytes())
    (transcript,) = read_transcripts(path)
    assert [note.kind for note in transcript.notes] == ["nulRun", "tornRecord", "openedWithoutUser"]


def test_a_forced_format_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("no JSON")
    with pytest.raises(UnknownFormat):
        read_transcripts(path, format="openai-chat")
