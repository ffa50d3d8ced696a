"""The neutral stream: what happened in a recorded session, step by step, messages in native shape.

Owns the nouns every importer produces. Knows no file format, no event of ctxd's own, no wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec

Format: TypeAlias = Literal[
    "claude-code",
    "codex",
    "gemini-cli",
    "pi",
    "swe-agent",
    "copilot-cli",
    "anthropic",
    "openai-chat",
    "openai-responses",
    "gemini",
]
"""Six tools' own files, and request bodies of four APIs."""

DialectName: TypeAlias = Literal["anthropic", "openai-chat", "openai-responses", "gemini"]
Message: TypeAlias = dict[str, Any]


class UserInput(msgspec.Struct, frozen=True, tag="userInput"):
    """A person spoke (or the host put text in a person's place). `line` is 1-based."""

    messages: tuple[Message, ...]
    line: int


class Response(msgspec.Struct, frozen=True, tag="response"):
    """One answer of the model.

    `usage` is the provider's own object, None where none was recorded. `prompt_reported` and
    `completion_reported` are read from it, tokens: the whole prompt (Anthropic: input + cache
    creation + cache read; OpenAI and Gemini: input as is) and the answer (Gemini: without its thoughts).
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

    `replacement` is what took the place of all that came before: a summary, and messages that were
    kept. Empty where it is lost. `pre_tokens` is the size that was reported.
    """

    line: int
    pre_tokens: int | None = None
    replacement: tuple[Message, ...] = ()


Step: TypeAlias = UserInput | Response | Results | Boundary


class Note(msgspec.Struct, frozen=True):
    """Something an importer skipped or repaired. `lines` holds the first line numbers, 1-based."""

    kind: str
    count: int
    lines: tuple[int, ...]


class Source(msgspec.Struct, frozen=True):
    """One recorded session that is still to be read: what is known of it, and its steps, once.

    `system` and `tools` are native values where the format records them, `window` the model's context
    window in tokens. `notes` is complete when the steps are read to their end.
    """

    format: Format
    dialect: DialectName
    name: str
    steps: Iterator[Step]
    notes: NoteTaker
    model: str = ""
    window: int | None = None
    system: Any = None
    tools: tuple[Message, ...] = ()

    def read(self) -> Transcript:
        """The whole session at once."""
        steps = tuple(self.steps)
        return Transcript(
            format=self.format,
            dialect=self.dialect,
            name=self.name,
            model=self.model,
            steps=steps,
            notes=self.notes.notes(),
            window=self.window,
            system=self.system,
            tools=self.tools,
        )


class Transcript(msgspec.Struct, frozen=True):
    """One recorded session, read. The members are those of its source."""

    format: Format
    dialect: DialectName
    name: str
    model: str
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]
    window: int | None = None
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


def sum_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """One note per kind."""
    summed: dict[str, Note] = {}
    for note in notes:
        before = summed.get(note.kind, Note(note.kind, 0, ()))
        lines = tuple(dict.fromkeys(before.lines + note.lines))
        summed[note.kind] = Note(note.kind, before.count + note.count, lines)
    return tuple(summed.values())


def read_count(counts: Any, name: str) -> int | None:
    """A member that is a number of tokens; None for anything else, and where there is none."""
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
