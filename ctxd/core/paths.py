"""Paths as text: two spellings of one file compare equal. Nothing here touches a disk."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

_DRIVE = re.compile(r"[A-Za-z]:(?=/|$)")
_URI_DRIVE = re.compile(r"/[A-Za-z]:(?=/|$)")


def normalize(path: str, root: str, former: Iterable[str] = ()) -> str:
    """An absolute, normalized form. Relative paths are taken from `root`; backslashes are separators.

    `former` are folders that `root` was before it moved: what lies below one of them lies below `root`. A
    drive is spelled in upper case (`d:\\` is `D:/`).
    """
    root = _spelled(root)
    text = _spelled(path)
    if not text.startswith("/") and not _has_drive(text):
        text = posixpath.join(root, text)
    text = posixpath.normpath(text)
    for folder in former:
        if (below := inside(text, folder)) is not None:
            return posixpath.normpath(posixpath.join(root, below))
    return text


def inside(path: str, folder: str) -> str | None:
    """A normalized path relative to a folder (`.` for the folder itself); None where it lies elsewhere."""
    root = posixpath.normpath(_spelled(folder))
    if path == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def of_uri(path: str) -> str:
    """The path of a file URI as a Windows host means it: `/d:/x` is `D:/x`; others stay as they are."""
    return _spelled(path[1:]) if _URI_DRIVE.match(path) else path


def _spelled(path: str) -> str:
    text = path.replace("\\", "/")
    return text[0].upper() + text[1:] if _has_drive(text) else text


def _has_drive(path: str) -> bool:
    return _DRIVE.match(path) is not None
