"""Law: call ids are unique.

Anthropic and Responses: over the whole request ("tool_use ids must be unique"). Chat: within one message,
since several servers count their ids anew in every message. Gemini: within one turn, since calls there
need no id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from ctxd.dialects.rules.site import Site, everywhere
from ctxd.model.blocks import MessageView, ToolCall, Violation

Scope: TypeAlias = Literal["request", "turn", "message"]
"""Where an id may be used once: a turn is a run of assistant messages."""


class CallsUnique:
    """A second call of one id is refused: which result is whose could not be told any more.

    When a list is mended the first call stays.
    """

    name = "duplicateCall"
    refuses = True

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [Violation(self.name, s.index, s.detail, "refuse") for s in self.unsendable(messages)]

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]:
        """Every call but the first of its id."""
        found: list[Site] = []
        seen: set[str] = set()
        for index, message in enumerate(messages):
            if self._scope == "turn" and message.role != "assistant":
                seen = set()
            if message.role != "assistant" or not message.calls:
                continue
            if self._scope == "message":
                seen = set()
            for block, call in enumerate(message.blocks):
                if not isinstance(call, ToolCall):
                    continue
                if call.call_id in seen:
                    found.append(Site(index, block, f"call id {call.call_id} is used a second time"))
                seen.add(call.call_id)
        return found
