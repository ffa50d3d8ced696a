"""Law (Anthropic, Gemini): the first message is the user's.

Gemini: "function call turn comes immediately after a user turn or after a function response turn".
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Violation


class FirstMessage:
    """A list that begins with an assistant message gets a fixed user message in front."""

    name = "firstMessage"
    refuses = False

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Everywhere: whoever cuts puts a user message (summary, task) where the cut part was."""
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        if messages and messages[0].role == "assistant":
            return [Violation(self.name, 0, "the first message must be the user's", "synthesize")]
        return []
