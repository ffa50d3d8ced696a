"""Where things live, and whose folders are trusted (D8, D11)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ctxd.model.errors import StorageFailed
from ctxd.store.layout import find_layouts, network_type, open_layout, state_root, workspace_name
from tests.store.desk import SID, Desk
from tests.support.behaviour import behaviour

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:45 / /home rw,relatime shared:2 master:1 - nfs4 server:/home rw,vers=4.2
41 22 0:46 / /mnt/c rw,noatime - 9p drvfs rw
42 22 0:47 / /mnt/remote rw - fuse.sshfs me@there:/ rw
43 22 0:48 / /mnt/image rw - fuse.squashfuse image ro
"""


@behaviour("D8.network")
@pytest.mark.parametrize(
    ("device", "found"),
    [
        ((254, 0), ""),
        ((0, 45), "nfs4"),
        ((0, 46), "9p"),
        ((0, 47), "fuse.sshfs"),
        ((0, 48), ""),
        ((0, 4), ""),
    ],
)
def test_network_file_systems_are_told_from_local_ones(device: tuple[int, int], found: str) -> None:
    assert network_type(MOUNTS, os.makedev(*device)) == found


@behaviour("D11.modes")
def test_folders_and_files_are_for_their_owner_alone_whatever_the_umask(desk: Desk) -> None:
    for mask in (0o000, 0o077, 0o777):
        before = os.umask(mask)
        try:
            log = desk.open(sid=f"s-{mask}")
            desk.append(log, "a")
            ledger = desk.ledger()
            ledger.put(b"%o" % mask)
            ledger.close()
            log.close()
        finally:
            os.umask(before)
    for path in [desk.root, *desk.root.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


@behaviour("D11.strangers")
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_state_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "state"
    root.mkdir()
    root.chmod(mode)
    with pytest.raises(StorageFailed, match="written by other users"):
        open_layout(root, "/w")
    assert list(root.iterdir()) == []


@behaviour("D11.strangers")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_state_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "state"
    root.mkdir(0o700)
    os.chown(root, 12345, 12345)
    with pytest.raises(StorageFailed, match="another user"):
        open_layout(root, "/w")


@behaviour("D11.state-links")
def test_a_state_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(0o700)
    (tmp_path / "state").symlink_to(tmp_path / "real")
    with pytest.raises(StorageFailed) as caught:
        open_layout(tmp_path / "state", "/w")
    assert caught.value.hint is not None
    assert "symbolic link" in caught.value.hint


@pytest.mark.parametrize("part", ["sessions", "objects", SID])
def test_a_folder_below_that_was_replaced_by_a_link_is_refused(
    desk: Desk, memory_path: Path, part: str
) -> None:
    desk.open().close()
    folder = desk.layout().folder / part if part != SID else desk.layout().sessions / SID
    folder.rename(memory_path / "moved")
    folder.symlink_to(memory_path / "moved")
    with pytest.raises(StorageFailed):
        desk.open()


@behaviour("D11.state-links")
def test_a_segment_that_is_a_link_is_refused(desk: Desk, memory_path: Path) -> None:
    log = desk.open()
    desk.append(log, "a")
    log.close()
    (segment,) = desk.segments()
    segment.rename(memory_path / "moved")
    segment.symlink_to(memory_path / "moved")
    with pytest.raises(StorageFailed):
        desk.open("read")


def test_different_workspaces_never_share_a_folder(tmp_path: Path) -> None:
    paths = ["/", "/a", "/a/b", "/b", "/a b", "/a-b", "/a_b", "/é", "/x/" + "n" * 200, "/a/..hidden", "/A"]
    folders = {workspace_name(path) for path in paths}
    assert len(folders) == len(paths)
    assert all(len(name) < 100 and "/" not in name and not name.startswith(".") for name in folders)
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    assert workspace_name(str(tmp_path / "alias")) == workspace_name(str(tmp_path / "real"))


def test_sessions_and_workspaces_are_found_by_listing_folders(desk: Desk) -> None:
    assert desk.layout().session_ids() == []
    for sid in ("b", "a.1", "A_2"):
        desk.open(sid=sid).close()
    (desk.layout().sessions / "empty").mkdir()
    (desk.layout().sessions / ".hidden").mkdir()
    assert desk.layout().session_ids() == ["A_2", "a.1", "b"]
    assert find_layouts(desk.root) == [desk.layout()]
    assert find_layouts(desk.root / "nothing") == []


def test_the_state_folder_follows_the_option_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_STATE_HOME", "/var/states")
    assert state_root("~/mine") == Path("/home/someone/mine")
    assert state_root("") == Path("/var/states/ctxd")
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", unset)
        assert state_root("") == Path("/home/someone/.local/state/ctxd")
