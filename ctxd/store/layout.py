"""Where things live: state folder, one folder per workspace, one per session (D3, D11).

    <root>/<workspace name>-<hash>/sessions/<sid>/<sid>.000001.jsonl, <sid>.lock
                                  /objects/ab/<sha256>
                                  /quarantine/<sha256>

Owns names and their checks: who may own the folders, and that they are not on a network file
system (D8). Must not know what is in the files.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import msgspec

from ctxd.model.errors import InvalidParams, StorageFailed
from ctxd.store.files import FOLDER_MODE, names_in, open_folder, storage_errors

SESSION_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")

_SEGMENT = re.compile(r"(?P<sid>.+)\.(?P<number>\d{6,})\.jsonl")
_FOLDERS = ("sessions", "objects", "quarantine")
_NETWORK = re.compile(
    r"nfs4?|cifs|smb3?|smbfs|9p|afs|ceph|coda|lustre|ncpfs|gpfs|glusterfs"
    r"|fuse\.(sshfs|glusterfs|cephfs|rclone|s3fs)"
)


class Layout(msgspec.Struct, frozen=True):
    """The folder of one workspace below the state folder."""

    folder: Path

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    @property
    def quarantine(self) -> Path:
        return self.folder / "quarantine"

    @property
    def snapshots(self) -> Path:
        """Where snapshots of the workspace's files are; made when the first is taken."""
        return self.folder / "snapshots"

    def session_folder(self, session_id: str) -> Path:
        """Where the session's files are. Raises InvalidParams for an id that cannot be one."""
        check_session_id(session_id)
        return self.sessions / session_id

    def has_session(self, session_id: str) -> bool:
        """Whether the session has a log, readable or not. Raises StorageFailed, InvalidParams."""
        folder = self.session_folder(session_id)
        with storage_errors("look for the session"):
            return folder.is_dir() and bool(segment_numbers(names_in(folder), session_id))

    def session_ids(self) -> list[str]:
        """The sessions that have a log, sorted: what an index must not miss. Raises StorageFailed."""
        with storage_errors("list the sessions"):
            if not self.sessions.is_dir():
                return []
            names = [name for name in names_in(self.sessions) if SESSION_ID.fullmatch(name)]
        return [name for name in names if self.has_session(name)]


def state_root(option: str) -> Path:
    """The state folder: the option, else `$XDG_STATE_HOME/ctxd`, else `~/.local/state/ctxd`."""
    if option:
        return Path(option).expanduser().absolute()
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if home.startswith("/") else Path.home() / ".local" / "state"
    return base / "ctxd"


def open_layout(root: Path, workspace: str, *, name: str = "", force_network: bool = False) -> Layout:
    """The layout of the workspace folder at the path `workspace`, its folders made and checked.

    `name` is its folder's name where that is not the path's own.

    Blocking. Raises StorageFailed for a state folder of another user, one that others can write to,
    a symbolic link, or a network file system (unless forced); StorageFull when there is no room.
    """
    layout = Layout(root / (name or workspace_name(workspace)))
    with storage_errors("make the state folder"):
        root.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        fd = open_folder(root, create=True)
        try:
            _refuse_network(fd, force_network)
            os.close(open_folder(layout.folder.name, dir_fd=fd, create=True))
        finally:
            os.close(fd)
        fd = open_folder(layout.folder)
        try:
            for name in _FOLDERS:
                os.close(open_folder(name, dir_fd=fd, create=True))
        finally:
            os.close(fd)
    return layout


def find_layouts(root: Path) -> list[Layout]:
    """Every workspace's layout below the state folder, sorted by name. Raises StorageFailed."""
    with storage_errors("list the workspaces"):
        folders = [root / name for name in names_in(root)] if root.is_dir() else []
        return [Layout(p) for p in folders if (p / "sessions").is_dir() and not p.is_symlink()]


def workspace_name(workspace: str) -> str:
    """An injective folder name for the canonical path: a readable tail and a hash."""
    path = os.path.realpath(workspace)
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    tail = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(path).name)[:40].strip(".-")
    return f"{tail or 'root'}-{digest}"


def check_session_id(session_id: str) -> None:
    """Raises InvalidParams at `sessionId` for an id that is no safe file name."""
    if not SESSION_ID.fullmatch(session_id):
        raise InvalidParams.at(
            "sessionId",
            "must be 1 to 128 of A-Z a-z 0-9 . _ - and not begin with a dot",
        )


def segment_name(session_id: str, number: int) -> str:
    """File name of a segment; numbers begin at 1."""
    return f"{session_id}.{number:06}.jsonl"


def segment_numbers(names: list[str], session_id: str) -> list[int]:
    """The numbers of the session's segments among file names, sorted."""
    matches = (_SEGMENT.fullmatch(name) for name in names)
    return sorted(int(m["number"]) for m in matches if m and m["sid"] == session_id)


def lock_name(session_id: str) -> str:
    """File name of the lease's lock file."""
    return f"{session_id}.lock"


def network_type(mountinfo: str, device: int) -> str:
    """The type of the network file system that the device is, by `/proc/self/mountinfo`; else ""."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split()[2:3] == [wanted] and _NETWORK.fullmatch(rest.split()[0]):
            return rest.split()[0]
    return ""


def _refuse_network(fd: int, force_network: bool) -> None:
    """Locks and syncs mean less there (D8). Where there is no mountinfo nothing is known or refused."""
    table = Path("/proc/self/mountinfo")
    if force_network or not table.exists():
        return
    found = network_type(table.read_text(errors="replace"), os.fstat(fd).st_dev)
    if found:
        raise StorageFailed(
            f"the state folder is on a network file system ({found})",
            hint="set storage.root to a local folder, or storage.forceNetwork to true",
        )
