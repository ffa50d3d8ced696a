"""`workspace/*`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import workspace as wire
from ctxd.service.files import touching
from ctxd.service.files.reads import read_file
from ctxd.service.registry import Registry
from ctxd.workspace.ranges import Over, Range

LISTED = 5
"""Files listed when neither the host nor the options say how many."""


async def touch_file(registry: Registry, params: wire.WorkspaceTouchParams, call: Call | None) -> None:
    await touching.touch(registry.get(params.session_id), params.path, params.op)


async def list_recent_files(
    registry: Registry, params: wire.WorkspaceRecentFilesParams, call: Call
) -> wire.WorkspaceRecentFilesResult:
    session = registry.get(params.session_id)
    session.refresh()
    limit = params.limit or registry.environment.settings.workspace.restore_files or LISTED
    found = await touching.recent_files(session, limit)
    return wire.WorkspaceRecentFilesResult(
        files=[
            wire.RecentFile(
                path=file.path,
                op=file.op,
                accessed_at=file.accessed_at,
                changed_since=file.freshness == "changed",
                freshness=file.freshness,
            )
            for file in found.files
        ],
        rejected=[wire.RefusedFile(path=file.path, reason=file.reason) for file in found.rejected],
    )


async def read_lines(
    registry: Registry, params: wire.WorkspaceReadFileParams, call: Call
) -> wire.WorkspaceReadFileResult:
    session = registry.get(params.session_id)
    session.refresh()
    found = await read_file(session, params.path, params.start_line, params.end_line, offset=params.offset)
    if isinstance(found, Over):
        return wire.WorkspaceReadFileResult(
            range_hint=wire.RangeHint(
                path=found.path,
                bytes=found.size,
                lines=found.total,
                budget_bytes=found.budget,
                reason=found.reason,
                suggestion=_range(found.suggestion),
            )
        )
    lines = found.lines
    return wire.WorkspaceReadFileResult(
        content=lines.text,
        start_line=lines.range.start,
        end_line=lines.range.end,
        total_lines=lines.total,
        digest=lines.digest,
        next=_range(lines.next) if lines.next else None,
        lossy=lines.lossy or None,
        changed=lines.torn or None,
        in_context=found.seen.in_context,
        since=found.seen.since if found.seen.in_context else None,
    )


def _range(lines: Range) -> wire.LineRange:
    return wire.LineRange(start_line=lines.start, end_line=lines.end, offset=lines.offset)
