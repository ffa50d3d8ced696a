"""Law (Anthropic, Gemini): who may carry what.

Calls and thinking come from the assistant, results from the user, and a system message is text.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.site import Site, everywhere
from ctxd.model.blocks import (
    Block,
    Media,
    MessageView,
    Opaque,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Violation,
)


class BlockRoles:
    """A block in a message of the wrong role is refused: it says who did a thing, and says it wrongly."""

    name = "blockRole"
    refuses = True

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [Violation(self.name, s.index, s.detail, "refuse") for s in self.unsendable(messages)]

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]:
        """Every block its message's role may not carry."""
        return [
            Site(index, position, f"a {message.role} message can't hold a {_noun(block)}")
            for index, message in enumerate(messages)
            for position, block in enumerate(message.blocks)
            if type(block) not in _CARRIED[message.role]
        ]


_PLAIN: frozenset[type[Block]] = frozenset((Text, Media, Opaque))
_CARRIED: dict[Role, frozenset[type[Block]]] = {
    "system": frozenset((Text,)),
    "developer": _PLAIN,
    "user": _PLAIN | {ToolResult},
    "assistant": _PLAIN | {ToolCall, Reasoning},
    "tool": _PLAIN,
}


def _noun(block: Block) -> str:
    match block:
        case ToolCall():
            return "call"
        case ToolResult():
            return "result"
        case Reasoning():
            return "thinking block"
        case _:
            return "block of this type"
