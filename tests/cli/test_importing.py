"""`ctxd import`: what was recorded is in the daemon's state, under the ids that were asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer
from typer.testing import CliRunner, Result

from ctxd.cli.importing import import_sessions
from ctxd.cli.replay import SAMPLE
from ctxd.client import Client
from ctxd.client.session import Session
from tests.support.behaviour import behaviour

IMAGE = Path(__file__).parents[1] / "data/image-result.jsonl"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state of this test alone."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def run(workspace: Path, *arguments: Any) -> Result:
    app = typer.Typer()
    app.command()(import_sessions)
    given = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, [*given, "--workspace", str(workspace)])


def resumed(workspace: Path, session_id: str) -> dict[str, Any]:
    """A session as a later daemon finds it: its info, messages and projection."""

    async def main() -> dict[str, Any]:
        async with Client.start(workspace) as client:
            session = await Session.open(client, workspace, session_id=session_id, mode="resume")
            history = await session.history()
            projection = await session.project()
            return {"info": session.info, "messages": history["messages"], "projection": projection}

    return anyio.run(main)


@behaviour("import.whole")
def test_a_session_is_there_after_a_restart_with_every_message_and_its_usage(workspace: Path) -> None:
    result = run(workspace, SAMPLE, "--json")
    assert result.exit_code == 0, result.output
    (intake,) = json.loads(result.stdout)
    assert (intake["sessionId"], intake["format"], intake["error"]) == ("session", "claude-code", "")
    assert (intake["messages"], intake["responses"], intake["usages"]) == (68, 34, 34)
    assert [note["kind"] for note in intake["notes"]] == ["fusedLine", "repeatedRecord"]
    found = resumed(workspace, "session")
    assert found["info"]["model"]["id"] == "claude-opus-4-5-20251101"
    assert len(found["messages"]) == 68
    assert found["projection"]["source"].startswith("provider")


def test_an_id_that_is_taken_is_said_and_nothing_is_added_to_it(workspace: Path) -> None:
    assert run(workspace, IMAGE).exit_code == 0
    result = run(workspace, IMAGE, "--json")
    assert result.exit_code == 1
    (intake,) = json.loads(result.stdout)
    assert intake["messages"] == 0
    assert intake["error"]
    assert len(resumed(workspace, "image-result")["messages"]) == 4


def test_several_recordings_under_one_id_are_numbered_and_a_folder_is_searched(
    workspace: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(IMAGE.read_bytes())
    (folder / "b.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    (folder / "c.json").write_text("{}")
    result = run(workspace, folder, "--session", "old")
    assert result.exit_code == 0, result.output
    assert "no session in: c.json" in result.stdout
    assert "openedWithoutUser" in result.stdout
    assert len(resumed(workspace, "old")["messages"]) == 4
    assert len(resumed(workspace, "old-2")["messages"]) == 1


def test_a_name_that_is_no_id_becomes_one(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "my söng (1).json"
    path.write_text(json.dumps([{"traj": [{"role": "user", "content": "hi"}], "task_id": 3}]))
    result = run(workspace, path, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["sessionId"] == "my-s-ng-1-task-3-trial-0"


@pytest.mark.parametrize("content", [None, "hello"])
def test_a_file_that_cannot_be_read_exits_two(workspace: Path, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "notes.txt"
    if content is not None:
        path.write_text(content)
    result = run(workspace, path)
    assert result.exit_code == 2
    assert "notes.txt" in result.stderr
