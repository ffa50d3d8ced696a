"""Every state a power cut may leave on disk, from what was written and synced (reliability.md section 2).

A `Recorder` notes what the store asks of the system. `crash_states` then takes each moment of that
record and yields the trees a cut could leave: whatever was not synced is there, absent, cut short,
filled with NULs or flipped, and names that were not synced in their folder are there or not. What a
failed sync was to cover is in doubt for ever: the kernel calls such pages clean (finding 1).
The text of lock files is left out: it means nothing once the holder is dead.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest


class Op(msgspec.Struct, frozen=True):
    """`path` is relative to the root; `node` tells apart files that had the same name."""

    kind: Literal["mkdir", "create", "write", "sync", "syncdir", "failed", "rename", "unlink", "ack"]
    path: str
    node: int = 0
    offset: int = 0
    data: bytes = b""
    target: str = ""


class State(msgspec.Struct, frozen=True):
    """One state of the disk: folders, files by path, and what had been acknowledged by then."""

    folders: frozenset[str]
    files: tuple[tuple[str, bytes], ...]
    acked: tuple[str, ...]

    def write_to(self, root: Path) -> None:
        for folder in sorted(self.folders):
            (root / folder).mkdir(mode=0o700)
        for path, content in self.files:
            (root / path).write_bytes(content)
            (root / path).chmod(0o600)


class Recorder:
    """Records what happens below `root` through the `os` module until the test ends."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ops: list[Op] = []
        self.fail_syncs = 0
        self._root = str(root)
        self._positions: dict[int, int] = {}
        for name in ("open", "mkdir", "writev", "fdatasync", "fsync", "rename", "unlink"):
            monkeypatch.setattr(os, name, getattr(self, f"_{name}")(getattr(os, name)))

    def ack(self, *names: str) -> None:
        self.ops += [Op("ack", name) for name in names]

    def _path(self, name: object, dir_fd: int | None) -> str:
        base = "" if dir_fd is None else str(Path(f"/proc/self/fd/{dir_fd}").readlink())
        whole = os.path.normpath(os.path.join(base, str(name)))  # noqa: PTH118 - the path may be relative
        return whole.removeprefix(self._root).lstrip("/") if whole.startswith(self._root) else ""

    def _of_fd(self, fd: int) -> str:
        return self._path(Path(f"/proc/self/fd/{fd}").readlink(), None)

    def _open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            fd = real(path, flags, mode, dir_fd=dir_fd)
            self._positions[fd] = 0
            if flags & os.O_EXCL and (name := self._path(path, dir_fd)):
                self.ops.append(Op("create", name, os.fstat(fd).st_ino))
            return fd

        return call

    def _mkdir(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
            real(path, mode, dir_fd=dir_fd)
            if name := self._path(path, dir_fd):
                self.ops.append(Op("mkdir", name))

        return call

    def _writev(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(fd: int, pieces: Any) -> int:
            written = real(fd, pieces)
            node = os.fstat(fd).st_ino
            self.ops.append(
                Op("write", self._of_fd(fd), node, self._positions[fd], b"".join(pieces)[:written])
            )
            self._positions[fd] += written
            return written

        return call

    def _fdatasync(self, real: Callable[..., None]) -> Callable[..., None]:
        return self._fsync(real)

    def _fsync(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(fd: int) -> None:
            found = os.fstat(fd)
            name = self._of_fd(fd)
            if self.fail_syncs:
                self.fail_syncs -= 1
                self.ops.append(Op("failed", name, found.st_ino))
                raise OSError(errno.EIO, "the medium failed")
            real(fd)
            self.ops.append(Op("syncdir" if stat.S_ISDIR(found.st_mode) else "sync", name, found.st_ino))

        return call

    def _rename(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(
            source: Any, target: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
        ) -> None:
            real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            to = self._path(target, dst_dir_fd)
            self.ops.append(Op("rename", self._path(source, src_dir_fd), target=to))

        return call

    def _unlink(self, real: Callable[..., None]) -> Callable[..., None]:
        def call(path: Any, *, dir_fd: int | None = None) -> None:
            real(path, dir_fd=dir_fd)
            self.ops.append(Op("unlink", self._path(path, dir_fd)))

        return call


def crash_states(ops: list[Op]) -> Iterator[State]:
    """The distinct states a cut may leave, at every moment of the record."""
    seen: set[State] = set()
    for moment in range(len(ops) + 1):
        for state in _states_after(ops[:moment]):
            if state not in seen:
                seen.add(state)
                yield state


def _states_after(ops: list[Op]) -> Iterator[State]:
    acked = tuple(op.path for op in ops if op.kind == "ack")
    contents = {op.node: _contents(ops, op.node) for op in ops if op.kind == "create"}
    certain, doubtful = _names(ops)
    for kept in _subsets(doubtful):
        names = sorted([*certain, *kept], key=ops.index)
        folders, files = _apply(names)
        nodes = sorted(set(files.values()))
        for chosen in _choices([contents[node] for node in nodes]):
            content = dict(zip(nodes, chosen, strict=True))
            yield State(
                frozenset(folders),
                tuple(sorted((path, content[node]) for path, node in files.items())),
                acked,
            )


def _names(ops: list[Op]) -> tuple[list[Op], list[Op]]:
    """The name changes that are durable, and those that are not, each in order."""
    certain: list[Op] = []
    doubtful: list[Op] = []
    doomed: list[Op] = []
    for op in ops:
        if op.kind in ("mkdir", "create", "rename", "unlink"):
            doubtful.append(op)
        elif op.kind in ("syncdir", "failed"):
            covered = [o for o in doubtful if str(Path(o.path).parent) == (op.path or ".")]
            (certain if op.kind == "syncdir" else doomed).extend(covered)
            doubtful = [o for o in doubtful if o not in covered]
    return certain, doubtful + doomed


def _apply(names: list[Op]) -> tuple[set[str], dict[str, int]]:
    folders: set[str] = set()
    files: dict[str, int] = {}
    for op in names:
        parent = str(Path(op.path).parent)
        if parent != "." and parent not in folders:
            continue
        if op.kind == "mkdir":
            folders.add(op.path)
        elif op.kind == "create":
            files[op.path] = op.node
        elif op.kind == "unlink":
            files.pop(op.path, None)
        elif op.path in files:
            files[op.target] = files.pop(op.path)
    return folders, files


def _contents(ops: list[Op], node: int) -> list[bytes]:
    """What the file may hold: the last of the list is all that was ever written to it."""
    durable: list[Op] = []
    pending: list[Op] = []
    doomed: list[Op] = []
    for op in ops:
        if op.node == node and op.kind == "write":
            pending.append(op)
        elif op.node == node and op.kind == "sync":
            durable, pending = durable + pending, []
        elif op.node == node and op.kind == "failed":
            doomed, pending = doomed + pending, []
    unsure = doomed + pending
    versions = [_lay(durable)]
    for count, op in enumerate(unsure):
        before = durable + unsure[:count]
        versions += [_lay([*before, msgspec.structs.replace(op, data=data)]) for data in _variants(op.data)]
        versions.append(_lay([*durable, *unsure[:count], *unsure[count + 1 :]]))
    versions.append(_lay(durable + unsure))
    return list(dict.fromkeys(versions))


def _variants(data: bytes) -> list[bytes]:
    half = len(data) // 2
    flipped = data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
    cuts = [data[:cut] for cut in (1, half, len(data) - 2, len(data) - 1) if cut > 0]
    halves = [data[:half] + bytes(len(data) - half), bytes(half) + data[half:]]
    return [*cuts, bytes(len(data)), *halves, flipped]


def _lay(writes: list[Op]) -> bytes:
    content = bytearray()
    for op in writes:
        content.extend(bytes(max(0, op.offset + len(op.data) - len(content))))
        content[op.offset : op.offset + len(op.data)] = op.data
    return bytes(content)


def _subsets(doubtful: list[Op]) -> Iterator[list[Op]]:
    if len(doubtful) <= 3:
        for size in range(len(doubtful) + 1):
            yield from map(list, itertools.combinations(doubtful, size))
        return
    yield doubtful
    yield []
    for left_out in range(len(doubtful)):
        yield doubtful[:left_out] + doubtful[left_out + 1 :]


def _choices(options: list[list[bytes]]) -> Iterator[list[bytes]]:
    """All versions of each file beside the fullest of the others, and the barest of all."""
    fullest = [versions[-1] for versions in options]
    yield fullest
    yield [versions[0] for versions in options]
    for index, versions in enumerate(options):
        for version in versions[:-1]:
            yield [*fullest[:index], version, *fullest[index + 1 :]]
