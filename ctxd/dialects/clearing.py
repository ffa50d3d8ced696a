"""The extra member that asks Anthropic's API to clear old tool results itself; other dialects have none."""

from __future__ import annotations

from typing import Any

from ctxd.model.settings import ClearingOptions

EDIT_TYPE = "clear_tool_uses_20250919"


def clearing_payload(dialect: str, options: ClearingOptions) -> dict[str, Any] | None:
    """The value of the request's `context_management`; None where nothing is to be sent."""
    if not options.enabled or dialect != "anthropic":
        return None
    edit: dict[str, Any] = {"type": EDIT_TYPE, "keep": {"type": "tool_uses", "value": options.keep}}
    if options.trigger:
        edit["trigger"] = {"type": "input_tokens", "value": options.trigger}
    if options.clear_at_least:
        edit["clear_at_least"] = {"type": "input_tokens", "value": options.clear_at_least}
    if options.exclude_tools:
        edit["exclude_tools"] = list(options.exclude_tools)
    return {"edits": [edit]}
