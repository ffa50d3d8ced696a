"""Nothing outside a workspace is ever read, whatever stands inside it and however it changes."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxd.model.errors import Busy, CtxdError, NotFound, OutsideWorkspace, SymlinkRefused
from ctxd.workspace.beneath import is_supported
from ctxd.workspace.boundary import Boundary, Opener
from tests.support.behaviour import behaviour
from tests.workspace.attacks import ATTACKS, INSIDE, SECRET, Attack, Place

ROOT = Path(__file__).parents[2]


def answer(boundary: Boundary, path: str) -> str:
    """The kind of the refusal; `inside` when the file was read."""
    try:
        data = boundary.read(path, 1000).data
    except CtxdError as error:
        assert SECRET.decode() not in error.message
        return error.kind
    assert data == INSIDE
    return "inside"


@behaviour("workspace.confined")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: f"{a.number} {a.name}")
def test_an_attack_is_refused_with_the_kind_that_says_why(
    place: Place, opener: Opener, attack: Attack
) -> None:
    path = attack.stage(place)
    with Boundary(str(place.root), opener) as boundary:
        assert answer(boundary, path) == attack.answer


def test_an_unreadable_file_is_not_found(place: Place, opener: Opener) -> None:
    """34. Root reads everything, so root becomes nobody for a moment."""
    (place.root / "closed.txt").write_bytes(SECRET)
    (place.root / "closed.txt").chmod(0)
    place.root.chmod(0o755)
    with Boundary(str(place.root), opener) as boundary:
        was = os.geteuid()
        if was == 0:
            os.seteuid(65534)
        try:
            assert answer(boundary, "closed.txt") == "notFound"
        finally:
            os.seteuid(was)


def test_of_a_file_of_a_tebibyte_no_more_is_read_than_asked(place: Place, opener: Opener) -> None:
    """33."""
    with (place.root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with Boundary(str(place.root), opener) as boundary:
        found = boundary.read("huge", 1000)
    assert (found.data, found.size, found.truncated) == (bytes(1000), 1 << 40, True)


@pytest.mark.parametrize("size", [999, 1000, 1001])
def test_a_file_is_cut_above_the_limit_and_not_at_it(place: Place, opener: Opener, size: int) -> None:
    (place.root / "x").write_bytes(b"x" * size)
    with Boundary(str(place.root), opener) as boundary:
        found = boundary.read("x", 1000)
    assert found.truncated == (size > 1000)
    assert found.data == b"x" * min(size, 1000)
    assert found.digest == "sha256:" + hashlib.sha256(found.data).hexdigest()
    assert found.size == size


def test_a_root_that_moves_is_still_the_root(place: Place, opener: Opener) -> None:
    """45 and 46: neither a link in its place nor the folder it points to is followed."""
    with Boundary(str(place.root), opener) as boundary:
        moved = place.root.rename(place.root.parent / "moved")
        assert answer(boundary, "a/ok.txt") == "inside"
        place.root.symlink_to(place.outside)
        assert answer(boundary, "secret.txt") == "notFound"
        assert answer(boundary, "a/ok.txt") == "inside"
        assert not boundary.is_replaced()
        place.root.unlink()
        assert not boundary.is_replaced()
        place.root.mkdir()
        assert boundary.is_replaced()
        assert moved.is_dir()


def test_a_workspace_reached_through_a_link_takes_both_spellings(place: Place, opener: Opener) -> None:
    alias = place.root.parent / "alias"
    alias.symlink_to(place.root)
    with Boundary(str(alias), opener) as boundary:
        assert answer(boundary, str(alias / "ok.txt")) == "inside"
        assert answer(boundary, str(place.root / "ok.txt")) == "inside"


def test_a_root_that_is_no_folder_is_not_found(place: Place) -> None:
    for root in (place.root / "missing", place.root / "ok.txt", Path("/proc/self/fd/999999/x")):
        with pytest.raises(NotFound):
            Boundary(str(root))


def test_a_system_that_cannot_confine_reads_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """49 to 54 where they mean something: there is no way in at all."""
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(OutsideWorkspace):
        Boundary(str(place.root))


def test_a_file_that_another_process_leases_is_busy(place: Place, opener: Opener) -> None:
    """Opening it would wait for the holder; nothing here waits."""
    if not hasattr(fcntl, "F_SETLEASE"):
        pytest.skip("this system has no leases")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        with (place.root / "ok.txt").open("rb+") as held, Boundary(str(place.root), opener) as boundary:
            try:
                fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            except OSError:
                pytest.skip("this file system has no leases")
            with pytest.raises(Busy):
                boundary.read("ok.txt", 100)
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    finally:
        signal.signal(signal.SIGIO, before)


def change_on_read(monkeypatch: pytest.MonkeyPatch, times: int, change: Callable[[], object]) -> None:
    """Something happens to the file after it was looked at and before its bytes are taken."""
    real = os.read
    left = times

    def read(fd: int, length: int) -> bytes:
        nonlocal left
        if left > 0:
            left -= 1
            change()
        return real(fd, length)

    monkeypatch.setattr(os, "read", read)


def test_a_file_that_grows_once_is_read_again(
    place: Place, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """43."""
    file = place.root / "x"
    file.write_bytes(b"old")
    change_on_read(monkeypatch, 1, lambda: file.write_bytes(b"new and longer"))
    with Boundary(str(place.root), opener) as boundary:
        found = boundary.read("x", 100)
    assert (found.data, found.changed) == (b"new and longer", False)


def test_a_file_that_never_rests_is_said_to_change(
    place: Place, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """43."""
    file = place.root / "x"
    file.write_bytes(b"x")

    def grow() -> None:
        with file.open("ab") as end:
            end.write(b"x" * 10)

    change_on_read(monkeypatch, 1000, grow)
    with Boundary(str(place.root), opener) as boundary:
        assert boundary.read("x", 50).changed


def test_a_file_that_is_replaced_is_read_from_its_successor(
    place: Place, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """42."""
    file = place.root / "x"
    file.write_bytes(b"old")
    (place.root / "y").write_bytes(b"new")
    change_on_read(monkeypatch, 1, lambda: (place.root / "y").replace(file))
    with Boundary(str(place.root), opener) as boundary:
        found = boundary.read("x", 100)
    assert (found.data, found.changed) == (b"new", False)


def test_a_file_that_is_replaced_by_a_link_is_refused(
    place: Place, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """42."""
    (place.root / "x").write_bytes(b"old")
    place.link("y", place.secret)
    change_on_read(monkeypatch, 1, lambda: (place.root / "y").replace(place.root / "x"))
    with Boundary(str(place.root), opener) as boundary, pytest.raises(SymlinkRefused):
        boundary.read("x", 100)


def test_a_file_that_is_unlinked_after_it_was_opened_is_not_found(
    place: Place, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """44."""
    (place.root / "x").write_bytes(b"old")
    change_on_read(monkeypatch, 1, (place.root / "x").unlink)
    with Boundary(str(place.root), opener) as boundary, pytest.raises(NotFound):
        boundary.read("x", 100)


MOUNTED = """
import os, subprocess, sys
from ctxd.model.errors import CtxdError
from ctxd.workspace.beneath import open_beneath
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.walk import open_by_steps
root, outside, mode = sys.argv[1:]
for kind, source, target in (("--bind", outside, "bound"), ("-tproc", "proc", "proc")):
    os.mkdir(f"{root}/{target}")
    subprocess.run(["mount", kind, source, f"{root}/{target}"], check=True)
