"""What must hold of the steps of any recording, and how tests feed lines to an importer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxd.dialects import registry
from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, Format, Response, Results, Step, Transcript, UserInput

SHARED = Path(__file__).parents[2] / "../shared/transcripts"

Noted = dict[str, tuple[int, ...]]


def shared(name: str) -> Path:
    """A recorded session beside the checkout; skips where it is not there."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    return path


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def read(path: Path, content: bytes | Any, format: Format | None = None) -> Transcript:
    """The one session in a file with this content."""
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    (transcript,) = read_transcripts(path, format=format)
    assert_lawful(transcript)
    return transcript


def tags(steps: Sequence[Step]) -> list[str]:
    return [str(step.__struct_config__.tag) for step in steps]


def counted(steps: Sequence[Step]) -> dict[str, int]:
    return dict(Counter(tags(steps)))


def noted(transcript: Transcript) -> Noted:
    return {note.kind: note.lines for note in transcript.notes}


def messages(transcript: Transcript) -> list[Any]:
    """Every message, step by step."""
    return [list(step.messages) for step in transcript.steps if not isinstance(step, Boundary)]


def assert_lawful(transcript: Transcript) -> None:
    """Readable in its dialect; begins with the user where it must; each result answers one call before it."""
    codec = registry.get(transcript.dialect)
    open_calls: list[str] = []
    for place, step in enumerate(transcript.steps):
        if isinstance(step, Boundary):
            for message in step.replacement:
                codec.view(message)
            continue
        views = [codec.view(message) for message in step.messages]
        assert views
        if place == 0 and transcript.dialect in ("anthropic", "gemini"):
            assert isinstance(step, UserInput)
        if isinstance(step, Response):
            assert {view.role for view in views} == {"assistant"}
            open_calls = [call.call_id for view in views for call in view.calls]
        else:
            answered = [result.call_id for view in views for result in view.results]
            assert bool(answered) == isinstance(step, Results)
            for call in answered:
                open_calls.remove(call)
