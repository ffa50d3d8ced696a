"""What a workspace's sessions remember of it."""

from __future__ import annotations

from ctxd.server.method import STORE, Method, handled_by

UNSAFE = ("outsideWorkspace", "symlinkRefused", "notRegularFile", "tooLarge", "notFound")
"""What may be found where a topic should be, or where the memory's folder should."""

WRITE = (*STORE, *UNSAFE, "busy", "readOnly")


METHODS = (
    Method(
        "memory/index",
        "memory.MemoryIndexParams",
        "memory.MemoryIndexResult",
        "The index of a workspace's memory, within bounds; what is left out is named.",
        handler=handled_by("memory", "read_index"),
        errors=(*STORE, *UNSAFE),
    ),
    Method(
        "memory/list",
        "memory.MemoryListParams",
        "memory.MemoryListResult",
        "List the topics.",
        handler=handled_by("memory", "list_topics"),
        errors=(*STORE, *UNSAFE),
    ),
    Method(
        "memory/read",
        "memory.MemoryReadParams",
        "memory.MemoryReadResult",
        "Read a topic whole, with the provenance of what ctxd wrote in it.",
        handler=handled_by("memory", "read_topic"),
        errors=(*STORE, *UNSAFE),
    ),
    Method(
        "memory/write",
        "memory.MemoryWriteParams",
        "memory.MemoryWriteResult",
        "Add entries to a topic, or replace it.",
        handler=handled_by("memory", "write_topic"),
        errors=(*WRITE, "revisionConflict", "sensitive", "timeout"),
    ),
    Method(
        "memory/delete",
        "memory.MemoryDeleteParams",
        "base.Empty",
        "Delete a topic; its last version stays in the ledger.",
        handler=handled_by("memory", "delete_topic"),
        errors=WRITE,
    ),
    Method(
        "memory/search",
        "memory.MemorySearchParams",
        "memory.MemorySearchResult",
        "Search topics and episodes by words, English and Chinese.",
        handler=handled_by("memory", "search_memory"),
        errors=(*STORE, *UNSAFE),
    ),
)
