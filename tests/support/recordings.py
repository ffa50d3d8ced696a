"""The real transcripts as native messages of one dialect each, without usage or compactions.

Small converters of their own, so that a fault of an importer is not taken for one of a dialect. What the
tools record beside a message (who answered, when, the name of a result's tool) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Native = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "../shared/transcripts"
CODEX = FOLDER / "codex/rollout-123-calls.jsonl"
GEMINI = FOLDER / "gemini/cli-session.json"
CHAT = FOLDER / "openai-chat/tau-airline-40.json"
CLAUDE_CODE = tuple(sorted((FOLDER / "claude-code").glob("*.jsonl")))


def claude_code(path: Path) -> list[Native]:
    """The messages of both sides; a line where two records are fused is left out."""
    messages = [r["message"] for r in _records(path) if r.get("type") in ("user", "assistant")]
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def codex(path: Path = CODEX) -> list[Native]:
    """The items as the tool sent them and as they came; reasoning has an id, which the tool does not keep."""
    items: list[Native] = [r["payload"] for r in _records(path) if r["type"] == "response_item"]
    for number, item in enumerate(items):
        if item["type"] == "reasoning":
            item["id"] = f"rs_{number}"
            del item["content"]
    return items


def chat(path: Path = CHAT) -> list[Native]:
    """The longest of the runs, with its policy."""
    runs: list[list[Native]] = [run["traj"] for run in json.loads(path.read_text())]
    return [_without_name(message) for message in max(runs, key=len)]


def gemini(path: Path = GEMINI) -> list[Native]:
    """The contents: what was said with its calls, and what the tools answered to them."""
    contents: list[Native] = []
    for message in json.loads(path.read_text())["messages"]:
        if message["type"] == "user":
            contents.append({"role": "user", "parts": [{"text": message["content"]}]})
            continue
        if message["type"] != "gemini":
            continue
        calls = message.get("toolCalls", [])
        said = [{"text": message["content"]}] if message["content"] else []
        made = [{"functionCall": {k: call[k] for k in ("id", "name", "args")}} for call in calls]
        contents.append({"role": "model", "parts": [*said, *made]})
        if calls:
            contents.append({"role": "user", "parts": [part for call in calls for part in call["result"]]})
    return contents


RECORDINGS: dict[str, tuple[str, Callable[[], list[Native]]]] = {
    **{path.stem: ("anthropic", lambda path=path: claude_code(path)) for path in CLAUDE_CODE},  # type: ignore[misc]  # the default binds
    "codex": ("openai-responses", codex),
    "gemini": ("gemini", gemini),
    "chat": ("openai-chat", chat),
}
"""By name: the dialect, and what reads the messages."""


def _without_name(message: Native) -> Native:
    return {k: v for k, v in message.items() if k != "name" or message["role"] != "tool"}


def _records(path: Path) -> Iterator[Any]:
    for line in path.read_text(errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue
