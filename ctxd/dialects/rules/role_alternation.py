"""Law (Gemini): user and model take turns, one content each.

Some endpoints join neighbouring contents of one role, others refuse them ("multiturn requests alternate
between user and model"), and all of them count the responses of the one content behind the calls ("the
number of function response parts is equal to the number of function call parts of the function call turn").
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Violation


class RoleAlternation:
    """Neighbouring contents of one role are joined, their parts as they are and in order.

    What is joined this way are the words of one side; no endpoint takes them for anything else.
    """

    name = "roleAlternation"
    refuses = False

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Everywhere: each side of a cut has a turn less to join."""
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [
            Violation(self.name, index, f"a second {message.role} content in a row", "merge")
            for index, message in enumerate(messages)
            if index and message.role == messages[index - 1].role
        ]
