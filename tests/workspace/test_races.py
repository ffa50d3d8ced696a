"""Names and contents that change without pause while they are read: no leak, no mixture unsaid."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ctxd.model.errors import CtxdError
from ctxd.workspace.boundary import Boundary, Opener
from tests.support.behaviour import behaviour
from tests.workspace.attacks import INSIDE, Place

SECONDS = 1.0

EXCHANGE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = map(os.fsencode, sys.argv[1:])
if libc.renameat2(-100, one, -100, other, 2) != 0:
    sys.exit(77)
print("ready", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)
"""

REWRITE = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
print("ready", flush=True)
while True:
    for letter in b"ab":
        os.pwrite(fd, bytes([letter]) * 200_000, 0)
"""


@contextmanager
def running(script: str, *arguments: Path) -> Iterator[None]:
    """A second process at its work."""
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            pytest.skip("this system cannot exchange two names at once")
        try:
            yield
        finally:
            process.kill()


@behaviour("workspace.raced")
@pytest.mark.parametrize("what", ["40 parent", "41 leaf"])
def test_exchanging_a_name_with_a_link_leaks_nothing(place: Place, opener: Opener, what: str) -> None:
    parent = what == "40 parent"
    (place.outside / "ok.txt").write_bytes(place.secret.read_bytes())
    place.link("link", place.outside if parent else place.secret)
    target = place.root / ("a" if parent else "ok.txt")
    path = "a/ok.txt" if parent else "ok.txt"
    read: Counter[bytes] = Counter()
    refused = 0
    folder = os.open(place.root, os.O_RDONLY)
    with running(EXCHANGE, target, place.root / "link"):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                fd = opener(folder, path)
            except (CtxdError, OSError):
                refused += 1
                continue
            read[os.read(fd, 100)] += 1
            os.close(fd)
    os.close(folder)
    assert read.keys() == {INSIDE}
    assert refused > 0


@behaviour("workspace.raced")
def test_exchanging_a_folder_with_a_link_lists_nothing_of_what_lies_outside(place: Place) -> None:
    place.link("link", place.outside)
    seen: Counter[str] = Counter()
    with Boundary(str(place.root)) as boundary, running(EXCHANGE, place.root / "a", place.root / "link"):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                seen.update(name for name, _ in boundary.names("a"))
            except CtxdError as error:
                seen[error.kind] += 1
    assert seen.keys() <= {"ok.txt", "b", "symlinkRefused", "notFound"}
    assert seen["ok.txt"] > 0
    assert seen["symlinkRefused"] > 0


@behaviour("workspace.raced")
def test_a_mixture_of_two_contents_is_never_handed_out_unsaid(place: Place, opener: Opener) -> None:
    """43. A writer that stalls between setting the times and moving the bytes escapes; that is rare."""
    file = place.root / "x"
    file.write_bytes(b"a" * 200_000)
    tries = [_count_unsaid(place, opener, file) for _ in range(3)]
    assert 0 in tries


def _count_unsaid(place: Place, opener: Opener, file: Path) -> int:
    """Mixed contents that were handed out as whole ones while another process wrote."""
    unsaid = 0
    with Boundary(str(place.root), opener) as boundary, running(REWRITE, file):
        end = time.monotonic() + SECONDS / 2
        while time.monotonic() < end:
            found = boundary.read("x", 1_000_000)
            unsaid += len(set(found.data)) > 1 and not found.changed
    return unsaid
