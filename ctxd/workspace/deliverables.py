"""The files of a workspace that a contract speaks of: found by pattern, and their content as one digest.

Owns how far is looked and how much is read. Must not know sessions, contracts or validators. Blocking;
belongs in a worker thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from ctxd.compaction.preservation import translate
from ctxd.model.errors import CtxdError
from ctxd.workspace.boundary import Boundary

MAX_NAMES = 100_000
"""Names looked at for one pattern, so that a search below everything ends."""

MAX_FILES = 4096
"""Files one pattern may find, and files one digest is made of."""

HEAD_BYTES = 1024 * 1024
"""Of a larger file, this much and its size and time of change stand for the whole."""


class Found(msgspec.Struct, frozen=True):
    """Files that match, as paths relative to the workspace, sorted; at least one of them can be read.

    `refusal` is the error kind where the pattern leads nowhere that may be looked at or all it finds is
    refused, or `tooLarge` where not everything was looked at; else "".
    """

    paths: tuple[str, ...] = ()
    refusal: str = ""


def find(boundary: Boundary, pattern: str) -> Found:
    """The regular files that a path pattern matches: `*` and `?` within a segment, `**` across segments.

    Takes patterns relative to the workspace and absolute ones below it. No link is followed; `.git` is
    searched only where the pattern names it.
    """
    try:
        name = boundary.locate(pattern)
    except CtxdError as error:
        return Found(refusal=error.kind)
    segments = name.split("/")
    plain = next((i for i, part in enumerate(segments) if "*" in part or "?" in part), len(segments) - 1)
    deepest = None if "**" in name else len(segments)
    found = _search(boundary, name, segments[:plain], deepest)
    refusal = ""
    for path in found.paths:
        try:
            boundary.read(path, 0)
        except CtxdError as error:
            refusal = error.kind
        else:
            return found
    return Found(refusal=refusal or found.refusal)


def digest(boundary: Boundary, paths: Iterable[str]) -> str:
    """`sha256:<hex>` over the files' names and content. One that cannot be read counts by the reason."""
    seal = hashlib.sha256()
    for path in sorted(set(paths))[:MAX_FILES]:
        try:
            found = boundary.read(path, HEAD_BYTES)
        except CtxdError as error:
            state = error.kind
        else:
            state = f"{found.digest} {found.mtime_ns if found.truncated else 0} {found.size}"
        seal.update(f"{path}\0{state}\n".encode("utf-8", "surrogatepass"))
    return "sha256:" + seal.hexdigest()


def _search(boundary: Boundary, pattern: str, start: list[str], deepest: int | None) -> Found:
    wanted = translate(pattern, anywhere=False)
    found: list[str] = []
    looked = 0
    folders = [start]
    refusal = ""
    while folders and looked <= MAX_NAMES and len(found) <= MAX_FILES:
        folder = folders.pop()
        try:
            names = boundary.names("/".join(folder) or ".")
        except CtxdError as error:
            refusal = error.kind if folder == start and error.kind != "notFound" else refusal
            continue
        looked += len(names)
        for name, is_folder in names:
            path = [*folder, name]
            if not is_folder:
                if wanted.fullmatch("/".join(path)):
                    found.append("/".join(path))
            elif name != ".git" and (deepest is None or len(path) < deepest):
                folders.append(path)
    whole = looked <= MAX_NAMES and len(found) <= MAX_FILES
    return Found(tuple(sorted(found)[:MAX_FILES]), refusal or ("" if whole else "tooLarge"))
