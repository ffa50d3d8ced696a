"""Law: call ids are unique.

Anthropic: over the whole request ("tool_use ids must be unique"). Chat: within one message, since
several servers count their ids anew in every message.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.pairing import Layout
from ctxd.dialects.rules.site import Site, everywhere
from ctxd.model.blocks import MessageView, ToolCall, Violation


class CallsUnique:
    """A second call of one id is refused: which result is whose could not be told any more.

    When a list is mended the first call stays.
    """

    name = "duplicateCall"
    refuses = True

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [Violation(self.name, s.index, s.detail, "refuse") for s in self.unsendable(messages)]

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]:
        """Every call but the first of its id."""
        found: list[Site] = []
        seen: set[str] = set()
        for index, message in enumerate(messages):
            if message.role != "assistant" or not message.calls:
                continue
            if self._layout == "rows":
                seen = set()
            for block, call in enumerate(message.blocks):
                if not isinstance(call, ToolCall):
                    continue
                if call.call_id in seen:
                    found.append(Site(index, block, f"call id {call.call_id} is used a second time"))
                seen.add(call.call_id)
        return found
