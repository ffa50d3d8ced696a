"""Law: the newest assistant tool loop keeps its thinking (reports A.12, A.13).

Anthropic: "a final assistant message must start with a thinking block (preceding the lastmost set of
tool_use and tool_result blocks)", and thinking there must be as it was given. The loop is everything
behind the last user message that holds more than results; older thinking may go, whole messages at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Reasoning, Violation


class ToolLoop:
    """No cut inside the newest loop may leave its rest without the thinking that opens it.

    A model that thinks before every call leaves places to cut: in front of each message that begins
    with signed thinking the rest is a whole loop by itself. One that thought once, at the start, leaves none.
    """

    name = "toolLoop"
    refuses = False

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        points = everywhere(messages)
        start = _loop_start(messages)
        thought = False
        last_call = max((i for i, m in enumerate(messages) if m.calls), default=-1)
        for index in range(start, len(messages)):
            if thought and index <= last_call and not _opens_with_thinking(messages[index]):
                points.discard(index)
            thought = thought or _is_signed(messages[index])
        return points

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        """None: whether thinking is missing can't be seen in a list, since it may have been off."""
        return []


def _loop_start(messages: Sequence[MessageView]) -> int:
    """Index behind the last message in which a person speaks."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].is_user_turn:
            return index + 1
    return 0


def _is_signed(message: MessageView) -> bool:
    return any(isinstance(block, Reasoning) and block.signed for block in message.blocks)


def _opens_with_thinking(message: MessageView) -> bool:
    first = message.blocks[0] if message.blocks else None
    return message.role == "assistant" and isinstance(first, Reasoning) and first.signed
