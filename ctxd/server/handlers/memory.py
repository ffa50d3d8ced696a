"""`memory/*`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import memory as wire
from ctxd.server.wire.base import Empty
from ctxd.service.homes import workspace_path
from ctxd.service.memory import access, recollection
from ctxd.service.registry import Registry

SEARCH_LIMIT = 8
"""Hits when the host names no limit."""


async def read_index(
    registry: Registry, params: wire.MemoryIndexParams, call: Call
) -> wire.MemoryIndexResult:
    found = await access.index(registry.environment, workspace_path(params.workspace))
    return wire.MemoryIndexResult(
        text=found.text,
        lines=len(found.text.split("\n")) if found.text else 0,
        omitted_lines=found.omitted_lines,
        bytes=len(found.text.encode()),
        tokens=found.tokens,
        omitted=[
            wire.MemoryOmission(
                first=run.first,
                last=run.last,
                bytes=run.bytes,
                since=run.since or None,
                until=run.until or None,
            )
            for run in found.omitted
        ]
        or None,
        omitted_topics=list(found.topics_omitted) or None,
    )


async def list_topics(registry: Registry, params: wire.MemoryListParams, call: Call) -> wire.MemoryListResult:
    found = await access.list_topics(registry.environment, workspace_path(params.workspace))
    return wire.MemoryListResult(
        topics=[wire.MemoryTopic(name=t.name, bytes=t.bytes, modified_at=t.modified_at) for t in found]
    )


async def read_topic(registry: Registry, params: wire.MemoryReadParams, call: Call) -> wire.MemoryReadResult:
    found = await access.read(registry.environment, workspace_path(params.workspace), params.topic)
    return wire.MemoryReadResult(
        text=found.text,
        digest=found.digest,
        entries=[
            wire.MemoryEntry(
                line=entry.line,
                written_at=entry.at,
                author=entry.source.author,
                session_id=entry.source.session_id or None,
                message_id=entry.source.message_id or None,
                superseded=entry.replaced or None,
            )
            for entry in found.entries
        ]
        or None,
    )


async def write_topic(
    registry: Registry, params: wire.MemoryWriteParams, call: Call
) -> wire.MemoryWriteResult:
    done = await access.write(
        registry.environment,
        workspace_path(params.workspace),
        params.topic,
        params.content,
        mode=params.mode,
        if_digest=params.if_digest,
    )
    room = done.headroom
    return wire.MemoryWriteResult(
        digest=done.digest,
        headroom=wire.MemoryHeadroom(lines=room.lines, bytes=room.bytes, tokens=room.tokens),
        duplicates=done.duplicates or None,
        superseded=done.replaced or None,
    )


async def delete_topic(registry: Registry, params: wire.MemoryDeleteParams, call: Call) -> Empty:
    await access.delete(registry.environment, workspace_path(params.workspace), params.topic)
    return Empty()


async def search_memory(
    registry: Registry, params: wire.MemorySearchParams, call: Call
) -> wire.MemorySearchResult:
    workspace = workspace_path(params.workspace)
    hits = await recollection.search(
        registry.environment, workspace, params.query, params.limit or SEARCH_LIMIT
    )
    return wire.MemorySearchResult(
        hits=[
            wire.MemoryHit(
                kind=hit.kind,
                name=hit.name,
                text=hit.text,
                score=hit.score,
                session_id=hit.session_id or None,
            )
            for hit in hits
        ],
        text=recollection.shown(hits) or None,
    )
