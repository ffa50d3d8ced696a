"""Law (Responses): reasoning and what it led to are sent together or not at all.

"Item of type 'reasoning' was provided without its required following item" and its counterpart,
"was provided without its required 'reasoning' item". What a response brought forth behind its
reasoning is bound to it, parallel calls included.
"""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.last_thinking import trailing_thinking
from ctxd.dialects.rules.pairing import divide
from ctxd.dialects.rules.site import Site, everywhere
from ctxd.model.blocks import MessageView, Reasoning, Violation


class ReasoningBound:
    """Reasoning that nothing of its response followed is left out; what followed cannot be cut from it."""

    name = "reasoningBound"
    refuses = False

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Not inside a run of the assistant's items behind reasoning, but where new reasoning begins."""
        points = everywhere(messages)
        for span in divide(messages, "items"):
            thought = bound = False
            for index in range(span.first, span.end):
                thinks = _is_reasoning(messages[index])
                if bound and (thought or not thinks):
                    points.discard(index)
                bound = bound or thinks
                if messages[index].blocks:  # an empty message parts nothing
                    thought = thinks
        return points

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [Violation(self.name, s.index, s.detail, "remove") for s in self.unsendable(messages)]

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]:
        """The reasoning behind the last other item of its run."""
        return [
            site
            for span in divide(messages, "items")
            for site in trailing_thinking(messages, span, "reasoning without what it led to")
        ]


def _is_reasoning(message: MessageView) -> bool:
    return bool(message.blocks) and all(isinstance(block, Reasoning) for block in message.blocks)
