"""`ctxd doctor` says what is wrong with a machine, what to do, and by its exit code whether it matters."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from ctxd.cli.doctor import doctor
from ctxd.store.layout import open_layout
from tests.support.behaviour import behaviour

Usage = namedtuple("Usage", "total used free")


def run(*arguments: Any) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def examine(root: Path, *more: str) -> tuple[int, dict[str, dict[str, str]]]:
    """The exit code, and the findings by name; no daemon is started unless asked for."""
    result = run("--state", root, "--json", *(more or ("--no-start",)))
    return result.exit_code, {finding["name"]: finding for finding in json.loads(result.stdout)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A state folder as the store makes it, with one index."""
    root = tmp_path / "state"
    open_layout(root, str(tmp_path))
    index = root / "index.sqlite3"
    with sqlite3.connect(index) as db:
        db.execute("create table session (id)")
        db.executemany("insert into session values (?)", [("x" * 1000,)] * 200)
    db.close()
    index.chmod(0o600)
    return root


@behaviour("doctor.says")
def test_a_machine_that_is_fit_exits_zero_with_everything_looked_at(root: Path) -> None:
    code, found = examine(root, "--start")
    assert code == 0
    assert {name: finding["verdict"] for name, finding in found.items()} == dict.fromkeys(
        (
            "versions", "state folder", "permissions", "disk", "indexes", "sessions",
            "o200k_base", "cl100k_base", "daemon",
        ),
        "ok",
    )  # fmt: skip


def test_a_state_folder_that_is_not_there_yet_is_fine_and_is_not_made(tmp_path: Path) -> None:
    code, found = examine(tmp_path / "a/b")
    assert code == 0
    assert "made when needed" in found["state folder"]["detail"]
    assert not (tmp_path / "a").exists()


def test_a_folder_that_others_can_write_to_fails_with_what_to_do(root: Path) -> None:
    root.chmod(0o777)
    code, found = examine(root)
    assert code == 1
    assert found["state folder"]["verdict"] == "failed"
    assert found["state folder"]["hint"] == f"chmod 700 {root}"


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_a_file_in_its_place_fails(root: Path, tmp_path: Path, kind: str) -> None:
    other = tmp_path / "other"
    if kind == "link":
        other.symlink_to(root)
    else:
        other.write_text("x")
    code, found = examine(other)
    assert (code, found["state folder"]["verdict"]) == (1, "failed")


def test_a_file_that_others_can_read_is_a_warning_with_its_name(root: Path) -> None:
    leak = root / "leak"
    leak.write_text("x")
    leak.chmod(0o644)
    code, found = examine(root)
    assert (code, found["permissions"]["verdict"]) == (0, "warning")
    assert str(leak) in found["permissions"]["detail"]


def test_a_damaged_index_is_a_warning_since_it_is_rebuilt(root: Path) -> None:
    index = root / "index.sqlite3"
    index.write_bytes(index.read_bytes()[:5000] + os.urandom(20_000))
    code, found = examine(root)
    assert (code, found["indexes"]["verdict"]) == (0, "warning")
    assert "index.sqlite3" in found["indexes"]["detail"]


def test_what_was_set_aside_as_damaged_is_said(root: Path) -> None:
    (folder,) = root.glob("*/quarantine")
    (folder / "abc").write_text("x")
    code, found = examine(root)
    assert (code, found["sessions"]["verdict"]) == (0, "warning")


@pytest.mark.parametrize(("free", "verdict"), [(10**7, "failed"), (5 * 10**8, "warning"), (10**10, "ok")])
def test_free_disk_space_is_judged(
    root: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 0, free))
    code, found = examine(root)
    assert (code, found["disk"]["verdict"]) == (int(verdict == "failed"), verdict)


def test_a_person_gets_a_table_with_hints(root: Path) -> None:
    (root / "leak").touch(0o666)
    (root / "leak").chmod(0o666)
    result = run("--state", root, "--no-start")
    assert result.exit_code == 0
    assert "warning" in result.stdout
    assert "chmod" in result.stdout
