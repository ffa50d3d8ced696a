"""Snapshots of a workspace's files: taken, compared, brought back. Git's object format, in the state folder.

Nothing is written into the workspace's own repository and none of its configuration is used: no hook,
filter or line-end rule runs, so bytes come back as they were. Ignored files, files that may hold secrets,
what has another name or is very large, and the insides of nested repositories are no part of a snapshot.

Git opens files by their names, which may be exchanged for links meanwhile: what it took is kept aside until
each file was read again through the boundary and is the same. Must not know sessions. Blocking.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import (
    CtxdError,
    NotFound,
    OutsideWorkspace,
    RevisionConflict,
    StorageFailed,
    Timeout,
)
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.reader import SENSITIVE_NAMES

SECONDS = 60.0
"""A git that takes longer is ended: the first snapshot of a large workspace reads every file once."""

ATTEMPTS = 5
"""Takings of a workspace whose files change all the time."""

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A larger file is left out."""

Action: TypeAlias = Literal["add", "change", "remove"]

_ACTIONS: dict[str, Action] = {"A": "add", "M": "change", "T": "change", "D": "remove"}
_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -merge -diff\n"
_OPTIONS = (
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.excludesFile=",
    "core.quotePath=false",
    "gc.auto=0",
    # Every file an object of its own, so that one can be left out.
    "core.bigFileThreshold=1000g",
    "protocol.allow=never",
)


class Change(msgspec.Struct, frozen=True):
    """What happens to a file, its path relative to the workspace, from one snapshot to another."""

    path: str
    action: Action


class Snapshots:
    """The snapshots of one workspace, kept below `store`. `name` tells apart those who take them at once."""

    def __init__(self, workspace: str, store: Path, name: str) -> None:
        self._workspace = workspace
        self._store = store
        self._index = store / f"index-{name}"

    def take(self) -> str:
        """Keep the files as they are now; the snapshot's id.

        Raises NotFound where there is no git, RevisionConflict for files that never rest, Timeout,
        StorageFailed, OutsideWorkspace where the system has no way to tell.
        """
        self._prepare()
        before = self._git("write-tree").decode().strip()
        with Boundary(self._workspace) as boundary:
            for _ in range(ATTEMPTS):
                with tempfile.TemporaryDirectory(prefix="incoming-", dir=self._store) as folder:
                    if (tree := self._take(Path(folder), before, boundary)) is not None:
                        return tree
        raise RevisionConflict("files changed all the time while they were kept", hint="try again")

    def _take(self, aside: Path, before: str, boundary: Boundary) -> str | None:
        """Take the files into a folder aside, from there into the store; None where one is not as read."""
        index, objects = aside / "index", aside / "objects"
        objects.mkdir()
        if self._index.exists():
            shutil.copy2(self._index, index)
        self._git("add", "--all", "--ignore-errors", "--", ".", allowed=(0, 1), aside=aside)
        tree = self._git("write-tree", aside=aside)
        raw = self._git("diff-tree", "-r", "-z", "--no-renames", before, tree.decode().strip(), aside=aside)
        fields = raw.split(b"\0")
        sound, left_out = set[str](), dict[bytes, str]()
        for facts, path in zip(fields[::2], fields[1::2]):
            _, mode, _, digest, status = facts.decode().split(" ")
            if status == "D" or not mode.startswith("100"):
                continue
            try:
                found = boundary.read(os.fsdecode(path), MAX_FILE_BYTES)
            except OutsideWorkspace:
                left_out[path] = digest
                continue
            except CtxdError:
                return None
            if found.truncated:
                left_out[path] = digest
            elif hashlib.sha1(b"blob %d\0" % len(found.data) + found.data).hexdigest() != digest:
                return None
            else:
                sound.add(digest)
        if left_out:
            names = b"".join(path + b"\0" for path in left_out)
            self._git("update-index", "--force-remove", "-z", "--stdin", aside=aside, given=names)
            for digest in set(left_out.values()) - sound:
                (objects / digest[:2] / digest[2:]).unlink(missing_ok=True)
            tree = self._git("write-tree", aside=aside)
        for item in [item for item in objects.rglob("*") if item.is_file()]:
            target = self._store / "objects" / item.relative_to(objects)
            target.parent.mkdir(exist_ok=True)
            item.replace(target)
        index.replace(self._index)
        return tree.decode().strip()

    def compare(self, old: str, new: str) -> tuple[Change, ...]:
        """What to do to the files of `old` to have those of `new`. Raises NotFound for one that is gone."""
        fields = self._git("diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new).split(b"\0")
        pairs = zip(fields[::2], fields[1::2])
        return tuple([Change(os.fsdecode(path), _ACTIONS[status.decode()]) for status, path in pairs])

    def restore(self, current: str, wanted: str) -> None:
        """Bring the files from `current`, which was just taken, to `wanted`.

        Raises RevisionConflict, and touches nothing, where a file is not as it was in `current` any more or
        where a file that is in no snapshot stands in the way.
        """
        try:
            self._git("read-tree", "-m", "-u", current, wanted)
        except StorageFailed as error:
            raise RevisionConflict(
                "the files changed while they were restored", hint="look at them, then rewind again"
            ) from error

    def _prepare(self) -> None:
        """The store as git wants it, made once."""
        if (self._store / "HEAD").exists():
            return
        self._store.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._git("init", "--quiet", "--bare", "--template=", str(self._store), bare=True)
        info = self._store / "info"
        info.mkdir(mode=0o700, exist_ok=True)
        (info / "attributes").write_text(_ATTRIBUTES)
        (info / "exclude").write_text("".join(f"{name}\n" for name in SENSITIVE_NAMES))

    def _git(
        self,
        command: str,
        *arguments: str,
        allowed: Sequence[int] = (0,),
        bare: bool = False,
        aside: Path | None = None,
        given: bytes = b"",
    ) -> bytes:
        """What git prints. With `aside` its index and what it writes are there, not in the store."""
        where = () if bare else (f"--git-dir={self._store}", f"--work-tree={self._workspace}")
        options = [part for option in _OPTIONS for part in ("-c", option)]
        try:
            done = subprocess.run(
                ["git", *where, *options, command, *arguments],
                cwd=self._workspace,
                env=self._environment(aside),
                input=given,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise NotFound("git is not installed, or the workspace is gone") from error
        except subprocess.TimeoutExpired as error:
            raise Timeout(
                "a snapshot of the workspace took too long", hint="ignore generated files"
            ) from error
        if done.returncode not in allowed:
            raise StorageFailed(f"git {command} ended with {done.returncode}")
        return done.stdout

    def _environment(self, aside: Path | None) -> dict[str, str]:
        """Only what git needs to run: no variable of the host's says where it works or how."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
        if aside is not None:
            kept["GIT_OBJECT_DIRECTORY"] = str(aside / "objects")
            kept["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(self._store / "objects")
        return {
            **kept,
            "GIT_INDEX_FILE": str(self._index if aside is None else aside / "index"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }
