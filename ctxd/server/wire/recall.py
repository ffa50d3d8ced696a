"""`recall/*`: what left the view, fetched back (protocol.md, section 4). Offsets are in the stored form."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ctxd.server.wire.base import Count, SessionId, SessionParams, Wire


class RecallFetchParams(SessionParams):
    """Parameters of `recall/fetch`: one of three ids, and at most one way to say which part."""

    tool_call_id: str | None = None
    digest: str | None = Field(default=None, description="`sha256:<hex>` of the stored form.")
    message_id: str | None = None
    occurrence: Count | None = Field(
        default=None, description="Which owner of a reused id, 0-based, oldest first."
    )
    page: int | None = Field(default=None, description="0-based; clamped to what there is.")
    offset: Count | None = Field(default=None, description="First byte.")
    length: int | None = Field(default=None, ge=1, description="How many bytes.")
    start_line: int | None = Field(default=None, ge=1, description="First line, 1-based.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, included.")


class RecallNext(Wire):
    """Parameters of the exact next `recall/fetch`."""

    session_id: SessionId
    tool_call_id: str | None = None
    digest: str | None = None
    message_id: str | None = None
    occurrence: Count | None = None
    page: Count | None = None
    offset: Count | None = None
    length: Count | None = None
    start_line: Count | None = None
    end_line: Count | None = None


class RecallCandidate(Wire):
    """One owner of a reused tool call id."""

    occurrence: Count = Field(description="0-based, oldest first.")
    message_id: str
    digest: str
    bytes: Count
    tool_name: str


class RecallFetchResult(Wire):
    """A part of what was stored."""

    status: Literal["ok"] = "ok"
    content: str
    encoding: Literal["utf-8", "base64"]
    page: Count = Field(description="0-based.")
    pages: Count
    total_bytes: Count = Field(description="Length of the whole stored form, bytes.")
    digest: str = Field(description="`sha256:<hex>` of the whole stored form.")
    tool_name: str
    redactions: Count = Field(description="Secrets that were cut out before it was stored.")
    next: RecallNext | None = Field(default=None, description="The next call; absent on the last page.")
    candidates: list[RecallCandidate] | None = Field(
        default=None, description="All owners, when the id was reused and no `occurrence` was given."
    )


class RecallListParams(SessionParams):
    """Parameters of `recall/list`."""

    after: str | None = Field(default=None, description="`next` of the page before.")
    limit: int | None = Field(default=None, ge=1, description="At most so many entries.")


class RecallEntry(Wire):
    """A tool output that can be fetched."""

    tool_call_id: str
    tool_name: str
    turn: Count = Field(description="0 is the first user turn.")
    bytes: Count = Field(description="Length of its stored form.")
    digest: str
    in_context: bool = Field(description="Whether the model view still shows it whole.")
    target: str | None = Field(default=None, description="What its call was about: a path, a command.")


class RecallListResult(Wire):
    """A page of what can be fetched, oldest first."""

    entries: list[RecallEntry]
    next: str | None = Field(default=None, description="`after` of the next page; absent on the last.")


class RecallSearchParams(SessionParams):
    """Parameters of `recall/search`."""

    query: str = Field(min_length=1, max_length=4000, description="Words to look for.")
    tool_name: str | None = Field(default=None, description="Only outputs of this tool.")
    tool_call_id: str | None = Field(
        default=None, description="Only inside the output of this call; the hits are its best places."
    )
    digest: str | None = Field(default=None, description="Only inside the output with this digest.")
    occurrence: Count | None = Field(default=None, description="For a reused call id: which owner.")
    limit: int | None = Field(default=None, ge=1, le=100, description="At most so many hits; 10 when absent.")


class RecallHit(Wire):
    """An output that matches."""

    tool_call_id: str
    digest: str
    page: Count = Field(description="The page of `recall/fetch` on which the words stand closest together.")
    line: Count = Field(description="The line they stand in, from 1.")
    offset: Count = Field(description="The byte from which `recall/fetch` brings the words and what follows.")
    snippet: str = Field(description="The words around the match.")
    score: float = Field(description="Higher is better; comparable within one answer.")
    occurrence: Count | None = Field(default=None, description="For a reused id: which owner.")


class RecallSearchResult(Wire):
    """Hits, best first."""

    hits: list[RecallHit]
