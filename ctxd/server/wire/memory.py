"""`memory/*`: what is remembered of a workspace (protocol.md, section 6)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ctxd.server.wire.base import Count, Input, Wire

Uri = Annotated[str, Field(min_length=1, description="File URI of the workspace's folder.")]
TopicName = Annotated[
    str, Field(min_length=1, max_length=200, description="Name of a topic; `MEMORY` is the index.")
]
TextDigest = Annotated[str, Field(description="`sha256:<hex>` of the topic's bytes.")]


class WorkspaceParams(Input):
    """Parameters of a method about a workspace."""

    workspace: Uri


class MemoryIndexParams(WorkspaceParams):
    """Parameters of `memory/index`."""


class MemoryOmission(Wire):
    """Lines of the index file that are left out."""

    first: Count = Field(description="First line, 1-based.")
    last: Count = Field(description="Last line.")
    bytes: Count
    since: str | None = Field(default=None, description="Day of the oldest entry among them.")
    until: str | None = Field(default=None, description="Day of the newest entry among them.")


class MemoryIndexResult(Wire):
    """The index within its bounds. What it leaves out it names, in the text too."""

    text: str
    lines: Count = Field(description="Lines of `text`.")
    omitted_lines: Count = Field(description="Lines of the index file that are left out.")
    bytes: Count = Field(description="Bytes of `text`.")
    tokens: Count | None = Field(default=None, description="Tokens of `text`, by o200k.")
    omitted: list[MemoryOmission] | None = Field(default=None, description="Exactly which lines those are.")
    omitted_topics: list[str] | None = Field(default=None, description="Topics that are not listed.")


class MemoryListParams(WorkspaceParams):
    """Parameters of `memory/list`."""


class MemoryTopic(Wire):
    """A topic in a listing."""

    name: str
    bytes: Count
    modified_at: Count = Field(description="Milliseconds since 1970.")


class MemoryListResult(Wire):
    """All topics, the most recently changed first."""

    topics: list[MemoryTopic]


class MemoryReadParams(WorkspaceParams):
    """Parameters of `memory/read`."""

    topic: TopicName


class MemoryEntry(Wire):
    """A line that ctxd wrote, and where it comes from. Lines without one are a person's."""

    line: Count = Field(description="1-based.")
    written_at: Count = Field(description="Milliseconds since 1970.")
    author: Literal["user", "model", "host"] = Field(description="Whose words it is.")
    session_id: str | None = None
    message_id: str | None = Field(default=None, description="Where it was said.")
    superseded: bool | None = Field(default=None, description="True once a newer entry took its place.")


class MemoryReadResult(Wire):
    """A topic as it is now."""

    text: str
    digest: TextDigest
    entries: list[MemoryEntry] | None = Field(default=None, description="The newest 1,000 that ctxd wrote.")


class MemoryWriteParams(WorkspaceParams):
    """Parameters of `memory/write`."""

    topic: TopicName
    content: str
    mode: Literal["append", "overwrite"] = "append"
    if_digest: str | None = Field(
        default=None,
        description="Write only if the topic still has it; empty: only if there is none.",
    )


class MemoryHeadroom(Wire):
    """What may still be written before a bound is reached."""

    lines: Count
    bytes: Count
    tokens: Count


class MemoryWriteResult(Wire):
    """The topic as it was written."""

    digest: TextDigest
    headroom: MemoryHeadroom
    duplicates: Count | None = Field(default=None, description="Entries that were there already.")
    superseded: Count | None = Field(default=None, description="Older entries whose place these took.")


class MemoryDeleteParams(WorkspaceParams):
    """Parameters of `memory/delete`."""

    topic: TopicName


class MemorySearchParams(WorkspaceParams):
    """Parameters of `memory/search`."""

    query: str = Field(max_length=2_000)
    limit: int | None = Field(default=None, ge=1, le=200)


class MemoryHit(Wire):
    """An answer."""

    kind: Literal["topic", "episode"]
    name: str = Field(description="The topic, or the checkpoint of the episode.")
    text: str
    score: float = Field(description="Share of what was asked that it covers, 0 to 1.")
    session_id: str | None = None


class MemorySearchResult(Wire):
    """Answers, best first, newest first among equals; none where nothing known is asked for."""

    hits: list[MemoryHit]
    text: str | None = Field(
        default=None, description="The hits as a model may be shown them: quoted, as untrusted background."
    )
