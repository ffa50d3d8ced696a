"""Whether this machine is fit for ctxd: state folder, permissions, versions, encodings, indexes, disk.

Owns what is looked at and what each finding means. Changes nothing: the state folder is not made, an
index is read only. Shows nothing itself.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ctxd import __version__
from ctxd.client import Client, ClientError
from ctxd.model.errors import CtxdError
from ctxd.store.files import FILE_MODE, FOLDER_MODE
from ctxd.store.layout import find_layouts, network_type
from ctxd.tokenizer import encoding, vocabulary
from ctxd.tokenizer.families import EncodingName

Verdict: TypeAlias = Literal["ok", "warning", "failed"]

LOW_BYTES, FULL_BYTES = 1_000_000_000, 100_000_000
"""Free bytes below which the disk is a warning, and a failure."""

_PROBE = ("The quick brown fox 你好 naïve 🦊", {"o200k_base": 11, "cl100k_base": 12})
"""A text, and its tokens on each encoding."""

_MOUNTS = Path("/proc/self/mountinfo")


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. `hint` says what to do; empty when all is well."""

    name: str
    verdict: Verdict
    detail: str
    hint: str = ""


async def examine(root: Path, *, start: bool = True) -> list[Finding]:
    """Every finding about the state folder at `root` and what ctxd needs; with `start`, about a daemon."""
    findings = [_python(), *_state(root), *_permissions(root), _disk(root), *_indexes(root), *_sessions(root)]
    findings += [_encoding(name) for name in vocabulary.SHA256]
    return [*findings, await _daemon()] if start else findings


def _python() -> Finding:
    version = platform.python_version()
    detail = f"ctxd {__version__}, Python {version}, SQLite {sqlite3.sqlite_version}, {sys.platform}"
    if sys.platform not in ("linux", "darwin"):
        return Finding("versions", "warning", detail, "Linux is tested; macOS paths are written")
    return Finding("versions", "ok", detail)


def _state(root: Path) -> Iterator[Finding]:
    """The state folder itself: whose it is, who may use it, what it lies on."""
    if root.is_symlink():
        yield Finding(
            "state folder", "failed", f"{root} is a symbolic link", "set storage.root to a real folder"
        )
        return
    if not root.exists():
        parent = next(folder for folder in root.parents if folder.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            yield Finding("state folder", "ok", f"{root} is not there yet; it is made when needed")
        else:
            hint = f"make {parent} writable, or set storage.root"
            yield Finding("state folder", "failed", f"{root} cannot be made", hint)
        return
    status = root.stat()
    if not root.is_dir():
        yield Finding("state folder", "failed", f"{root} is no folder", "move it away, or set storage.root")
    elif status.st_uid != os.geteuid():
        yield Finding("state folder", "failed", f"{root} is another user's", "set storage.root to your own")
    elif status.st_mode & 0o022:
        yield Finding("state folder", "failed", f"others can write to {root}", f"chmod 700 {root}")
    elif _MOUNTS.exists() and (kind := network_type(_MOUNTS.read_text(errors="replace"), status.st_dev)):
        yield Finding(
            "state folder",
            "failed",
            f"{root} is on a network file system ({kind})",
            "set storage.root to a local folder",
        )
    else:
        yield Finding("state folder", "ok", str(root))


def _permissions(root: Path) -> Iterator[Finding]:
    """Whether anyone else can read what is kept (D11)."""
    if not root.is_dir() or root.is_symlink():
        return
    open_ones = [path for path, mode in _modes(root) if mode & 0o077]
    if open_ones:
        detail = f"{len(open_ones)} files or folders are open to others, the first is {open_ones[0]}"
        hint = f"chmod -R go= {root}"
        yield Finding("permissions", "warning", detail, hint)
    else:
        yield Finding("permissions", "ok", f"folders {FOLDER_MODE:o}, files {FILE_MODE:o} or less")


def _modes(root: Path) -> Iterator[tuple[Path, int]]:
    yield root, stat.S_IMODE(root.stat().st_mode)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            if not stat.S_ISLNK(status.st_mode):
                yield path, stat.S_IMODE(status.st_mode)


def _disk(root: Path) -> Finding:
    place = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / 1e9:,.1f} GB free at {place}"
    if free < FULL_BYTES:
        return Finding("disk", "failed", detail, "free disk space: appends are refused when it is full")
    if free < LOW_BYTES:
        return Finding("disk", "warning", detail, "free disk space")
    return Finding("disk", "ok", detail)


def _indexes(root: Path) -> Iterator[Finding]:
    """The session index and the output indexes; each can be deleted and is rebuilt from the logs."""
    paths = sorted(root.rglob("*.sqlite3")) if root.is_dir() else []
    broken = [path for path in paths if not _is_sound(path)]
    if broken:
        names = ", ".join(str(path.relative_to(root)) for path in broken[:3])
        hint = "delete them while no daemon runs: they are rebuilt from the logs"
        yield Finding("indexes", "warning", f"{len(broken)} of {len(paths)} are damaged: {names}", hint)
    else:
        yield Finding("indexes", "ok", f"{len(paths)} checked" if paths else "none yet")


def _is_sound(path: Path) -> bool:
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
        try:
            return bool(db.execute("pragma quick_check(1)").fetchone() == ("ok",))
        finally:
            db.close()
    except sqlite3.Error:
        return False


def _sessions(root: Path) -> Iterator[Finding]:
    """How much is kept, and whether any of it had to be set aside."""
    try:
        layouts = find_layouts(root)
        count = sum(len(layout.session_ids()) for layout in layouts)
        aside = sum(
            len(list(layout.quarantine.iterdir())) for layout in layouts if layout.quarantine.is_dir()
        )
    except (CtxdError, OSError) as error:
        yield Finding("sessions", "failed", f"cannot be listed: {error}", "look at the permissions")
        return
    detail = f"{count} in {len(layouts)} workspace(s)"
    if aside:
        hint = "session/health names what was damaged; the bytes are kept in quarantine"
        yield Finding("sessions", "warning", f"{detail}; {aside} damaged object(s) set aside", hint)
    else:
        yield Finding("sessions", "ok", detail)


def _encoding(name: EncodingName) -> Finding:
    """Whether counts are exact here, without a network."""
    text, tokens = _PROBE
    try:
        counter = encoding.load(name)
        counted = counter.count(text)
    except (CtxdError, ImportError, OSError) as error:
        return Finding(name, "failed", str(error), "install ctxd-server again")
    if counted != tokens[name]:
        return Finding(
            name, "failed", f"{counted} tokens where {tokens[name]} are right", "install ctxd-server again"
        )
    return Finding(name, "ok", f"exact, by {counter.engine}")


async def _daemon() -> Finding:
    """Whether a daemon starts, answers and ends, with a state folder of its own."""
    with tempfile.TemporaryDirectory(prefix="ctxd-doctor-") as folder:
        try:
            async with Client.start(Path(folder), options={"storage": {"root": f"{folder}/state"}}) as client:
                version = str(client.server_info.get("version"))
                await client.request("ctxd/status", {})
        except (ClientError, OSError) as error:
            return Finding("daemon", "failed", f"does not start: {error}", "run `ctxd serve` to see why")
    if client.returncode != 0:
        return Finding("daemon", "failed", f"ended with {client.returncode}", "run `ctxd serve` to see why")
    if version != __version__:
        return Finding("daemon", "failed", f"is version {version}", "install ctxd-server again")
    return Finding("daemon", "ok", "starts, answers and ends")
