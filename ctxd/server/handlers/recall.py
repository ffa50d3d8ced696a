"""`recall/*`."""

from __future__ import annotations

from ctxd.server.calls import Call
from ctxd.server.wire import recall as wire
from ctxd.service.recall import fetching, searching
from ctxd.service.recall.stored_form import Part
from ctxd.service.registry import Registry

LIST_LIMIT = 500
"""Entries of a page when the host names no limit."""

SEARCH_LIMIT = 10
"""Hits when the host names no limit."""


async def fetch(registry: Registry, params: wire.RecallFetchParams, call: Call) -> wire.RecallFetchResult:
    session = registry.get(params.session_id)
    session.refresh()
    part = Part(
        page=params.page,
        offset=params.offset,
        length=params.length,
        start_line=params.start_line,
        end_line=params.end_line,
    )
    handle = fetching.Handle(
        tool_call_id=params.tool_call_id or "",
        digest=params.digest or "",
        message_id=params.message_id or "",
        occurrence=params.occurrence,
    )
    fetched = await fetching.fetch(session, registry.shelf, part, handle)
    found = fetched.found
    return wire.RecallFetchResult(
        content=fetched.content,
        encoding="utf-8" if fetched.encoding == "utf-8" else "base64",
        page=fetched.page,
        pages=fetched.pages,
        total_bytes=fetched.total_bytes,
        digest=fetched.digest,
        tool_name=found.tool_name,
        redactions=len(found.redacted),
        next=_next(params, fetched),
        candidates=[
            wire.RecallCandidate(
                occurrence=c.occurrence,
                message_id=c.message_id,
                digest=c.digest,
                bytes=c.bytes,
                tool_name=c.tool_name,
            )
            for c in found.candidates
        ]
        or None,
    )


async def list_outputs(
    registry: Registry, params: wire.RecallListParams, call: Call
) -> wire.RecallListResult:
    session = registry.get(params.session_id)
    session.refresh()
    entries, more = fetching.listing(session, params.after, params.limit or LIST_LIMIT)
    return wire.RecallListResult(
        entries=[
            wire.RecallEntry(
                tool_call_id=e.tool_call_id,
                tool_name=e.tool_name,
                target=e.target or None,
                turn=e.turn,
                bytes=e.bytes,
                digest=e.digest,
                in_context=e.in_context,
            )
            for e in entries
        ],
        next=more,
    )


async def search(registry: Registry, params: wire.RecallSearchParams, call: Call) -> wire.RecallSearchResult:
    session = registry.get(params.session_id)
    session.refresh()
    within: tuple[str, str] | None = None
    if params.tool_call_id or params.digest:
        handle = fetching.Handle(
            tool_call_id=params.tool_call_id or "", digest=params.digest or "", occurrence=params.occurrence
        )
        found = fetching.find(session.state, handle)
        within = found.facts.id, found.result.call_id if found.result else ""
    hits = await searching.search(
        session, params.query, tool=params.tool_name, limit=params.limit or SEARCH_LIMIT, within=within
    )
    return wire.RecallSearchResult(
        hits=[
            wire.RecallHit(
                tool_call_id=hit.tool_call_id,
                digest=hit.digest,
                page=hit.page,
                line=hit.line,
                offset=hit.offset,
                snippet=hit.snippet,
                score=hit.score,
                occurrence=hit.occurrence,
            )
            for hit in hits
        ]
    )


def _next(params: wire.RecallFetchParams, fetched: fetching.Fetched) -> wire.RecallNext | None:
    part = fetched.next
    if part is None:
        return None
    return wire.RecallNext(
        session_id=params.session_id,
        tool_call_id=params.tool_call_id,
        digest=params.digest,
        message_id=params.message_id,
        occurrence=fetched.found.occurrence,
        page=part.page,
        offset=part.offset,
        length=part.length,
        start_line=part.start_line,
        end_line=part.end_line,
    )
