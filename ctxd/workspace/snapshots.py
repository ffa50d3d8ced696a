"""Snapshots of a workspace's files: taken, compared, brought back. Git's object format, in the state folder.

Nothing is written into the workspace's own repository and none of its configuration is used: no hook,
filter or line-end rule runs, so bytes come back as they were. Ignored files, files that may hold secrets
and the insides of nested repositories are no part of a snapshot. Must not know sessions. Blocking.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import NotFound, RevisionConflict, StorageFailed, Timeout
from ctxd.workspace.reader import SENSITIVE_NAMES

SECONDS = 60.0
"""A git that takes longer is ended: the first snapshot of a large workspace reads every file once."""

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

        Raises NotFound where there is no git, Timeout, StorageFailed.
        """
        self._prepare()
        self._git("add", "--all", "--ignore-errors", "--", ".", allowed=(0, 1))
        return self._git("write-tree").decode().strip()

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

    def _git(self, command: str, *arguments: str, allowed: Sequence[int] = (0,), bare: bool = False) -> bytes:
        where = () if bare else (f"--git-dir={self._store}", f"--work-tree={self._workspace}")
        options = [part for option in _OPTIONS for part in ("-c", option)]
        try:
            done = subprocess.run(
                ["git", *where, *options, command, *arguments],
                cwd=self._workspace,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
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

    def _environment(self) -> dict[str, str]:
        """Only what git needs to run: no variable of the host's says where it works or how."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "GIT_INDEX_FILE": str(self._index),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }
