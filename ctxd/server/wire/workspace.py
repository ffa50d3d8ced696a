"""`workspace/*`: files of a session's workspace (protocol.md, section 6)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, SessionParams, Wire
from ctxd.server.wire.sessions import FileOp


class WorkspaceTouchParams(SessionParams):
    """Parameters of `workspace/touch`: a file was read or changed, apart from any message."""

    path: str = Field(min_length=1, description="Path in the workspace.")
    op: FileOp = Field(description="What was done to it.")


class WorkspaceRecentFilesParams(SessionParams):
    """Parameters of `workspace/recentFiles`."""

    limit: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="At most so many files; those a compaction shows when absent.",
    )


class RecentFile(Wire):
    """A file that the session touched and that may be shown."""

    path: str = Field(description="Relative to the session's folder; absolute in another announced one.")
    op: FileOp = Field(description="The newest thing done to it.")
    accessed_at: Count = Field(description="When, milliseconds since 1970, UTC.")
    changed_since: bool = Field(description="Whether it changed after that, as far as can be told.")
    freshness: Literal["changed", "unchanged", "unknown"] = Field(description="What can be told.")


class RefusedFile(Wire):
    """A file that the session touched and that may not be shown."""

    path: str
    reason: str = Field(description="An error kind, or `binary`, `generated`, `empty`.")


class WorkspaceRecentFilesResult(Wire):
    """Recent files, newest touch first."""

    files: list[RecentFile]
    rejected: list[RefusedFile]


class WorkspaceReadFileParams(SessionParams):
    """Parameters of `workspace/readFile`."""

    path: str = Field(
        description="Relative to the session's folder, or absolute and inside it or another announced folder."
    )
    start_line: int | None = Field(default=None, ge=1, description="First line, 1-based; 1 when absent.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, included; the last when absent.")
    offset: Count | None = Field(
        default=None, description="Bytes of the range to skip; what follows is cut to the budget."
    )


class LineRange(Wire):
    """Lines of a file, and how many of their bytes to skip."""

    start_line: Count
    end_line: Count
    offset: Count | None = None


class RangeHint(Wire):
    """More was asked for than a tool result may hold."""

    path: str
    bytes: Count = Field(description="Size of the whole file.")
    lines: Count = Field(description="Lines of the whole file.")
    budget_bytes: Count = Field(description="What one answer may hold.")
    reason: Literal["overBudget", "lineTooLong"] = Field(
        description="`lineTooLong`: the first line alone is more; read it by `offset`."
    )
    suggestion: LineRange = Field(description="The longest range from the same line on that fits.")


class WorkspaceReadFileResult(Wire):
    """Lines of a file as it is now, or a hint where they are too many."""

    content: str | None = Field(default=None, description="The lines, byte for byte; absent with a hint.")
    start_line: Count | None = None
    end_line: Count | None = None
    total_lines: Count | None = None
    digest: str | None = Field(default=None, description="`sha256:<hex>` of the whole file.")
    next: LineRange | None = Field(default=None, description="The exact next range; absent at the end.")
    lossy: bool | None = Field(default=None, description="True where bytes are no UTF-8; shown as U+FFFD.")
    changed: bool | None = Field(default=None, description="True where it was being written meanwhile.")
    in_context: bool | None = Field(
        default=None, description="Whether the model view shows the whole file just as it is now."
    )
    since: str | None = Field(default=None, description="Id of the message that shows it.")
    range_hint: RangeHint | None = None


class FileChange(Wire):
    """What became of a file that some session touched."""

    path: str = Field(description="Relative to the workspace.")
    change: Literal["added", "modified", "deleted", "moved"]
    moved_to: str | None = Field(default=None, description="Where a file that moved is now, where known.")


class WorkspaceDidChangeFilesParams(Wire):
    """`workspace/didChangeFiles`: files that some session touched are others now."""

    workspace: str = Field(description="URI of the workspace.")
    changes: list[FileChange]
