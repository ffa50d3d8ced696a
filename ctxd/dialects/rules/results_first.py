"""Law: results stand directly behind their calls.

Anthropic: tool_result blocks come first in the user turn that answers ("tool_use ids were found without
tool_result blocks immediately after"). Chat: tool messages directly follow the assistant message.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.pairing import Layout, pair
from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Violation


class ResultsFirst:
    """A result behind other content of its own turn is moved in front of it.

    That happens when a person writes while tools run; the model has not seen that turn yet.
    """

    name = "resultOrder"
    refuses = False

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Everywhere: the atom of `unansweredCall` already reaches to the last result."""
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [
            Violation(
                self.name, answer.index, f"result for {answer.call_id} stands behind other content", "merge"
            )
            for answer in pair(messages, self._layout).answers
            if answer.place == "behind" and not answer.repeats
        ]
