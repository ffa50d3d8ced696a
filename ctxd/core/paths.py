"""Paths as text: two spellings of one file compare equal. Nothing here touches a disk."""

from __future__ import annotations

import posixpath


def normalize(path: str, root: str) -> str:
    """An absolute, normalized form. Relative paths are taken from `root`; backslashes are separators."""
    text = path.replace("\\", "/")
    if not text.startswith("/") and not (len(text) > 1 and text[1] == ":"):
        text = posixpath.join(root.replace("\\", "/"), text)
    return posixpath.normpath(text)
