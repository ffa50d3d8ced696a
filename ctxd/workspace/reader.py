"""What of a workspace's file may be shown to a model: text that people write, never secrets or bulk.

Owns the rules by name and by content. Must not know sessions, tokens or how it is shown. Blocking.
"""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

import msgspec

from ctxd.model.errors import Sensitive, TooLarge
from ctxd.workspace.boundary import Boundary
from ctxd.workspace.generated import is_generated_name, is_generated_text

MAX_BYTES = 4 * 1024 * 1024
"""A larger file is not read: nobody wrote it by hand."""

Unfit: TypeAlias = Literal["binary", "generated", "empty"]

_FOLDERS = {".git": "gitFolder", ".ssh": "keyFolder", ".gnupg": "keyFolder", ".aws": "keyFolder"}
_PUBLIC = ("*.pub", "*.example", "*.sample", "*.template", "*.dist")
_NAMES = {
    "envFile": ".env .env.* *.env .envrc .secrets secrets.yml secrets.yaml secrets.json secrets.toml",
    "keyFile": "*.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.asc *.gpg id_rsa* id_dsa* id_ecdsa* "
    "id_ed25519*",
    "credentialFile": ".netrc _netrc .pgpass .npmrc .pypirc .htpasswd .git-credentials .dockercfg "
    "credentials credentials.json credentials.yml credentials.toml credentials.xml service-account*.json "
    "*.tfstate *.tfstate.backup *.tfvars",
}
"""Rule to name patterns, separated by blanks."""

SENSITIVE_NAMES = tuple(name for patterns in _NAMES.values() for name in patterns.split())
"""Patterns of the names of files that may hold secrets."""

_PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")


class Head(msgspec.Struct, frozen=True):
    """The beginning of a text file. `path` is relative to its root.

    `text` are its first `shown` lines, each with its line feed but perhaps the file's last; `lines`
    and `size` (bytes) are the whole file's, `digest` is `sha256:<hex>` of it, `whole` its text.
    `torn` says that it was being written while it was read.
    """

    path: str
    text: str
    shown: int
    lines: int
    size: int
    digest: str
    mtime_ns: int
    ctime_ns: int
    torn: bool
    whole: str

    @property
    def bytes_left(self) -> int:
        """Bytes of the file that `text` does not show."""
        return self.size - len(self.text.encode())


def read_head(boundary: Boundary, path: str, *, max_lines: int, max_bytes: int) -> Head | Unfit:
    """Read the first whole lines of a file: at most `max_lines` and `max_bytes`.

    Answers `binary` for what is no UTF-8 text, `generated` for what nobody wrote, `empty` for nothing.
    Raises Sensitive with the `rule`, TooLarge, and what `Boundary.read` raises.
    """
    name = boundary.locate(path)
    refuse_by_name(name)
    if is_generated_name(name):
        return "generated"
    found = boundary.read(name, MAX_BYTES)
    if found.truncated:
        raise TooLarge("the file is too large to be shown", bytes=found.size, limit=MAX_BYTES)
    if holds_key(found.data):
        raise Sensitive("the file holds a private key", rule="privateKey")
    if b"\0" in found.data:
        return "binary"
    try:
        whole = found.data.decode("utf-8")
    except UnicodeDecodeError:
        return "binary"
    if not whole.strip():
        return "empty"
    lines = whole.split("\n")
    if lines[-1] == "":
        lines.pop()
    head = lines[:max_lines]
    if is_generated_text(head):
        return "generated"
    text = _fit(head, max_bytes, ends=whole.endswith("\n") or len(head) < len(lines))
    if not text:
        raise TooLarge("its first line alone is too large to be shown", bytes=found.size, limit=max_bytes)
    return Head(
        path=name,
        text=text,
        shown=text.count("\n") + (not text.endswith("\n")),
        lines=len(lines),
        size=found.size,
        digest=found.digest,
        mtime_ns=found.mtime_ns,
        ctime_ns=found.ctime_ns,
        torn=found.changed,
        whole=whole,
    )


def holds_key(data: bytes) -> bool:
    """Whether a private key stands in what was read."""
    return _PRIVATE_KEY.search(data) is not None


def refuse_by_name(name: str) -> None:
    """Raise Sensitive, with the rule's name, for paths that hold secrets by custom.

    Names compare as the most forgiving file system would: case, composition and invisible characters
    do not count.
    """
    *folders, leaf = [_folded(part) for part in name.split("/")]
    for folder in (*folders, leaf):
        if folder in _FOLDERS:
            raise Sensitive("the path lies in a folder that is never shown", rule=_FOLDERS[folder])
    if any(fnmatchcase(leaf, pattern) for pattern in _PUBLIC):
        return
    for rule, patterns in _NAMES.items():
        if any(fnmatchcase(leaf, pattern) for pattern in patterns.split()):
            raise Sensitive("files of this name hold secrets", rule=rule)


def _folded(part: str) -> str:
    plain = unicodedata.normalize("NFKC", part).casefold()
    return "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cc")).rstrip(". ")


def _fit(lines: list[str], max_bytes: int, *, ends: bool) -> str:
    """The first lines that fit, with their line feeds; `ends` says whether the last one has one."""
    kept: list[str] = []
    left = max_bytes
    for index, line in enumerate(lines):
        line = line + "\n" if ends or index + 1 < len(lines) else line
        left -= len(line.encode())
        if left < 0:
            break
        kept.append(line)
    return "".join(kept)
