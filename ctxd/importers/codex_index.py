"""What must be known of a Codex rollout before its items are read.

Owns the first pass: the newest model, the window, the instructions, where usage stands, and which lines
belong to turns that were taken back. Reads the payloads of items no further than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxd.dialects.openai_responses_items import CALLS, OUTPUTS
from ctxd.importers.json_lines import Meter, read_records, scan_lines
from ctxd.importers.steps import NoteTaker, read_count

ITEMS = frozenset(
    {"message", "reasoning", *CALLS, *OUTPUTS, "web_search_call", "ghost_snapshot", "compaction", "other"}
)
"""Item types that stand bare in the early layout."""

_CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<skill>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
"""How user messages begin that Codex wrote: they begin no turn."""

_TELLING = (
    b'"session_meta"',
    b'"turn_context"',
    b'"token_count"',
    b'"thread_rolled_back"',
    b'"instructions"',
)
_USER = b'"user"'


class RolloutIndex:
    """Facts of one rollout. `usage_first`: usage stands in front of the items it is of."""

    def __init__(self) -> None:
        self.model = ""
        self.window: int | None = None
        self.instructions = ""
        self.has_usage = False
        self.usage_first = False
        self._seen_items = False
        self._taken_back: list[tuple[int, int]] = []

    @classmethod
    def scan(cls, path: Path, meter: Meter | None = None) -> RolloutIndex:
        """Read a file for these facts alone. Raises OSError; damage never raises."""
        index = cls()
        turns: list[int] = []
        for line, record in _read_telling(path, meter, index):
            payload = record.get("payload")
            payload = payload if isinstance(payload, dict) else record
            index._take(line, record.get("type"), payload, turns)
        return index

    def is_rolled_back(self, line: int) -> bool:
        """Whether a line lies in a turn that the user took back."""
        return any(start <= line < end for start, end in self._taken_back)

    def saw_item(self) -> None:
        """An item of the model's was seen."""
        self._seen_items = True

    def _take(self, line: int, kind: Any, payload: dict[str, Any], turns: list[int]) -> None:
        match kind, payload.get("type"):
            case "turn_context", _:
                model = payload.get("model")
                self.model = model if isinstance(model, str) else self.model
            case "session_meta" | None, _:
                self.instructions = self.instructions or _instructions(payload)
            case "event_msg", "token_count":
                info = payload.get("info")
                if isinstance(info, dict) and isinstance(info.get("last_token_usage"), dict):
                    self.usage_first = self.usage_first or (not self.has_usage and not self._seen_items)
                    self.has_usage = True
                    self.window = read_count(info, "model_context_window") or self.window
            case "event_msg", "thread_rolled_back":
                taken = read_count(payload, "num_turns") or 0
                if taken and turns:
                    start = turns[-taken] if taken <= len(turns) else turns[0]
                    del turns[-taken:]
                    self._taken_back.append((start, line))
            case _, "message":
                if payload.get("role") == "user" and not _is_context(payload):
                    turns.append(line)


def _read_telling(
    path: Path, meter: Meter | None, index: RolloutIndex
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records that may tell something; the others are not decoded."""
    ignored = NoteTaker()
    for number, line in scan_lines(path, ignored, meter, "index"):
        head = line[:400]
        if b'"reasoning"' in head or b'_call"' in head or b'"assistant"' in head:
            index.saw_item()
        if _USER in head or any(mark in head for mark in _TELLING):
            yield from read_records([(number, line)], ignored)


def _instructions(meta: dict[str, Any]) -> str:
    """The system prompt, where a version records it."""
    match meta:
        case {"base_instructions": {"text": str(text)}} | {"base_instructions": str(text)}:
            return text
        case {"instructions": str(text)}:
            return text
        case _:
            return ""


def _is_context(message: dict[str, Any]) -> bool:
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else content
    return isinstance(text, str) and text.lstrip().startswith(_CONTEXT)
