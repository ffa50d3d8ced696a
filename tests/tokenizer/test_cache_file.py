"""The cache folder is where the platform says, and a file in it is whole or was never there."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from ctxd.tokenizer.cache_file import cache_folder, replace


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        pytest.param({"XDG_CACHE_HOME": "/var/xdg", "HOME": "/home/u"}, "/var/xdg/ctxd", id="xdg"),
        pytest.param({"XDG_CACHE_HOME": "", "HOME": "/home/u"}, "/home/u/.cache/ctxd", id="empty"),
        pytest.param({"XDG_CACHE_HOME": "relative", "HOME": "/home/u"}, "/home/u/.cache/ctxd", id="relative"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths")
def test_the_cache_folder_follows_the_platform(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == folder


def test_without_a_home_there_is_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert cache_folder() is None


def test_a_file_is_replaced_whole_with_private_permissions(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ctxd" / "file"
    replace(path, b"first")
    replace(path, b"second")
    assert path.read_bytes() == b"second"
    assert [file.name for file in path.parent.iterdir()] == ["file"]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX errors")
def test_a_failed_replacement_leaves_the_old_state_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(OSError):
        replace(path, b"never")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert [file.name for file in path.iterdir()] == ["in the way"]
