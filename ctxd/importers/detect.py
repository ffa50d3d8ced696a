"""Which format a transcript file has, told from its content, and reading it with the right importer.

Owns the choice between importers, and which files of a folder are looked at. Names say nothing else here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, assert_never

from ctxd.importers import (
    bodies,
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    openai_chat,
    pi,
    swe_agent,
)
from ctxd.importers.json_document import Document
from ctxd.importers.json_lines import Meter, read_lines, read_records
from ctxd.importers.steps import Format, NoteTaker, Source, Transcript

SUFFIXES = (".jsonl", ".json", ".traj")
"""Files that are looked at in a folder."""

_MOST_LINES = 200
_MOST_LINE_BYTES = 4 * 1024 * 1024
_Recognizes: TypeAlias = Callable[[dict[str, Any]], bool]

_LINE_FORMATS: dict[Format, _Recognizes] = {
    "claude-code": claude_code.recognizes,
    "codex": codex.recognizes,
    "pi": pi.recognizes,
    "copilot-cli": copilot_cli.recognizes,
    "gemini-cli": gemini_cli.recognizes,
}


class UnknownFormat(ValueError):
    """The content is of no format served. `hint` says what is."""

    hint = (
        "served: sessions of Claude Code, Codex, Gemini CLI, pi, Copilot CLI and SWE-agent; request bodies "
        "of the Anthropic, OpenAI chat, Responses and Gemini APIs; lists of chat messages; tau-bench runs"
    )

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path.name}: {reason}")
        self.path = path
        self.reason = reason


def open_sources(
    path: Path, *, format: Format | None = None, sidechains: bool = False, meter: Meter | None = None
) -> Iterator[Source]:
    """Every session in a file, one after the other, `format` told from its content unless given.

    With `sidechains`, Claude Code's conversations beside the main one come too. Read each to its end
    before the next. Raises UnknownFormat and OSError.
    """
    chosen = format or detect_format(path)
    match chosen:
        case "claude-code":
            return claude_code.open_sources(path, meter=meter, sidechains=sidechains)
        case "codex":
            return codex.open_sources(path, meter=meter)
        case "pi":
            return pi.open_sources(path, meter=meter)
        case "copilot-cli":
            return copilot_cli.open_sources(path, meter=meter)
        case "gemini-cli":
            document = _try_document(path, meter)
            if document is not None and gemini_cli.recognizes_document(document):
                return gemini_cli.open_document(document, path.stem)
            return gemini_cli.open_sources(path, meter=meter)
        case "swe-agent" | "openai-chat" | "anthropic" | "openai-responses" | "gemini":
            return _open_document(_document(path, meter), path.stem, chosen)
        case _:
            assert_never(chosen)


def read_transcripts(
    path: Path, *, format: Format | None = None, sidechains: bool = False
) -> list[Transcript]:
    """Every session in a file, whole. Raises UnknownFormat and OSError."""
    return [source.read() for source in open_sources(path, format=format, sidechains=sidechains)]


def detect_format(path: Path) -> Format:
    """The format of a file's content. Raises UnknownFormat and OSError."""
    by_line = _detect_lines(path)
    if by_line is not None and by_line != "gemini-cli":
        return by_line
    try:
        document = Document.open(path)
    except ValueError as error:
        if by_line is not None:
            return by_line
        raise UnknownFormat(path, "neither known JSON lines nor one JSON document") from error
    if gemini_cli.recognizes_document(document):
        return "gemini-cli"
    if by_line is not None:
        return by_line
    if swe_agent.recognizes(document):
        return "swe-agent"
    body = bodies.recognize(document)
    if body is not None:
        return body
    if openai_chat.recognizes(document):
        return "openai-chat"
    raise UnknownFormat(path, "JSON, but no session or request in a known place")


def find_files(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """(files named, files found in the folders among `paths`), the latter by suffix and in order of name.

    Raises OSError for what is not there.
    """
    named: list[Path] = []
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        else:
            path.stat()
            named.append(path)
    return named, found


def _open_document(document: Document, name: str, format: Format) -> Iterator[Source]:
    match format:
        case "swe-agent":
            return swe_agent.open_sources(document, name)
        case "anthropic" | "openai-responses" | "gemini":
            return bodies.open_sources(document, name, format)
        case _:
            return openai_chat.open_sources(document, name)


def _document(path: Path, meter: Meter | None) -> Document:
    try:
        return Document.open(path, meter)
    except ValueError as error:
        raise UnknownFormat(path, str(error)) from error


def _try_document(path: Path, meter: Meter | None) -> Document | None:
    try:
        return Document.open(path, meter)
    except ValueError:
        return None


def _detect_lines(path: Path) -> Format | None:
    """The format whose records the first lines hold."""
    ignored = NoteTaker()
    with path.open("rb") as file:
        for number, line in read_lines(file, ignored, max_bytes=_MOST_LINE_BYTES):
            for _, record in read_records([(number, line)], ignored):
                for format, recognizes in _LINE_FORMATS.items():
                    if recognizes(record):
                        return format
            if number >= _MOST_LINES:
                break
    return None
