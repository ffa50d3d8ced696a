"""Entering folders below a workspace, as memory in the repository does. Opening files is in test_boundary."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxd.model.errors import CtxdError, NotRegularFile, OutsideWorkspace, SymlinkRefused
from ctxd.workspace.boundary import Boundary
from tests.support.behaviour import behaviour


def entered(root: Path, path: str, *, create: bool = False) -> Path | None:
    with Boundary(str(root)) as boundary:
        fd = boundary.enter(path, create=create)
    if fd is None:
        return None
    try:
        return Path(f"/proc/self/fd/{fd}").readlink()
    finally:
        os.close(fd)


def test_folders_are_entered_and_made_only_when_asked(tmp_path: Path) -> None:
    assert entered(tmp_path, "a/b") is None
    assert list(tmp_path.iterdir()) == []
    assert entered(tmp_path, "a/b", create=True) == tmp_path / "a/b"
    assert entered(tmp_path, "a/b") == tmp_path / "a/b"


@behaviour("memory.in-workspace")
@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("../x", OutsideWorkspace),
        ("/etc", OutsideWorkspace),
        ("~/x", OutsideWorkspace),
        ("link", SymlinkRefused),
        ("link/x", SymlinkRefused),
        ("inner", SymlinkRefused),
        ("file", NotRegularFile),
        ("file/x", NotRegularFile),
        ("", CtxdError),
        ("a\0b", CtxdError),
    ],
)
@pytest.mark.parametrize("create", [False, True])
def test_nothing_leads_out_of_the_workspace(
    tmp_path: Path, path: str, refusal: type[CtxdError], create: bool
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "here").mkdir()
    (root / "link").symlink_to(outside)
    (root / "inner").symlink_to("here")
    (root / "file").write_text("x")
    with pytest.raises(refusal):
        entered(root, path, create=create)
    assert list(outside.iterdir()) == []
