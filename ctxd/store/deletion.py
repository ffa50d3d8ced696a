"""Deleting a session: it stops being one at once and for good, then its files go (D12).

Content-addressed objects may be shared and stay; only the session's own folder goes. Must not know
what is in it.
"""

from __future__ import annotations

import os
import shutil

from ctxd.store.files import open_folder, storage_errors, sync_folder
from ctxd.store.layout import Layout, lock_name
from ctxd.store.log.lease import acquire_lease

TRASH = "trash"


def delete_session(layout: Layout, session_id: str, client: str) -> None:
    """Delete a session that no process writes. Blocking.

    Its folder is moved away in one durable step, so a crash leaves it whole or gone. Raises
    SessionLocked while another process holds it, StorageFull, StorageFailed.
    """
    with storage_errors("delete the session"):
        root = open_folder(layout.folder)
        sessions = open_folder(layout.sessions)
        folder = open_folder(session_id, dir_fd=sessions)
        trash = open_folder(TRASH, dir_fd=root, create=True)
        try:
            lease = acquire_lease(folder, lock_name(session_id), client)
            try:
                gone = f"{session_id}.{os.getpid()}.{os.urandom(4).hex()}"
                os.rename(session_id, gone, src_dir_fd=sessions, dst_dir_fd=trash)
                sync_folder(trash)
                sync_folder(sessions)
            finally:
                lease.release()
        finally:
            for descriptor in (trash, folder, sessions, root):
                os.close(descriptor)
    _empty(layout)


def _empty(layout: Layout) -> None:
    """Remove what was moved away, now and by deletions that were interrupted. What resists stays hidden."""
    for entry in list((layout.folder / TRASH).iterdir()):
        shutil.rmtree(entry, ignore_errors=True)