open(f"{root}/single", "w").close()
subprocess.run(["mount", "--bind", f"{outside}/secret.txt", f"{root}/single"], check=True)
with Boundary(root, open_beneath if mode == "open_beneath" else open_by_steps) as boundary:
    for path in ("bound/secret.txt", "single", "proc/self/environ", "proc/1/root/etc/passwd", "proc/version"):
        try:
            boundary.read(path, 100)
            print(path, "read")
        except CtxdError as error:
            print(path, error.kind)
    print(boundary.read("ok.txt", 100).data)
"""


def test_what_is_mounted_inside_does_not_belong_to_it(place: Place, opener: Opener) -> None:
    """31 and 32, in a namespace of their own; the walk tells a folder of the same device by its mount."""
    isolate = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if subprocess.run([*isolate, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system lets nobody have mounts of their own")
    arguments = [str(place.root), str(place.outside), opener.__name__]  # type: ignore[attr-defined]  # a function
    done = subprocess.run(
        [*isolate, sys.executable, "-c", MOUNTED, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "permission denied" in done.stderr:
        pytest.skip("this system lets nobody mount")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "bound/secret.txt outsideWorkspace",
        "single outsideWorkspace",
        "proc/self/environ outsideWorkspace",
        "proc/1/root/etc/passwd outsideWorkspace",
        "proc/version outsideWorkspace",
        str(INSIDE),
    ]


FORBIDDEN = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
def instruction(code, yes, no, value):
    return code.to_bytes(2, "little") + bytes((yes, no)) + value.to_bytes(4, "little")
program = b"".join((
    instruction(0x20, 0, 0, 0),
    instruction(0x15, 0, 1, 437),
    instruction(0x06, 0, 0, 0x00050000 | int(sys.argv[1])),
    instruction(0x06, 0, 0, 0x7FFF0000),
))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_char_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
if libc.prctl(22, 2, ctypes.byref(Filter(4, program)), 0, 0) != 0:
    sys.exit(77)
from ctxd.workspace.beneath import is_supported
from ctxd.workspace.boundary import Boundary
with Boundary(sys.argv[2]) as boundary:
    print(is_supported(), boundary.read("a/ok.txt", 100).data)
"""


@pytest.mark.parametrize("number", [1, 38], ids=["EPERM", "ENOSYS"])
def test_where_openat2_is_forbidden_the_walk_reads(place: Place, number: int) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has openat2")
    done = subprocess.run(
        [sys.executable, "-c", FORBIDDEN, str(number), str(place.root)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("this system has no seccomp filters")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"False {INSIDE!r}"


def test_openat2_is_used_where_it_works(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_supported():
        pytest.skip("this kernel or sandbox has no openat2")

    def refuse(*_: object) -> int:
        raise AssertionError("the walk was taken")

    monkeypatch.setattr("ctxd.workspace.boundary.open_by_steps", refuse)
    with Boundary(str(place.root)) as boundary:
        assert answer(boundary, "a/b/ok.txt") == "inside"
