"""Every recording managed in every dialect, at three windows: no request breaks a rule or its SDK's types.

Three opinions on each request: ctxd's own laws, `wire_check`, written without them, and the types of the
official SDKs. By default the beginning of each recording at the narrowest window; with `--slow` all of it.
In this process, for speed: the process itself is what the other tests of this folder start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from ctxd.dialects.registry import get
from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, DialectName, Transcript
from ctxd.report.crossing import cross
from ctxd.report.wire_check import check_request
from tests.e2e.test_five_compactions import paths
from tests.service.host import Answer, LocalHost
from tests.service.recorded import open_for, play
from tests.support import sdk
from tests.support.behaviour import behaviour

DIALECTS: tuple[DialectName, ...] = get_args(DialectName)
WINDOWS = (200_000, 60_000, 20_000)
BEGINNING = 120
"""Steps of a recording that are played by default."""

EVERY = 8
"""Every so many requests the SDK is asked, and whenever ctxd changed the view."""

_FILES = pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
_DIALECTS = pytest.mark.parametrize("dialect", DIALECTS)


@behaviour("recordings.every-dialect")
@_DIALECTS
@_FILES
def test_the_beginning_of_every_recording_is_sendable_in_every_dialect(
    tmp_path: Path, path: Path, dialect: DialectName
) -> None:
    transcript = read_transcripts(path)[0]
    steps = [step for step in transcript.steps if not isinstance(step, Boundary)][:BEGINNING]
    check(tmp_path, [msgspec.structs.replace(transcript, steps=tuple(steps))], dialect, WINDOWS[-1])


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@_DIALECTS
@_FILES
def test_every_session_of_every_recording_is_sendable_in_every_dialect_at_every_window(
    tmp_path: Path, path: Path, dialect: DialectName, window: int
) -> None:
    check(tmp_path, read_transcripts(path), dialect, window)


def check(folder: Path, transcripts: list[Transcript], dialect: DialectName, window: int) -> None:
    """Play the sessions; whatever is wrong with a request is said with its session and place."""
    with LocalHost(folder / "state") as host:
        for number, recorded in enumerate(transcripts):
            transcript, _ = cross(recorded, dialect)
            session = open_for(host, transcript, window, f"s{number}")
            asked = 0
            for moment in play(session, transcript):
                if moment.method != "context/prepare":
                    continue
                messages = moment.answer["messages"]
                found = list(faults(host, dialect, messages))
                if asked % EVERY == 0 or moment.answer["report"]["stages"]:
                    found += sdk.faults(dialect, messages, recorded=recorded.dialect == dialect)
                assert found == [], f"{recorded.name}, request {asked}"
                asked += 1
            assert asked
            assert sdk.faults(dialect, made(messages, transcript)) == []


def faults(host: LocalHost, dialect: DialectName, messages: list[Answer]) -> Iterator[str]:
    yield from check_request(dialect, messages)
    verdict = host.call("context/validate", dialect=dialect, messages=messages)
    yield from (f"{v['index']}: {v['rule']}" for v in verdict["violations"])


def made(messages: list[Answer], transcript: Transcript) -> list[Answer]:
    """The messages of the user's side that no recording holds: ctxd's summaries, tasks and handoffs."""
    steps = [step for step in transcript.steps if not isinstance(step, Boundary)]
    known = {json.dumps(message) for step in steps for message in step.messages}
    view = get(transcript.dialect).view
    return [m for m in messages if view(m).is_user_turn and json.dumps(m) not in known]
