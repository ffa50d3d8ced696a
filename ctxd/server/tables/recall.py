"""What is no longer shown, fetched back."""

from __future__ import annotations

from ctxd.server.method import READ, Method, handled_by

METHODS = (
    Method(
        "recall/fetch",
        "recall.RecallFetchParams",
        "recall.RecallFetchResult",
        "Fetch a tool output or a message back, byte for byte, page by page.",
        handler=handled_by("recall", "fetch"),
        errors=(*READ, "notFound", "ambiguous", "corrupt", "expired"),
    ),
    Method(
        "recall/list",
        "recall.RecallListParams",
        "recall.RecallListResult",
        "List what can be fetched.",
        handler=handled_by("recall", "list_outputs"),
        errors=(*READ, "notFound"),
    ),
    Method(
        "recall/search",
        "recall.RecallSearchParams",
        "recall.RecallSearchResult",
        "Search all tool outputs ever stored, by words of what they printed and what they were about.",
        handler=handled_by("recall", "search"),
        errors=(*READ, "notFound", "ambiguous", "corrupt", "expired"),
    ),
)
