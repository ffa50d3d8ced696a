"""What tools do, by their names: which only read, which write, whose result is a file's content.

The names are those of E §5, E §6.4 and the hosts in the bundled transcripts. A host with others says so by
option. Pure; knows no call.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from ctxd.model.messages import Effect

READ_TOOLS = frozenset(
    [
        "read",
        "read_file",
        "view",
        "view_file",
        "cat",
        "open_file",
        "notebookread",
        "grep",
        "glob",
        "search",
        "ls",
        "list",
        "list_dir",
        "list_files",
        "list_directory",
        "find",
        "websearch",
        "webfetch",
        "web_search",
        "web_fetch",
        "toolsearch",
        "codebase_search",
        "grep_search",
        "file_search",
        "search_files",
        "read_many_files",
        "search_file_content",
        "google_web_search",
        "view_image",
        "memoryread",
        "recall",
        "recall_memory",
        "memory_read",
        "think",
        "readfile",
        "read_text_file",
        "read_multiple_files",
        "fs_read",
        "builtin_read_file",
        "read_currently_open_file",
    ]
)
"""Tools that change nothing, by lower-cased name."""

WRITE_TOOLS = frozenset(
    [
        "write",
        "edit",
        "multiedit",
        "notebookedit",
        "write_file",
        "edit_file",
        "diff_edit",
        "apply_patch",
        "applypatch",
        "create_file",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "replace",
        "insert_edit_into_file",
        "create",
        "edit_notebook_file",
        "search_replace",
        "write_to_file",
        "apply_diff",
        "memorywrite",
        "memory_write",
        "replace_string_in_file",
        "multi_replace_string_in_file",
        "replace_in_file",
        "insert_content",
        "search_and_replace",
        "replace_file_content",
        "text_editor",
        "strreplacefile",
        "writefile",
        "multi_edit",
        "fs_write",
        "builtin_edit_existing_file",
        "builtin_create_new_file",
        "builtin_single_find_and_replace",
    ]
)
"""Tools that write a file, by lower-cased name."""

FILE_READERS = frozenset(
    [
        "read",
        "read_file",
        "view",
        "view_file",
        "cat",
        "open_file",
        "notebookread",
        "open",
        "readfile",
        "read_text_file",
        "read_multiple_files",
        "read_many_files",
        "fs_read",
        "builtin_read_file",
    ]
)
"""Tools whose result is a file's content: the ones a later read can supersede."""


class Tools(msgspec.Struct, frozen=True):
    """What a host adds: lower-cased names of tools that read and that write a file, and path arguments."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()


KNOWN = Tools()
"""Nothing added."""


@lru_cache(maxsize=1024)
def nature(name: str, tools: Tools = KNOWN) -> tuple[Effect, bool]:
    """A tool's effect, and whether its path argument names a file it reads or writes."""
    full = name.lower()
    short = full.rsplit("__", 1)[-1]
    if not tools.reads.isdisjoint((full, short)):
        return "read", True
    if not tools.writes.isdisjoint((full, short)):
        return "write", True
    if short in WRITE_TOOLS:
        return ("read" if short in READ_TOOLS else "write"), True
    return ("read" if short in READ_TOOLS else "other"), short in FILE_READERS
