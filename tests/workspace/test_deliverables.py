"""Files by pattern, inside the boundary only, and their content as one digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxd.workspace import deliverables
from ctxd.workspace.boundary import Boundary, Opener
from ctxd.workspace.deliverables import Found, digest, find
from tests.support.behaviour import behaviour
from tests.workspace.attacks import ATTACKS, Attack, Place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name in ("out/a.png", "out/b.png", "out/deck/c.png", "out/notes.md", "top.png", ".git/x.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def found(root: Path, pattern: str) -> Found:
    with Boundary(str(root)) as boundary:
        return find(boundary, pattern)


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("out/*.png", ["out/a.png", "out/b.png"]),
        ("out/**/*.png", ["out/a.png", "out/b.png", "out/deck/c.png"]),
        ("**/*.png", ["out/a.png", "out/b.png", "out/deck/c.png", "top.png"]),
        ("*.png", ["top.png"]),
        ("out/?.png", ["out/a.png", "out/b.png"]),
        ("out/a.png", ["out/a.png"]),
        ("./out//a.png", ["out/a.png"]),
        ("out", []),
        ("out/**", ["out/a.png", "out/b.png", "out/deck/c.png", "out/notes.md"]),
        ("out/[ab].png", []),
        ("nowhere/*.png", []),
        (".git/*.png", [".git/x.png"]),
    ],
)
def test_a_pattern_finds_regular_files_below_the_root(root: Path, pattern: str, paths: list[str]) -> None:
    assert found(root, pattern) == Found(tuple(paths))


def test_an_absolute_pattern_below_the_root_is_one_of_the_workspace(root: Path) -> None:
    assert found(root, f"{root}/out/*.png").paths == ("out/a.png", "out/b.png")


@behaviour("contract.inside")
@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "out/../../*", "~/*"])
def test_a_pattern_that_leads_outside_is_refused_with_the_reason(root: Path, pattern: str) -> None:
    assert found(root, pattern) == Found(refusal="outsideWorkspace")


@behaviour("contract.inside")
def test_links_to_files_and_folders_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "d.png").write_text("secret")
    (root / "out" / "d.png").symlink_to(outside / "d.png")
    (root / "out" / "linked").symlink_to(outside)
    (root / "pics").symlink_to(outside)
    assert found(root, "out/**/*.png").paths == ("out/a.png", "out/b.png", "out/deck/c.png")
    assert found(root, "pics/*.png") == Found(refusal="symlinkRefused")


def test_devices_and_names_that_are_no_utf_8_are_left_out(root: Path) -> None:
    os.mkfifo(root / "out" / "pipe.png")
    (root / "out" / os.fsdecode(b"\xff.png")).write_text("x")
    assert found(root, "out/*.png").paths == ("out/a.png", "out/b.png")


def test_a_search_ends_and_says_that_it_did_not_see_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliverables, "MAX_NAMES", 3)
    assert found(root, "**/*.nothing") == Found(refusal="tooLarge")
    monkeypatch.setattr(deliverables, "MAX_FILES", 2)
    assert len(found(root, "out/**").paths) == 2


def seal(root: Path, *paths: str) -> str:
    with Boundary(str(root)) as boundary:
        return digest(boundary, paths)


def test_a_digest_is_of_names_and_content_and_not_of_order_or_time(root: Path) -> None:
    before = seal(root, "out/a.png", "out/b.png")
    os.utime(root / "out/a.png", ns=(1, 1))
    assert seal(root, "out/b.png", "out/a.png", "out/b.png") == before
    assert before.startswith("sha256:")
    (root / "out/a.png").write_text("other")
    assert seal(root, "out/a.png", "out/b.png") != before


def test_a_file_that_goes_or_may_not_be_read_changes_the_digest(root: Path) -> None:
    before = seal(root, "out/a.png")
    (root / "out/a.png").unlink()
    gone = seal(root, "out/a.png")
    (root / "out/a.png").symlink_to(root / "out/b.png")
    assert len({before, gone, seal(root, "out/a.png")}) == 3


def test_a_large_file_is_known_by_its_head_size_and_time(root: Path) -> None:
    large = root / "large.bin"
    large.write_bytes(b"x" * (deliverables.HEAD_BYTES + 10))
    os.utime(large, ns=(10**18, 10**18))
    before = seal(root, "large.bin")
    with large.open("ab") as more:
        more.write(b"y")
    os.utime(large, ns=(10**18, 10**18))
    assert seal(root, "large.bin") != before


@behaviour("contract.inside")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.number} {a.name}")
def test_an_attack_as_a_pattern_finds_honest_files_alone(
    place: Place, opener: Opener, attack: Attack
) -> None:
    path = attack.stage(place)
    with Boundary(str(place.root), opener) as boundary:
        got = find(boundary, path)
    assert bool(got.paths) is (attack.answer == "inside" and is_text(path))
    assert got.refusal in ("", "outsideWorkspace", "symlinkRefused", "notRegularFile", "notFound", "busy")


def is_text(path: str) -> bool:
    return not any("\udc80" <= char <= "\udcff" for char in path)
