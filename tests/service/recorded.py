"""Recorded sessions, played by a host in this process; each call can be looked at before the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxd.dialects.registry import get
from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, Response, Results, Transcript, UserInput
from ctxd.report.tool_outputs import find_results, store_form
from tests.service.host import LocalHost, Session
from tests.support import natives

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared/transcripts"
SAMPLE = ROOT / "ctxd/importers/samples/session.jsonl"
"""The session that is always there: 34 responses, one turn of parallel calls, results up to 20 KB."""

LONG = SHARED / "claude-code/long-three-compactions.jsonl"
AIRLINE = SHARED / "openai-chat/tau-airline-40.json"

TIGHT = {
    "recall": {"spillBytes": 12_000, "headBytes": 1000, "tailBytes": 500, "pageBytes": 4_000},
    "elision": {"minMessages": 8, "keepTurns": 2, "oversizedBytes": 2_000},
    "cache": {"expectedCalls": 1000},
}
"""Options under which the sample shows everything at a window of 20,000: spills, elisions, compactions."""


class Moment(msgspec.Struct, frozen=True):
    """A call that was just answered."""

    method: str
    answer: dict[str, Any]


def read_one(path: Path, number: int = 0) -> Transcript:
    """One session of a file."""
    return read_transcripts(path)[number]


def open_for(host: LocalHost, transcript: Transcript, window: int, session_id: str = "s1") -> Session:
    """A session that speaks a transcript's dialect."""
    fields: dict[str, Any] = {"system": transcript.system, "tools": list(transcript.tools) or None}
    model = {"id": transcript.model or "gpt-4o", "contextWindow": window}
    return host.open(session_id, transcript.dialect, model=model, **fields)


def play(session: Session, transcript: Transcript) -> Iterator[Moment]:
    """Append, prepare and report as recorded; recorded compactions are left out."""
    phase = "turnStart"
    for step in transcript.steps:
        match step:
            case UserInput() | Results():
                yield Moment("session/append", session.append(*step.messages))
                phase = "turnStart" if isinstance(step, UserInput) or step.spoken else "iteration"
            case Boundary():
                if phase == "iteration":
                    go_on = get(transcript.dialect).make("user", "Go on.")
                    yield Moment("session/append", session.append(go_on))
                    phase = "turnStart"
            case Response():
                prepared = session.prepare(phase)
                yield Moment("context/prepare", prepared)
                usage = natives.usage(transcript.dialect, prepared["projection"]["tokens"] + 7)
                answer = session.report(prepared["requestId"], *step.messages, usage=usage)
                yield Moment("context/report", answer)
                phase = "iteration"


def outputs(transcript: Transcript) -> list[tuple[str, bytes]]:
    """(call id, stored form) of every tool output, in order; the stored form is the recording's own."""
    messages = (m for step in transcript.steps if isinstance(step, Results) for m in step.messages)
    return [(call_id, store_form(content)) for call_id, content in find_results(messages)]
