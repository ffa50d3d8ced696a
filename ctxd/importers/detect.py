"""Which format a transcript file has, told from its content, and reading it with the right importer.

Owns the choice between importers. Names of files and folders say nothing here.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from ctxd.importers import claude_code, openai_chat
from ctxd.importers.json_lines import parse, read_lines, read_records
from ctxd.importers.steps import Format, NoteTaker, Transcript

_MOST_RECORDS = 50
_MARKS = ("uuid", "sessionId", "parentUuid", "leafUuid", "messageId")


class UnknownFormat(ValueError):
    """The content is of no format served. `hint` says what is."""

    hint = (
        "served: Claude Code's JSONL sessions; OpenAI chat messages as a JSON list, "
        'as {"messages": [...]} or as tau-bench runs'
    )

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path.name}: {reason}")
        self.path = path
        self.reason = reason


def read_transcripts(path: Path, *, format: Format | None = None) -> list[Transcript]:
    """Every session in a file, `format` told from its content unless given.

    Raises UnknownFormat and OSError.
    """
    chosen = format or detect_format(path)
    match chosen:
        case "claude-code":
            return [claude_code.read_transcript(path)]
        case "openai-chat":
            try:
                return openai_chat.read_transcripts(path)
            except ValueError as error:
                raise UnknownFormat(path, str(error)) from error
        case _:
            assert_never(chosen)


def detect_format(path: Path) -> Format:
    """The format of a file's content. Raises UnknownFormat and OSError."""
    if _looks_like_claude_code(path):
        return "claude-code"
    try:
        document = parse(path.read_bytes().decode("utf-8", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise UnknownFormat(path, "neither known JSON lines nor one JSON document") from error
    if openai_chat.has_messages(document):
        return "openai-chat"
    raise UnknownFormat(path, "JSON, but no chat messages in a known place")


def _looks_like_claude_code(path: Path) -> bool:
    """One of the first records bears a type and an id that Claude Code gives its records."""
    ignored = NoteTaker()
    with path.open("rb") as file:
        for seen, (_, record) in enumerate(read_records(read_lines(file, ignored), ignored)):
            if claude_code.record_type(record) and any(mark in record for mark in _MARKS):
                return True
            if seen == _MOST_RECORDS:
                break
    return False
