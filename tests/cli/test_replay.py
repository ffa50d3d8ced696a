"""The verb's exit codes and outputs, against the real daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from ctxd.cli.replay import SAMPLE, replay
from tests.support.behaviour import behaviour

IMAGE = Path(__file__).parents[1] / "data/image-result.jsonl"


def run(*arguments: Any) -> Result:
    app = typer.Typer()
    app.command()(replay)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_file_of_no_served_format_exits_two_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    result = run(path)
    assert result.exit_code == 2
    assert "notes.txt" in result.stderr
    assert "Claude Code" in result.stderr


def test_a_file_that_is_not_there_exits_two_with_its_name(tmp_path: Path) -> None:
    result = run(tmp_path / "nowhere.jsonl")
    assert result.exit_code == 2
    assert "nowhere.jsonl" in result.stderr


@pytest.mark.parametrize("window", [0, "many"])
def test_a_window_that_is_none_is_refused(window: Any) -> None:
    assert run(IMAGE, "--window", window).exit_code == 2


def test_a_file_forced_into_a_format_it_is_not_exits_two() -> None:
    assert run(IMAGE, "--format", "openai-chat").exit_code == 2


def test_json_holds_one_object_with_everything_measured() -> None:
    result = run(SAMPLE, "--window", 60_000, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    (file,) = report["files"]
    (managed,) = file["managed"]
    assert (report["ok"], file["file"], file["responses"]) == (True, "session.jsonl", 34)
    assert (managed["window"], managed["requests"]) == (60_000, 34)
    assert managed["violations"] == managed["overflows"] == managed["outputs"]["lost"] == []
    assert {"context/prepare", "context/report", "context/validate"} <= set(managed["calls"])


@behaviour("replay.timeline")
def test_json_holds_every_request_with_its_size_and_what_was_done_before_it() -> None:
    result = run(SAMPLE, "--window", 60_000, "--json")
    (file,) = json.loads(result.stdout)["files"]
    (managed,) = file["managed"]
    line = managed["timeline"]
    assert len(line) == managed["requests"] == 34
    assert max(moment["tokens"] for moment in line) == managed["largest"]
    assert sum(moment["elisions"] for moment in line) == managed["elisions"]
    compacted = [(at, m["before"], m["after"]) for at, m in enumerate(line) if m["compacted"]]
    assert compacted == [(c["request"], c["before"], c["after"]) for c in managed["compactions"]] != []
    limits = managed["thresholds"]
    assert 0 < limits["handoff"] < limits["compaction"] < limits["available"] < 60_000
    assert all(moment["low"] <= moment["predicted"] <= moment["high"] for moment in line)
    assert [moment["line"] for moment in line] == sorted(moment["line"] for moment in line)
    assert len(file["recorded"]) == file["accuracy"]["requests"]


def test_fast_leaves_out_the_pass_as_recorded_and_the_cross_check() -> None:
    result = run(IMAGE, "--window", 200_000, "--fast", "--json")
    assert result.exit_code == 0, result.output
    (file,) = json.loads(result.stdout)["files"]
    assert file["accuracy"] is None
    assert "context/validate" not in file["managed"][0]["calls"]


def test_a_person_gets_tables_and_a_verdict() -> None:
    result = run(IMAGE, "--window", 200_000)
    assert result.exit_code == 0, result.output
    assert "Managed by ctxd" in result.stdout
    assert result.stdout.rstrip().endswith("clean")
