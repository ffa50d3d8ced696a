"""What may be shown of a file that may be read: text that people write, its beginning, and exact counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from ctxd.model.errors import Sensitive, TooLarge
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.generated import LONG_LINE
from ctxd.workspace.reader import MAX_BYTES, Head, Unfit, read_head
from tests.workspace.attacks import Place


@pytest.fixture
def boundary(place: Place) -> Iterator[Boundary]:
    with Boundary(str(place.root)) as made:
        yield made


def read(
    boundary: Boundary, place: Place, data: bytes, *, max_lines: int = 200, max_bytes: int = 16_384
) -> Head | Unfit:
    (place.root / "x.txt").write_bytes(data)
    return read_head(boundary, "x.txt", max_lines=max_lines, max_bytes=max_bytes)


def read_text(boundary: Boundary, place: Place, data: bytes, **limits: int) -> Head:
    head = read(boundary, place, data, **limits)
    assert isinstance(head, Head)
    return head


@pytest.mark.parametrize("lines", [1, 199, 200, 201, 1000])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_the_first_200_lines_are_shown_and_the_rest_is_counted(
    boundary: Boundary, place: Place, lines: int, ending: bytes
) -> None:
    data = b"".join(b"line %d" % n + ending for n in range(lines))
    head = read_text(boundary, place, data)
    shown = min(lines, 200)
    assert head.text.encode() == b"".join(b"line %d" % n + ending for n in range(shown))
    assert (head.shown, head.lines, head.size) == (shown, lines, len(data))
    assert head.bytes_left == len(data) - len(head.text.encode())
    assert head.digest == "sha256:" + hashlib.sha256(data).hexdigest()


def test_a_last_line_without_a_line_feed_is_a_line(boundary: Boundary, place: Place) -> None:
    head = read_text(boundary, place, b"one\ntwo")
    assert (head.text, head.shown, head.lines, head.bytes_left) == ("one\ntwo", 2, 2, 0)


def test_only_line_feeds_end_lines(boundary: Boundary, place: Place) -> None:
    head = read_text(boundary, place, "one\u2028still one\x0cstill\n".encode())
    assert head.lines == 1


@pytest.mark.parametrize(("limit", "shown"), [(10, 1), (11, 2), (16, 2), (17, 3)])
def test_bytes_are_capped_at_whole_lines(boundary: Boundary, place: Place, limit: int, shown: int) -> None:
    head = read_text(boundary, place, "一二\n三\nabcde\n".encode() + b"x" * 100, max_bytes=limit)
    assert head.shown == shown
    assert head.text == "".join(["一二\n", "三\n", "abcde\n"][:shown])


def test_a_first_line_above_the_cap_is_too_large(boundary: Boundary, place: Place) -> None:
    with pytest.raises(TooLarge) as refused:
        read(boundary, place, b"a long line\n", max_bytes=5)
    assert refused.value.facts == {"bytes": 12, "limit": 5}


def test_a_file_above_the_limit_is_too_large(boundary: Boundary, place: Place) -> None:
    with (place.root / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge) as refused:
        read_head(boundary, "huge", max_lines=200, max_bytes=1000)
    assert refused.value.facts == {"bytes": 1 << 40, "limit": MAX_BYTES}


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b"text and \xff no UTF-8\n", "binary"),
        ("UTF-16".encode("utf-16"), "binary"),
        (b"\xed\xa0\x80\n", "binary"),
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"a" * (LONG_LINE + 1), "generated"),
        (b"short\n" + b"var a;" * 1000 + b"\nshort\n", "generated"),
    ],
)
def test_what_nobody_wrote_is_not_shown(boundary: Boundary, place: Place, data: bytes, answer: str) -> None:
    assert read(boundary, place, data) == answer


def test_a_long_line_behind_what_is_shown_does_not_matter(boundary: Boundary, place: Place) -> None:
    head = read_text(boundary, place, b"short\n" * 3 + b"x" * 5000, max_lines=3)
    assert head.shown == 3


@pytest.mark.parametrize("data", ["Ünïcode 测试 🙂\n", "\ufeffwith a mark\n", "\x1b[31mred\x1b[0m\n"])
def test_any_utf_8_is_text(boundary: Boundary, place: Place, data: str) -> None:
    assert read_text(boundary, place, data.encode()).text == data


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".env", "envFile"),
        (".env.local", "envFile"),
        ("deploy/prod.env", "envFile"),
        (".ENV", "envFile"),
        (".e\u200bnv", "envFile"),
        ("\uff0eenv", "envFile"),
        (".env. ", "envFile"),
        (".envrc", "envFile"),
        ("config/secrets.yml", "envFile"),
        (".git/config", "gitFolder"),
        ("sub/.GIT/HEAD", "gitFolder"),
        (".g\u200cit/config", "gitFolder"),
        (".git", "gitFolder"),
        (".ssh/config", "keyFolder"),
        (".aws/credentials", "keyFolder"),
        ("id_rsa", "keyFile"),
        ("keys/id_ed25519", "keyFile"),
        ("server.pem", "keyFile"),
        ("server.KEY", "keyFile"),
        ("store.jks", "keyFile"),
        (".npmrc", "credentialFile"),
        (".netrc", "credentialFile"),
        (".git-credentials", "credentialFile"),
        ("terraform.tfstate", "credentialFile"),
        ("service-account-prod.json", "credentialFile"),
    ],
)
def test_a_name_that_stands_for_secrets_is_sensitive(boundary: Boundary, path: str, rule: str) -> None:
    """Even where there is no such file: its name alone is the reason."""
    with pytest.raises(Sensitive) as refused:
        read_head(boundary, path, max_lines=200, max_bytes=1000)
    assert refused.value.facts == {"rule": rule}


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        "id_rsa.pub",
        "environment.py",
        "secrets.py",
        "keys.py",
        ".gitignore",
        "a.git",
    ],
)
def test_a_name_that_only_looks_alike_is_not(boundary: Boundary, place: Place, path: str) -> None:
    place.put(path)
    assert isinstance(read_head(boundary, path, max_lines=200, max_bytes=1000), Head)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_in_any_file_is_sensitive(boundary: Boundary, place: Place, kind: str) -> None:
    text = f"notes\n-----BEGIN {kind}PRIVATE KEY-----\nabc\n"
    with pytest.raises(Sensitive) as refused:
        read(boundary, place, text.encode())
    assert refused.value.facts == {"rule": "privateKey"}
    assert "abc" not in str(refused.value)
