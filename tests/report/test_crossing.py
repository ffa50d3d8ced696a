"""A recording in another dialect: every step is still there, what stays behind is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, DialectName, Response, Results, Transcript, UserInput
from ctxd.report.crossing import cross
from ctxd.report.figures import FileReport
from ctxd.report.replay import Plan, replay_files
from tests.importers.lawful import SHARED, assert_lawful, tags
from tests.support.behaviour import behaviour

SAMPLE = Path(__file__).parents[2] / "ctxd/importers/samples/session.jsonl"
DIALECTS: tuple[DialectName, ...] = get_args(DialectName)


def recording() -> Transcript:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "fine"}
    return Transcript(
        format="claude-code",
        dialect="anthropic",
        name="x",
        model="claude-x",
        steps=(
            UserInput(messages=({"role": "user", "content": "go"},), line=1),
            Response(
                messages=({"role": "assistant", "content": [thought, call]},),
                line=2,
                usage={"input_tokens": 9},
                prompt_reported=9,
            ),
            Results(
                messages=({"role": "user", "content": [result, {"type": "text", "text": "and"}]},),
                line=3,
                spoken=True,
            ),
            Response(messages=({"role": "assistant", "content": [thought]},), line=4),
            Boundary(line=5, replacement=({"role": "user", "content": "Sum."},)),
        ),
        notes=(),
        system="Be careful.",
        tools=({"name": "Read", "input_schema": {}},),
    )


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "anthropic"])
def test_a_step_keeps_its_kind_and_place_and_one_without_anything_left_goes(dialect: DialectName) -> None:
    crossed, left = cross(recording(), dialect)
    assert crossed.dialect == dialect
    assert tags(crossed.steps) == ["userInput", "response", "results", "boundary"]
    assert [step.line for step in crossed.steps] == [1, 2, 3, 5]
    assert getattr(crossed.steps[2], "spoken", None) is True
    assert dict(left) == {"reasoning": 2, "tools": 1}
    assert crossed.system != "" and crossed.system is not None
    response = crossed.steps[1]
    assert isinstance(response, Response)
    assert (response.usage, response.prompt_reported) == (None, None)
    assert (crossed.model, crossed.tools) == ("", ())
    assert_lawful(crossed)


def test_a_recording_in_its_own_dialect_is_itself() -> None:
    transcript = recording()
    assert cross(transcript, "anthropic") == (transcript, {})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_recorded_session_crosses_lawfully(dialect: DialectName) -> None:
    """Behind a compaction that kept nothing a response may stand first; its laws are mended when sent."""
    if not SHARED.exists():
        pytest.skip("the recorded sessions are not beside this checkout")
    for path in sorted(SHARED.glob("*/*.*")):
        if path.suffix == ".txt":
            continue
        for transcript in read_transcripts(path):
            crossed, _ = cross(transcript, dialect)
            assert_lawful(crossed)
            kept = [tag for tag in tags(crossed.steps) if tag != "response"]
            assert kept == [tag for tag in tags(transcript.steps) if tag != "response"]


@behaviour("replay.crossed")
@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "anthropic"])
def test_the_bundled_session_is_managed_in_every_other_dialect(dialect: DialectName) -> None:
    class Silent:
        def begin(self, title: str, steps: int) -> Any:
            return lambda: None

    async def main() -> FileReport:
        plan = Plan(paths=(SAMPLE,), windows=(20_000,), dialect=dialect, fast=True)
        return (await replay_files(plan, Silent())).files[0]

    file = anyio.run(main)
    assert (file.dialect, file.managed_as) == ("anthropic", dialect)
    assert file.left_behind == {"reasoning": 34}
    assert file.ok
    assert file.managed[0].outputs.evicted > 0
