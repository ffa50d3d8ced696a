"""Recorded sessions through the real daemon: clean under every window, as exact as promised."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.importers.detect import UnknownFormat
from ctxd.report.figures import FileReport, ReplayReport
from ctxd.report.replay import Plan, replay_files
from tests.support.behaviour import behaviour

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "../shared/transcripts"
SAMPLE = ROOT / "ctxd/importers/samples/session.jsonl"
IMAGE = ROOT / "tests/data/image-result.jsonl"
LONG = SHARED / "claude-code/long-three-compactions.jsonl"
SERVED = [
    "claude-code/chinese.jsonl",
    "claude-code/image-result.jsonl",
    "claude-code/one-compaction.jsonl",
    "claude-code/orphans.jsonl",
    "claude-code/torn-line.jsonl",
    "gemini/cli-session.json",
    "openai-chat/tau-airline-40.json",
    "swe-agent/function-calling.traj",
]


class Tally:
    """A progress that counts."""

    def __init__(self) -> None:
        self.passes: list[list[Any]] = []

    def begin(self, title: str, steps: int) -> Callable[[], None]:
        counted = [title, steps, 0]
        self.passes.append(counted)

        def advance() -> None:
            counted[2] += 1

        return advance


def replay(path: Path, *windows: int, fast: bool = False, progress: Tally | None = None) -> FileReport:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")

    async def main() -> FileReport:
        report = await replay_files(Plan(paths=(path,), windows=windows, fast=fast), progress or Tally())
        assert report.ok == report.files[0].ok
        return report.files[0]

    return anyio.run(main)


def assert_clean(file: FileReport) -> None:
    assert file.recorded_violations == ()
    for run in file.managed:
        assert (run.violations, run.overflows, run.over_budget) == ((), (), 0), run.window
        assert run.requests == file.responses
        assert (run.outputs.lost, run.outputs.recovered) == ((), run.outputs.evicted)
    assert file.ok


@behaviour("replay.clean")
@pytest.mark.parametrize("name", SERVED)
def test_every_served_transcript_replays_clean_at_every_window(name: str) -> None:
    file = replay(SHARED / name, 200_000, 60_000, 20_000)
    assert_clean(file)


@behaviour("importers.every-file")
@pytest.mark.parametrize(
    ("name", "outputs"), [("codex/rollout-123-calls.jsonl", 123), ("pi/two-compactions.jsonl", 448)]
)
def test_long_sessions_of_other_tools_stay_lawful_and_whole_at_every_window(name: str, outputs: int) -> None:
    file = replay(SHARED / name, 60_000, 20_000, fast=True)
    for run in file.managed:
        assert (run.violations, run.overflows, run.outputs.lost) == ((), (), ()), run.window
        assert run.requests == file.responses
        assert run.outputs.outputs == outputs
        assert run.outputs.recovered == run.outputs.evicted
    assert file.managed[0].compactions
    assert file.managed[1].outputs.evicted > outputs // 2


def test_a_folder_is_replayed_by_several_daemons_in_the_order_of_its_files(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (tmp_path / "b.json").write_text(json.dumps(chat))
    (tmp_path / "a.jsonl").write_bytes(IMAGE.read_bytes())
    (tmp_path / "c.json").write_text("{}")
    progress = Tally()

    async def main() -> ReplayReport:
        return await replay_files(Plan(paths=(tmp_path, IMAGE), windows=(60_000,), jobs=3), progress)

    report = anyio.run(main)
    folder = tmp_path.name
    assert [file.file for file in report.files] == [IMAGE.name, f"{folder}/a.jsonl", f"{folder}/b.json"]
    assert [file.format for file in report.files] == ["claude-code", "claude-code", "openai-chat"]
    assert report.skipped == (f"{folder}/c.json",)
    assert report.ok
    assert sorted((steps, done) for _, steps, done in progress.passes) == [(1, 1)] * 2 + [(2, 2)] * 4


@behaviour("replay.foreseen")
def test_the_long_session_stays_under_every_window_and_its_sizes_are_foreseen() -> None:
    file = replay(LONG, 200_000, 60_000, 20_000)
    assert_clean(file)
    wide, narrow, tiny = file.managed
    assert wide.outputs.outputs == narrow.outputs.outputs == tiny.outputs.outputs == 206
    assert 0 < wide.outputs.evicted < narrow.outputs.evicted < tiny.outputs.evicted
    assert narrow.compactions
    assert all(compaction.after < compaction.before for compaction in narrow.compactions)
    assert wide.largest < 200_000
    assert narrow.largest < 60_000
    assert tiny.largest < 20_000
    accuracy = file.accuracy
    assert accuracy is not None
    assert (accuracy.anchored.count, accuracy.unanchored.count) == (221, 4)
    assert accuracy.anchored.median <= accuracy.baseline.median
    assert accuracy.anchored.p95 <= accuracy.baseline.p95
    assert accuracy.inside >= 0.95


@behaviour("replay.foreseen")
def test_a_rollout_is_foreseen_where_the_provider_drops_earlier_reasoning() -> None:
    """Six of its turns began with up to 58 % less than what had been sent."""
    file = replay(SHARED / "codex/rollout-123-calls.jsonl", 200_000)
    accuracy = file.accuracy
    assert accuracy is not None
    assert accuracy.anchored.count == 131
    assert accuracy.anchored.median <= accuracy.baseline.median
    assert accuracy.anchored.p95 <= 1
    assert accuracy.inside_anchored >= 0.95


@behaviour("replay.bundled")
def test_the_bundled_session_shows_everything_the_demo_promises() -> None:
    progress = Tally()
    file = replay(SAMPLE, 200_000, 60_000, progress=progress)
    assert_clean(file)
    assert file.managed[1].compactions
    assert file.managed[1].outputs.evicted > 0
    assert file.accuracy is not None
    assert file.accuracy.anchored.median <= file.accuracy.baseline.median
    assert file.accuracy.inside >= 0.95
    assert [(steps, done) for _, steps, done in progress.passes] == [(34, 34)] * 3
    assert [note.kind for note in file.notes] == ["fusedLine", "repeatedRecord"]


def test_a_file_that_cannot_be_read_stops_the_replay_before_any_daemon_starts(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("no transcript")
    progress = Tally()
    with pytest.raises(UnknownFormat):
        replay(path, 200_000, progress=progress)
    assert progress.passes == []
