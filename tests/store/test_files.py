"""The file operations the store is made of: whole writes, and errors a host can switch on."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ctxd.model.errors import StorageFailed, StorageFull
from ctxd.store.files import open_file, storage_error, write_all


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_short_writes_are_continued_until_all_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    pieces = [b"", b"one", b"x" * 500, b"", b"three"] * 3
    fd = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    monkeypatch.setattr(os, "writev", lambda fd, rest: os.write(fd, b"".join(rest)[:most]))
    write_all(fd, pieces)
    os.close(fd)
    assert (tmp_path / "file").read_bytes() == b"".join(pieces)


def test_more_pieces_than_one_call_takes_are_written(tmp_path: Path) -> None:
    pieces = [b"%d," % n for n in range(5000)]
    fd = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    write_all(fd, pieces)
    os.close(fd)
    assert (tmp_path / "file").read_bytes() == b"".join(pieces)


def test_a_write_that_writes_nothing_is_an_error_and_no_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "writev", lambda fd, pieces: 0)
    with pytest.raises(OSError, match="nothing was written"):
        write_all(1, [b"x"])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_without_room_is_full(number: int) -> None:
    error = storage_error(OSError(number, "x"), "write")
    assert isinstance(error, StorageFull)
    assert error.facts == {"errno": errno.errorcode[number]}
    assert error.hint is not None


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE, 0])
def test_any_other_failure_is_storage_failed(number: int) -> None:
    error = storage_error(OSError(number, "x"), "write")
    assert isinstance(error, StorageFailed)
    assert error.message.startswith("cannot write: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.chown(tmp_path / "file", 12345, 12345)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(StorageFailed, match="another user"):
        open_file("file", os.O_RDONLY, dir_fd=folder)
    os.close(folder)
