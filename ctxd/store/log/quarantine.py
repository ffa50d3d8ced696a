"""Copies of bytes that did not verify, by their digest (D5). The originals stay where they are."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterable

from ctxd.model.records import Span
from ctxd.store.files import open_file, sync_file, sync_folder, write_all
from ctxd.store.log.recovery import Found

_CHUNK = 1024 * 1024


def digest_span(segment: int, found: Found) -> Span:
    """Name the found bytes of the open segment by the sha256 of what is there. Raises OSError."""
    digest = hashlib.sha256()
    for chunk in _chunks(segment, found.offset, found.length):
        digest.update(chunk)
    return Span(found.segment, found.offset, found.length, digest.hexdigest(), found.reason)


def keep_span(folder: int, segment: int, span: Span) -> None:
    """Copy a span of the open segment into the quarantine folder, durably. Raises OSError.

    A span that is there already is not copied again.
    """
    if not span.length or _is_kept(folder, span):
        return
    temporary = f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
    fd = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder)
    try:
        try:
            for chunk in _chunks(segment, span.offset, span.length):
                write_all(fd, [chunk])
            sync_file(fd)
        finally:
            os.close(fd)
        os.rename(temporary, span.sha256, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    sync_folder(folder)


def _is_kept(folder: int, span: Span) -> bool:
    try:
        return os.stat(span.sha256, dir_fd=folder, follow_symlinks=False).st_size == span.length
    except FileNotFoundError:
        return False


def _chunks(fd: int, offset: int, length: int) -> Iterable[bytes]:
    while length > 0:
        chunk = os.pread(fd, min(_CHUNK, length), offset)
        if not chunk:
            return
        yield chunk
        offset, length = offset + len(chunk), length - len(chunk)
