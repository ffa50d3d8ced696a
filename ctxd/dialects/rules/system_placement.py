"""Law (Anthropic): where a system message may stand among the messages.

Provider document "Mid-conversation system messages": never first, directly behind a user message or an
assistant message that ends in a server tool use, last or before an assistant message, never two in a row.
Models that don't know the role refuse it wherever it stands; that is the host's choice of model.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.pairing import Span, divide
from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Opaque, Violation


class SystemPlacement:
    """A system message ends a user turn.

    One that stands elsewhere is moved to the end of its turn and joined with others there. While its
    turn has no user message it is left out of the request.
    """

    name = "systemPlacement"
    refuses = False

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Everywhere but right before a system message."""
        return {i for i in everywhere(messages) if not 0 < i < len(messages) or messages[i].role != "system"}

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        found: list[Violation] = []
        for turn in user_turns(messages):
            carried = is_carried(messages, turn)
            for index in range(turn.end, turn.stop):
                if messages[index].role == "system" and not _fits(messages, turn, index, carried=carried):
                    detail = "a system message must end a user turn"
                    found.append(Violation(self.name, index, detail, "merge" if carried else "remove"))
        return found


def user_turns(messages: Sequence[MessageView]) -> list[Span]:
    """All runs without assistant messages (`end`..`stop`), each with the assistant turn before it."""
    spans = list(divide(messages, "turns"))
    head = spans[0].first if spans else len(messages)
    return [Span(0, 0, head), *spans]


def is_carried(messages: Sequence[MessageView], turn: Span) -> bool:
    """True when the turn may end in a system message: it has a user message, or follows a server tool use."""
    if any(messages[index].role == "user" for index in range(turn.end, turn.stop)):
        return True
    return turn.end > turn.first and _ends_in_server_tool(messages[turn.end - 1])


def _fits(messages: Sequence[MessageView], turn: Span, index: int, *, carried: bool) -> bool:
    alone = index == turn.end or messages[index - 1].role != "system"
    return carried and alone and index == turn.stop - 1


def _ends_in_server_tool(message: MessageView) -> bool:
    last = message.blocks[-1] if message.blocks else None
    return isinstance(last, Opaque) and last.name.endswith(("_tool_use", "_tool_result"))
