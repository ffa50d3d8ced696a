"""The attacks on reading of reliability.md, section 3, by their numbers there.

Each stages something in a workspace and names a path to read. What is asked for is an error kind, or
`inside` where the file is an honest one with an odd name. 40, 41, 43 and 55 take a second process or a
disk that hangs and have tests of their own; 49 to 54 are names that mean something on Windows and must
mean nothing here; 56 to 60 are about writing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

import pytest

SECRET = b"hunter2"
INSIDE = b"inside\n"


class Place(NamedTuple):
    """`root` is the workspace; `secret` lies in `outside`, beside it."""

    root: Path
    outside: Path
    secret: Path

    @classmethod
    def made_in(cls, folder: Path) -> Self:
        place = cls(folder / "ws", folder / "outside", folder / "outside" / "secret.txt")
        (place.root / "a" / "b").mkdir(parents=True)
        place.outside.mkdir()
        place.secret.write_bytes(SECRET)
        for name in ("ok.txt", "a/ok.txt", "a/b/ok.txt"):
            (place.root / name).write_bytes(INSIDE)
        return place

    def put(self, name: str | bytes) -> str:
        """An honest file of that name; the name again."""
        fd = os.open(os.fsencode(self.root) + b"/" + os.fsencode(name), os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, INSIDE)
        os.close(fd)
        return os.fsdecode(name)

    def link(self, name: str, target: str | Path) -> str:
        (self.root / name).symlink_to(target)
        return name

    def node(self, name: str, kind: int, device: int = 0) -> str:
        try:
            os.mknod(self.root / name, kind | 0o644, device)
        except PermissionError:
            pytest.skip("only root makes device nodes")
        return name


class Attack(NamedTuple):
    number: int
    name: str
    stage: Callable[[Place], str]
    answer: str


def _symlinked_parent(place: Place) -> str:
    place.link("parent", place.outside)
    return "parent/secret.txt"


def _link_inside(place: Place) -> str:
    return place.link("alias", "ok.txt")


def _loop(place: Place) -> str:
    place.link("one", "two")
    return place.link("two", "one")


def _long_chain(place: Place) -> str:
    place.link("l0", place.secret)
    for i in range(1, 46):
        place.link(f"l{i}", f"l{i - 1}")
    return "l45"


def _hard_link(place: Place) -> str:
    os.link(place.secret, place.root / "hard.txt")
    return "hard.txt"


def _sibling(place: Place) -> str:
    evil = Path(f"{place.root}-evil")
    evil.mkdir()
    (evil / "x").write_bytes(SECRET)
    return "../ws-evil/x"


def _sibling_absolute(place: Place) -> str:
    _sibling(place)
    return f"{place.root}-evil/x"


def _replaced_after_listing(place: Place) -> str:
    name = next(p.name for p in place.root.iterdir() if p.is_file())
    (place.root / name).unlink()
    return place.link(name, place.secret)


def _decomposed(place: Place) -> str:
    place.put("caf\u00e9.txt")
    if (place.root / "cafe\u0301.txt").exists():
        pytest.skip("this file system takes both spellings for one name")
    return "cafe\u0301.txt"


def _other_case(place: Place) -> str:
    place.put("memory.md")
    if (place.root / "MEMORY.MD").exists():
        pytest.skip("this file system takes both spellings for one name")
    return "MEMORY.MD"


ATTACKS = (
    Attack(1, "upwards", lambda p: "../outside/secret.txt", "outsideWorkspace"),
    Attack(2, "down and further up", lambda p: "a/../../outside/secret.txt", "outsideWorkspace"),
    Attack(3, "down and up again", lambda p: "a/../ok.txt", "outsideWorkspace"),
    Attack(4, "a sibling with the same beginning", _sibling, "outsideWorkspace"),
    Attack(4, "the same, absolute", _sibling_absolute, "outsideWorkspace"),
    Attack(5, "absolute outside", lambda p: str(p.secret), "outsideWorkspace"),
    Attack(6, "absolute inside", lambda p: str(p.root / "a" / "ok.txt"), "inside"),
    Attack(
        6, "absolute inside and out again", lambda p: f"{p.root}/../outside/secret.txt", "outsideWorkspace"
    ),
    Attack(7, "home", lambda p: "~/secret.txt", "outsideWorkspace"),
    Attack(7, "another's home", lambda p: "~root/secret.txt", "outsideWorkspace"),
    Attack(8, "empty", lambda p: "", "notFound"),
    Attack(9, "dot", lambda p: ".", "notRegularFile"),
    Attack(9, "the root itself", lambda p: str(p.root), "notRegularFile"),
    Attack(10, "NUL", lambda p: "ok.txt\0.png", "notFound"),
    Attack(11, "path too long", lambda p: "a/" * 2100 + "ok.txt", "notFound"),
    Attack(12, "name too long", lambda p: "n" * 256, "notFound"),
    Attack(13, "absolute link", lambda p: p.link("x", p.secret), "symlinkRefused"),
    Attack(14, "relative link", lambda p: p.link("x", "../outside/secret.txt"), "symlinkRefused"),
    Attack(15, "linked parent", _symlinked_parent, "symlinkRefused"),
    Attack(16, "link that stays inside", _link_inside, "symlinkRefused"),
    Attack(17, "dangling link", lambda p: p.link("x", "nowhere"), "symlinkRefused"),
    Attack(18, "loop", _loop, "symlinkRefused"),
    Attack(19, "chain of 45 links", _long_chain, "symlinkRefused"),
    Attack(20, "link to an open file", lambda p: p.link("x", "/proc/self/fd/0"), "symlinkRefused"),
    Attack(
        21,
        "link to the root of all",
        lambda p: p.link("x", "/proc/self/root") + "/etc/passwd",
        "symlinkRefused",
    ),
    Attack(
        22, "link to where we are", lambda p: p.link("x", "/proc/self/cwd") + "/README.md", "symlinkRefused"
    ),
    Attack(23, "a known name that is a link", lambda p: p.link("MEMORY.md", p.secret), "symlinkRefused"),
    Attack(24, "hard link", _hard_link, "outsideWorkspace"),
    Attack(25, "FIFO", lambda p: p.node("x", stat.S_IFIFO), "notRegularFile"),
    Attack(26, "socket", lambda p: p.node("x", stat.S_IFSOCK), "notRegularFile"),
    Attack(27, "character device", lambda p: p.node("x", stat.S_IFCHR, os.makedev(1, 5)), "notRegularFile"),
    Attack(28, "block device", lambda p: p.node("x", stat.S_IFBLK, os.makedev(7, 0)), "notRegularFile"),
    Attack(29, "folder as file", lambda p: "a", "notRegularFile"),
    Attack(30, "file as folder", lambda p: "ok.txt/x", "notFound"),
    Attack(35, "missing", lambda p: "a/missing.txt", "notFound"),
    Attack(35, "missing folder", lambda p: "missing/ok.txt", "notFound"),
    Attack(36, "name that is no UTF-8", lambda p: p.put(b"\xff\xfe.txt"), "inside"),
    Attack(36, "name that is no text at all", lambda p: "\ud83d.txt", "notFound"),
    Attack(37, "line feed in the name", lambda p: p.put("two\nlines.txt"), "inside"),
    Attack(38, "three dots", lambda p: p.put("..."), "inside"),
    Attack(39, "backslash in the name", lambda p: p.put("a\\ok.txt"), "inside"),
    Attack(39, "backslashes upwards", lambda p: "..\\outside\\secret.txt", "notFound"),
    Attack(42, "replaced after it was listed", _replaced_after_listing, "symlinkRefused"),
    Attack(47, "another case", _other_case, "notFound"),
    Attack(48, "another composition", _decomposed, "notFound"),
    Attack(49, "junction", lambda p: "a\\b", "notFound"),
    Attack(50, "alternate stream", lambda p: "ok.txt:secret", "notFound"),
    Attack(50, "default stream", lambda p: "ok.txt::$DATA", "notFound"),
    Attack(51, "console", lambda p: "CON", "notFound"),
    Attack(51, "null with an ending", lambda p: "NUL.txt", "notFound"),
    Attack(52, "drive", lambda p: "C:secret.txt", "notFound"),
    Attack(52, "share", lambda p: "\\\\server\\share\\x", "notFound"),
    Attack(52, "device path", lambda p: "\\\\?\\C:\\x", "notFound"),
    Attack(52, "two slashes", lambda p: "//etc/passwd", "outsideWorkspace"),
    Attack(53, "short name", lambda p: "OK~1.TXT", "notFound"),
    Attack(54, "dot at the end", lambda p: "ok.txt.", "notFound"),
    Attack(54, "blank at the end", lambda p: "ok.txt ", "notFound"),
)
