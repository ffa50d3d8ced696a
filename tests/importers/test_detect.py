"""Formats are told from content; what is not served is said, with what is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxd.importers.detect import UnknownFormat, detect_format, read_transcripts

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared/transcripts"


@pytest.mark.parametrize(
    "name", ["codex/rollout-123-calls.jsonl", "gemini/cli-session.json", "pi/two-compactions.jsonl"]
)
def test_a_session_of_another_tool_is_refused_with_a_hint(name: str) -> None:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    with pytest.raises(UnknownFormat) as refused:
        read_transcripts(path)
    assert "Claude Code" in refused.value.hint
    assert path.name in str(refused.value)


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
