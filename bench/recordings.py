"""The recorded sessions of other tools as plain conversations: messages alone, in their own dialects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxd.importers.detect import SUFFIXES, read_transcripts
from ctxd.importers.steps import Boundary, Transcript

FOLDER = Path(__file__).parents[1] / "../shared/transcripts"
TOGETHER = 8
"""Short runs of one file that are played as one session."""

Message = dict[str, Any]


class Recording(msgspec.Struct, frozen=True):
    """One session: native messages of a dialect, every call answered or at the end."""

    name: str
    dialect: str
    messages: tuple[Message, ...]


def recordings(folder: Path = FOLDER) -> Iterator[Recording]:
    """Every session below the folder that has tool outputs, in order of name."""
    for path in sorted(folder.rglob("*.*")):
        if path.is_dir() or path.suffix not in SUFFIXES:
            continue
        transcripts = read_transcripts(path)
        for start in range(0, len(transcripts), TOGETHER):
            group = transcripts[start : start + TOGETHER]
            name = f"{path.parent.name}/{path.name}" + (f"#{start}" if len(transcripts) > 1 else "")
            yield Recording(name, group[0].dialect, tuple(m for t in group for m in _messages(t)))


def _messages(transcript: Transcript) -> Iterator[Message]:
    for step in transcript.steps:
        if not isinstance(step, Boundary):
            yield from step.messages
