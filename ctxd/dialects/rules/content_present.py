"""Law: nothing empty is sent (reports A.18; "text content blocks must be non-empty", "empty array")."""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.pairing import Layout
from ctxd.dialects.rules.site import WHOLE, Site, everywhere
from ctxd.dialects.shape import is_blank
from ctxd.model.blocks import MessageView, Opaque, Reasoning, Text, ToolResult, Violation

EMPTY_LIST = "[]"
"""`Opaque.json` of a list member without items, which chat servers refuse."""


class ContentPresent:
    """No blank text block, no blank text inside a result's list, no empty list, no message without content.

    A result whose whole content is an empty string is fine. A chat message of reasoning alone is empty
    ("content is required unless tool_calls is given"); elsewhere other laws see to that.
    """

    name = "emptyContent"
    refuses = False

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        sites = sorted((*self.unsendable(messages), *self.blank_inside(messages)), key=lambda s: s.index)
        return [Violation(self.name, site.index, site.detail, "remove") for site in sites]

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]:
        """Blank blocks, empty lists, and messages that hold nothing."""
        found: list[Site] = []
        for index, message in enumerate(messages):
            if not message.blocks:
                found.append(Site(index, WHOLE, "message without content"))
            elif self._layout == "rows" and all(isinstance(b, Reasoning) for b in message.blocks):
                found.append(Site(index, WHOLE, "message of reasoning alone"))
            for block, content in enumerate(message.blocks):
                match content:
                    case Text(text=text) if is_blank(text):
                        found.append(Site(index, block, "blank text"))
                    case Opaque(name=name, json=json) if json == EMPTY_LIST:
                        found.append(Site(index, block, f"empty list of {name}"))
                    case _:
                        pass
        return found

    def blank_inside(self, messages: Sequence[MessageView]) -> list[Site]:
        """Results with blank text blocks inside; the results themselves may stay."""
        return [
            Site(index, block, "blank text inside a result")
            for index, message in enumerate(messages)
            for block, content in enumerate(message.blocks)
            if isinstance(content, ToolResult) and content.blanks
        ]
