"""Every message of the real transcripts is read, and edits of it are read again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxd.dialects.registry import get

FOLDER = Path(__file__).parents[2] / "../shared/transcripts"
CLAUDE_CODE = sorted((FOLDER / "claude-code").glob("*.jsonl"))

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no transcripts in {FOLDER}")


def claude_code(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # two fused records, on purpose
        if record.get("type") in ("user", "assistant"):
            yield record["message"]


def chat() -> Iterator[dict[str, Any]]:
    for run in json.loads((FOLDER / "openai-chat/tau-airline-40.json").read_text()):
        yield from run["traj"]


def check(name: str, messages: list[dict[str, Any]]) -> None:
    dialect = get(name)
    for message in messages:
        view = dialect.view(message)
        assert view.blocks
        shorter = dialect.with_results(message, {result.call_id: "gone" for result in view.results})
        assert [r.text for r in dialect.view(shorter).results] == ["gone"] * len(view.results)
        assert dialect.view(dialect.with_text(message, "short")).calls == view.calls
    mended, _ = dialect.mend(messages, pending=False)
    assert [v for rule in dialect.rules for v in rule.violations([dialect.view(m) for m in mended])] == []


@pytest.mark.parametrize("path", CLAUDE_CODE, ids=lambda path: path.stem)
def test_every_claude_code_message_is_read_and_edited(path: Path) -> None:
    messages = list(claude_code(path))
    assert messages
    check("anthropic", messages)


def test_every_chat_message_is_read_and_edited() -> None:
    messages = list(chat())
    assert len(messages) > 1000
    check("openai-chat", messages)


def test_lawful_chat_runs_are_left_as_they_are() -> None:
    for run in json.loads((FOLDER / "openai-chat/tau-airline-40.json").read_text()):
        mended, edits = get("openai-chat").mend(run["traj"], pending=True)
        assert edits == []
        assert all(a is b for a, b in zip(mended, run["traj"], strict=True))
