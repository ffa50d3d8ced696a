"""The neutral stream: what happened in a recorded session, step by step, messages in native shape.

Owns the nouns every importer produces. Knows no file format, no event of ctxd's own, no wire.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Format: TypeAlias = Literal["claude-code", "openai-chat"]
DialectName: TypeAlias = Literal["anthropic", "openai-chat"]
Message: TypeAlias = dict[str, Any]


class UserInput(msgspec.Struct, frozen=True, tag="userInput"):
    """A person spoke (or the host put text in a person's place). `line` is 1-based."""

    messages: tuple[Message, ...]
    line: int


class Response(msgspec.Struct, frozen=True, tag="response"):
    """One answer of the model.

    `usage` is the provider's own object, None where none was recorded. `prompt_reported` and
    `completion_reported` are read from it, tokens: the whole prompt (Anthropic: input + cache
    creation + cache read; OpenAI: input as is) and the answer.
    """

    messages: tuple[Message, ...]
    line: int
    model: str = ""
    usage: dict[str, Any] | None = None
    prompt_reported: int | None = None
    completion_reported: int | None = None


class Results(msgspec.Struct, frozen=True, tag="results"):
    """What the tools answered to the response before. `spoken`: a person's words came with them."""

    messages: tuple[Message, ...]
    line: int
    spoken: bool = False


class Boundary(msgspec.Struct, frozen=True, tag="boundary"):
    """The recording tool compacted here.

    `summary` is the message that replaced what came before, `pre_tokens` the size it reported.
    """

    line: int
    kind: Literal["compact"] = "compact"
    pre_tokens: int | None = None
    summary: Message | None = None


Step: TypeAlias = UserInput | Response | Results | Boundary


class Note(msgspec.Struct, frozen=True):
    """Something an importer skipped or repaired. `lines` holds the first line numbers, 1-based."""

    kind: str
    count: int
    lines: tuple[int, ...]


class Transcript(msgspec.Struct, frozen=True):
    """One recorded session. `system` and `tools` are native values where the format records them."""

    format: Format
    dialect: DialectName
    name: str
    model: str
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    system: Any = None
    tools: tuple[Message, ...] = ()


class NoteTaker:
    """Counts what was skipped or repaired, by kind, with the first line numbers of each."""

    def __init__(self, *, most_lines: int = 20) -> None:
        self._most_lines = most_lines
        self._counts: dict[str, int] = {}
        self._lines: dict[str, list[int]] = {}

    def note(self, kind: str, line: int, *, count: int = 1) -> None:
        """Count `count` occurrences of `kind` at a line."""
        self._counts[kind] = self._counts.get(kind, 0) + count
        lines = self._lines.setdefault(kind, [])
        if len(lines) < self._most_lines and (not lines or lines[-1] != line):
            lines.append(line)

    def notes(self) -> tuple[Note, ...]:
        """Everything noted so far, in the order the kinds first came up."""
        return tuple(Note(kind, count, tuple(self._lines[kind])) for kind, count in self._counts.items())
