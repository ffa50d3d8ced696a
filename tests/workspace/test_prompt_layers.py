"""Instruction files: which are tried, in which order, and why one is no use."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxd.core.prompt import Layer
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.prompt_layers import FILES, MAX_BYTES, Discovered, discover
from tests.support.behaviour import behaviour


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(root: Path, name: str, content: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def found(root: Path, kind: Discovered) -> list[Layer]:
    with Boundary(str(root)) as boundary:
        return discover(boundary, kind)


def test_the_names_and_their_order_are_those_of_the_reference() -> None:
    assert FILES == {
        "projectInstructions": ("CLAUDE.md", ".octos/instructions.md", ".claude/instructions.md"),
        "agents": ("AGENTS.md", ".octos/agents.md", "agents.md"),
    }
    assert MAX_BYTES == 65_536


@behaviour("prompt.discovery")
@pytest.mark.parametrize("kind", ["projectInstructions", "agents"])
def test_the_first_file_that_is_there_is_taken_and_no_later_one(root: Path, kind: Discovered) -> None:
    assert found(root, kind) == []
    for path in reversed(FILES[kind]):
        write(root, path, f"text of {path}\n")
        assert found(root, kind) == [Layer(kind, f"text of {path}", path, size=len(f"text of {path}"))]


@behaviour("prompt.discovery")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "blank"),
        (" \n\t\n", "blank"),
        (b"\xef\xbb\xbf", "blank"),
        (b"\xff\xfe", "binary"),
        (b"text\0", "binary"),
        ("x" * (MAX_BYTES + 1), "tooLarge"),
    ],
)
def test_a_file_of_no_use_is_named_with_its_reason_and_the_next_is_taken(
    root: Path, content: str | bytes, reason: str
) -> None:
    write(root, "CLAUDE.md", content)
    write(root, ".claude/instructions.md", "Run make.")
    first, second = found(root, "projectInstructions")
    assert (first.path, first.skipped, first.text) == ("CLAUDE.md", reason, "")
    assert (second.path, second.skipped, second.text) == (".claude/instructions.md", "", "Run make.")


def test_a_file_of_just_64_kib_is_taken_whole(root: Path) -> None:
    write(root, "CLAUDE.md", "x" * MAX_BYTES)
    (layer,) = found(root, "projectInstructions")
    assert (layer.skipped, layer.size) == ("", MAX_BYTES)


def test_a_byte_order_mark_is_no_part_of_the_text(root: Path) -> None:
    write(root, "CLAUDE.md", b"\xef\xbb\xbfRun make.")
    assert found(root, "projectInstructions")[0].text == "Run make."


@behaviour("prompt.confined")
def test_f73_a_link_to_a_key_file_is_refused_with_a_reason_and_never_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("secret host")
    (root / "AGENTS.md").symlink_to(tmp_path / "config")
    write(root, "agents.md", "A reviewer.")
    first, second = found(root, "agents")
    assert (first.path, first.skipped, first.text) == ("AGENTS.md", "symlinkRefused", "")
    assert second.text == "A reviewer."


@behaviour("prompt.confined")
def test_a_linked_folder_a_hard_link_and_a_folder_of_that_name_are_refused(
    root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "instructions.md").write_text("secret")
    (root / ".octos").symlink_to(outside)
    (root / ".claude").mkdir()
    (root / ".claude" / "instructions.md").hardlink_to(outside / "instructions.md")
    (root / "CLAUDE.md").mkdir()
    assert [(layer.path, layer.skipped) for layer in found(root, "projectInstructions")] == [
        ("CLAUDE.md", "notRegularFile"),
        (".octos/instructions.md", "symlinkRefused"),
        (".claude/instructions.md", "outsideWorkspace"),
    ]
