"""Bytes are kept by their digest, durably, and wrong ones are never given back (D7)."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxd.model.errors import Corrupt, NotFound, StorageFailed, StorageFull
from ctxd.store.ledger import Ledger
from tests.store.desk import Desk
from tests.support.behaviour import behaviour


@pytest.fixture
def ledger(desk: Desk) -> Iterator[Ledger]:
    ledger = desk.ledger()
    yield ledger
    ledger.close()


def path_of(desk: Desk, digest: str) -> Path:
    name = digest.removeprefix("sha256:")
    return desk.layout().objects / name[:2] / name


@pytest.mark.parametrize("data", [b"", b"x", b"\0\xff\xfe", "é\u2028".encode(), bytes(3_000_000)])
def test_bytes_come_back_as_they_were(desk: Desk, ledger: Ledger, data: bytes) -> None:
    digest = ledger.put(data)
    assert digest == "sha256:" + hashlib.sha256(data).hexdigest()
    assert ledger.get(digest) == data
    assert ledger.has(digest)
    assert path_of(desk, digest).stat().st_mode & 0o777 == 0o600
    another = desk.ledger()
    assert another.get(digest) == data
    another.close()


@behaviour("D7.once")
def test_the_same_bytes_are_kept_once_and_freshened(desk: Desk, ledger: Ledger) -> None:
    digest = ledger.put(b"same")
    path = path_of(desk, digest)
    os.utime(path, (1, 1))
    inode = path.stat().st_ino
    assert ledger.put(b"same") == digest
    assert path.stat().st_ino == inode
    assert path.stat().st_mtime > 1
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@behaviour("D7.corrupt")
@pytest.mark.parametrize("change", [b"", b"short", b"wrong bytes of some length"])
def test_bytes_that_went_bad_are_set_aside_and_stay_corrupt_until_put_again(
    desk: Desk, ledger: Ledger, change: bytes
) -> None:
    digest = ledger.put(b"right bytes of some length")
    path = path_of(desk, digest)
    path.write_bytes(change)
    for _ in range(2):
        with pytest.raises(Corrupt) as caught:
            ledger.get(digest)
        assert caught.value.facts["digest"] == digest
    assert path.with_name(path.name + ".bad").read_bytes() == change
    assert not ledger.has(digest)
    ledger.put(b"right bytes of some length")
    assert ledger.get(digest) == b"right bytes of some length"


def test_putting_again_over_bytes_that_went_bad_mends_them(desk: Desk, ledger: Ledger) -> None:
    digest = ledger.put(b"right")
    path_of(desk, digest).write_bytes(b"wrong")
    assert ledger.put(b"right") == digest
    assert ledger.get(digest) == b"right"


@pytest.mark.parametrize(
    "digest",
    ["", "sha256:", "sha256:" + "0" * 64, "md5:x", "sha256:../../../../etc/passwd", "sha256:" + "G" * 64],
)
def test_a_digest_nobody_kept_is_not_found(ledger: Ledger, digest: str) -> None:
    with pytest.raises(NotFound):
        ledger.get(digest)


def test_an_object_that_is_a_link_is_not_followed(desk: Desk, ledger: Ledger, tmp_path: Path) -> None:
    digest = ledger.put(b"right")
    path = path_of(desk, digest)
    (tmp_path / "secret").write_bytes(b"right")
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(StorageFailed):
        ledger.get(digest)


@behaviour("D7.sweep")
def test_old_temporary_files_are_swept_and_young_ones_left(desk: Desk, ledger: Ledger) -> None:
    fan = path_of(desk, ledger.put(b"kept")).parent
    old, young = fan / ".tmp-1-dead", fan / ".tmp-2-alive"
    old.write_bytes(b"x")
    young.write_bytes(b"x")
    day_ago = time.time() - 25 * 3600
    os.utime(old, (day_ago, day_ago))
    (desk.layout().objects / "stray").write_bytes(b"not ours")
    desk.ledger().close()
    assert not old.exists()
    assert young.exists()


def test_bytes_that_do_not_fit_are_refused_before_they_fill_the_disk(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = os.statvfs_result((4096, 4096, 1000, 10, 10, 1000, 1000, 1000, 0, 255))
    monkeypatch.setattr(os, "fstatvfs", lambda fd: room)
    monkeypatch.delattr(os, "writev")
    with pytest.raises(StorageFull):
        ledger.put(bytes(2_000_000))


def test_many_threads_putting_the_same_bytes_do_not_hurt_each_other(desk: Desk) -> None:
    """reports F.69: two writers of one name never share a temporary file."""
    errors: list[Exception] = []

    def work() -> None:
        ledger = desk.ledger()
        try:
            for n in range(20):
                assert ledger.get(ledger.put(b"%d" % n * 1000)) == b"%d" % n * 1000
        except Exception as error:  # noqa: BLE001 - told to the test below
            errors.append(error)
        finally:
            ledger.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [p for p in desk.layout().objects.rglob("*") if ".tmp" in p.name] == []


@behaviour("D11.links")
def test_a_temporary_name_that_somebody_guessed_is_not_written_to(
    desk: Desk, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """59: the draft's name cannot be known, and where it is known nothing is written through a link there."""
    data = b"some bytes"
    victim = tmp_path / "victim"
    victim.write_bytes(b"untouched")
    monkeypatch.setattr("ctxd.store.ledger.secrets.token_hex", lambda size: "0" * 2 * size)
    fan = path_of(desk, "sha256:" + hashlib.sha256(data).hexdigest()).parent
    fan.mkdir(mode=0o700)
    (fan / f".tmp-{os.getpid()}-{'0' * 16}").symlink_to(victim)
    with pytest.raises(StorageFailed):
        ledger.put(data)
    assert victim.read_bytes() == b"untouched"
