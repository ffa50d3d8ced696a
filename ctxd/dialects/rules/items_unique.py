"""Law (Responses): an item's id is in a request once.

"Duplicate item found with id rs_… . Remove duplicate items from your input and try again." Items without
an id, as hosts that let nothing be stored send them, ask nothing; a reference counts as the item itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Violation


class ItemsUnique:
    """A second item of one id is refused: whether it is the same said again or another, nobody else can tell.

    When a list is mended an item that is the same as the first is left out, another goes without its id.
    """

    name = "duplicateItem"
    refuses = True

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [
            Violation(self.name, index, f"item id {messages[index].item} is used a second time", "refuse")
            for index in self.repeats(messages)
        ]

    def repeats(self, messages: Sequence[MessageView]) -> dict[int, int]:
        """Every item but the first of its id, with the place of that first."""
        first: dict[str, int] = {}
        found: dict[int, int] = {}
        for index, message in enumerate(messages):
            if message.item and first.setdefault(message.item, index) != index:
                found[index] = first[message.item]
        return found
