"""`session/*`."""

from __future__ import annotations

from ctxd.model.errors import InvalidParams
from ctxd.server.calls import Call
from ctxd.server.handlers import shapes
from ctxd.server.handlers.guard import list_redacted
from ctxd.server.wire import sessions as wire
from ctxd.server.wire.base import Empty
from ctxd.service import opening, switching
from ctxd.service.intake import append
from ctxd.service.past import exporting, history, rewinding, seeking
from ctxd.service.registry import Registry
from ctxd.service.requests.rendering import Lost

HISTORY_LIMIT = 1000
"""Messages of a page when the host names no limit."""

SEARCH_LIMIT = 10
"""Hits when the host names no limit."""

EXPORT_CHARS = 8_000_000
"""An export longer than this is written to a file instead of into the answer."""


async def open_session(registry: Registry, params: wire.SessionOpenParams, call: Call) -> wire.SessionInfo:
    session = await registry.open(
        params.workspace,
        session_id=params.session_id,
        mode=params.mode,
        read_only=params.read_only,
        dialect=params.dialect,
        fixed=shapes.fixed(params),
    )
    return shapes.session_info(session)


async def update_session(
    registry: Registry, params: wire.SessionUpdateParams, call: Call
) -> wire.SessionInfo:
    session = registry.get(params.session_id)
    lost: list[Lost] = []
    switched = params.dialect if params.dialect != session.dialect.name else None
    async with session.lane:
        if switched is not None:
            lost = await switching.switch(session, switched, shapes.fixed(params))
        else:
            await opening.update(session, shapes.fixed(params))
    if switched is not None:
        session.environment.host.view_changed(session, "update")
    await session.look_up_window()
    return shapes.session_info(session, lost)


async def append_messages(
    registry: Registry, params: wire.SessionAppendParams, call: Call
) -> wire.SessionAppendResult:
    session = registry.get(params.session_id)
    check_meta(params.meta, len(params.messages))
    done = await append.append(
        session,
        params.messages,
        shapes.metas(params.meta, len(params.messages)),
        expected_revision=params.expected_revision,
        client_id=params.client_id or "",
    )
    registry.upkeep.begin(session, [size for _, _, size in done.spilled])
    return wire.SessionAppendResult(
        revision=done.revision,
        message_ids=list(done.message_ids),
        spilled=[
            wire.Spilled(message_id=mid, tool_call_id=call_id, bytes=size)
            for mid, call_id, size in done.spilled
        ],
        sanitized=[
            wire.Sanitized(message_id=mid, tool_call_id=call_id, kinds=list(kinds))
            for mid, call_id, kinds in done.sanitized
        ]
        or None,
        redacted=list_redacted(done.redacted),
        warnings=list(done.warnings),
        durable=session.log.durable,
    )


async def read_history(
    registry: Registry, params: wire.SessionHistoryParams, call: Call
) -> wire.SessionHistoryResult:
    session = registry.get(params.session_id)
    lines, more = await history.read(session, params.view, params.after, params.limit or HISTORY_LIMIT)
    return wire.SessionHistoryResult(
        messages=[
            wire.HistoryMessage(
                message_id=line.message_id,
                message=line.raw,
                hidden=line.hidden or None,
                fidelity=line.fidelity,
                handle=line.handle or None,
            )
            for line in lines
        ],
        next=more,
    )


async def list_sessions(
    registry: Registry, params: wire.SessionListParams, call: Call
) -> wire.SessionListResult:
    rows = await registry.rows(params.workspace)
    return wire.SessionListResult(sessions=[shapes.row_info(row) for row in rows])


async def close_session(registry: Registry, params: wire.SessionCloseParams, call: Call) -> Empty:
    await registry.close_session(params.session_id)
    return Empty()


async def search_messages(
    registry: Registry, params: wire.SessionSearchParams, call: Call
) -> wire.SessionSearchResult:
    if (params.session_id is None) == (params.workspace is None):
        raise InvalidParams.at("sessionId", "give either sessionId or workspace")
    limit = params.limit or SEARCH_LIMIT
    found: list[seeking.Said] = []
    for session in registry.chosen(params.session_id, params.workspace):
        session.refresh()
        found += await seeking.search(session, params.query, limit)
    found.sort(key=lambda hit: -hit.score)
    return wire.SessionSearchResult(
        hits=[
            wire.SessionHit(
                session_id=hit.session_id,
                message_id=hit.message_id,
                role=hit.role,
                snippet=hit.snippet,
                score=hit.score,
            )
            for hit in found[:limit]
        ]
    )


async def fork_session(registry: Registry, params: wire.SessionForkParams, call: Call) -> wire.SessionInfo:
    return shapes.session_info(await registry.fork(params.session_id, params.at))


async def rewind_session(
    registry: Registry, params: wire.SessionRewindParams, call: Call
) -> wire.RewindReport:
    session = registry.get(params.session_id)
    done = await rewinding.rewind(session, params.to, params.mode, dry_run=params.dry_run)
    return wire.RewindReport(
        to=done.to,
        applied=done.applied,
        messages=done.messages,
        checkpoints=done.checkpoints,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        preview=done.preview,
        files=[wire.FileChange(path=change.path, action=change.action) for change in done.files],
        revision=session.state.revision,
        generation=session.state.generation,
    )


async def export_session(
    registry: Registry, params: wire.SessionExportParams, call: Call
) -> wire.SessionExportResult:
    session = registry.get(params.session_id)
    if params.dialect is not None and params.format != "native":
        raise InvalidParams.at("dialect", "only native messages are of a dialect", hint="format native")
    made = await exporting.export(session, params.format, params.dialect)
    losses = shapes.losses(made.lost)
    if len(made.content) <= EXPORT_CHARS:
        return wire.SessionExportResult(content=made.content, losses=losses)
    path = await registry.keep_export(session, params.format, made.content)
    return wire.SessionExportResult(path=path, losses=losses)


async def delete_session(registry: Registry, params: wire.SessionDeleteParams, call: Call) -> Empty:
    await registry.delete_session(params.session_id)
    return Empty()


async def check_health(registry: Registry, params: wire.SessionHealthParams, call: Call) -> wire.Health:
    session = registry.get(params.session_id)
    session.refresh()
    return shapes.health(session)


def check_meta(meta: list[wire.MessageMeta | None] | None, count: int) -> None:
    """Raises InvalidParams when `meta` is not as long as `messages`."""
    if meta is not None and len(meta) != count:
        raise InvalidParams.at("meta", f"expected {count} entries, one per message", hint="null for none")
