"""`prompt/build` as a host calls it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ctxd.core.prompt import given
from ctxd.service.files.prompting import Given, build
from tests.service.host import Answer, LocalHost, Refused
from tests.support.behaviour import behaviour


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("Run make check.\n")
    (folder / "AGENTS.md").write_text("A reviewer.\n")
    return folder


def built(host: LocalHost, folder: Path, **fields: Any) -> Answer:
    answer: Answer = host.call("prompt/build", workspace=folder.as_uri(), **fields)
    return answer


@behaviour("prompt.order")
def test_everything_together(host: LocalHost, project: Path) -> None:
    extras = [{"title": "House style", "text": "Tabs."}, {"text": "Be brief."}]
    made = built(host, project, base="Be careful.", extras=extras)
    assert made == {
        "text": "Be careful.\n\n## Project Instructions\n\nRun make check.\n\n"
        "## Available Agents\n\nA reviewer.\n\n## House style\n\nTabs.\n\nBe brief.",
        "layers": [
            {"kind": "base", "bytes": 11},
            {"kind": "projectInstructions", "path": "CLAUDE.md", "bytes": 15},
            {"kind": "agents", "path": "AGENTS.md", "bytes": 11},
            {"kind": "extra", "title": "House style", "bytes": 5},
            {"kind": "extra", "bytes": 9},
        ],
    }
    again = host.bodies["prompt/build"]
    assert built(host, project, base="Be careful.", extras=extras) == made
    assert host.bodies["prompt/build"] == again


@behaviour("prompt.explicit")
def test_a_text_that_is_given_is_not_looked_for(host: LocalHost, project: Path, tmp_path: Path) -> None:
    made = built(host, project, projectInstructions="Mine.", agents="")
    assert made["text"] == "## Project Instructions\n\nMine."
    assert made["layers"] == [
        {"kind": "projectInstructions", "bytes": 5},
        {"kind": "agents", "bytes": 0, "skipped": "blank"},
    ]
    assert built(host, project, projectInstructions=None, agents=" ")["layers"][0]["path"] == "CLAUDE.md"
    assert built(host, tmp_path / "gone", projectInstructions="Mine.", agents="")["text"] == made["text"]


def test_skipped_files_are_told_to_the_host(host: LocalHost, project: Path) -> None:
    (project / "AGENTS.md").write_bytes(b"x" * 70_000)
    layers = built(host, project)["layers"]
    assert {"kind": "agents", "path": "AGENTS.md", "bytes": 70_000, "skipped": "tooLarge"} in layers


def test_a_workspace_that_is_not_there_is_not_found(host: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        built(host, tmp_path / "gone")
    assert refused.value.kind == "notFound"


def test_an_empty_workspace_makes_an_empty_prompt(host: LocalHost, tmp_path: Path) -> None:
    assert built(host, tmp_path) == {"text": "", "layers": []}


@behaviour("prompt.volatile")
def test_memory_is_apart_from_what_is_cached(project: Path) -> None:
    asked = Given(base="Be careful.")
    plain = asyncio.run(build(str(project), asked))
    first = asyncio.run(build(str(project), asked, memory=given("memory", "- deploys on Fridays\n")))
    second = asyncio.run(build(str(project), asked, memory=given("memory", "- deploys on Mondays\n")))
    assert first.stable == second.stable == plain.stable
    assert (plain.volatile, first.volatile[-20:]) == ("", "- deploys on Fridays")
    assert [layer.kind for layer in first.layers][-1] == "memory"


@behaviour("prompt.volatile")
def test_what_a_workspace_remembers_is_in_the_volatile_part_alone(host: LocalHost, project: Path) -> None:
    before = built(host, project)
    host.call("memory/write", workspace=project.as_uri(), topic="MEMORY", content="Deploys are on Fridays.")
    after = built(host, project)
    assert after["text"] == before["text"]
    assert "Deploys are on Fridays." in after["volatile"]
