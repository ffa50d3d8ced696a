"""Law (Anthropic): an assistant turn does not end in thinking ("the final block cannot be `thinking`")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxd.dialects.rules.pairing import Span, divide
from ctxd.dialects.rules.site import Site, everywhere
from ctxd.model.blocks import MessageView, Reasoning, Violation


class LastThinking:
    """Thinking that nothing followed (a cut-off answer) is left out; no block that stays is changed."""

    name = "lastThinking"
    refuses = False

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Not behind a message that ends in thinking while its turn goes on."""
        points = everywhere(messages)
        for span in divide(messages, "turns"):
            thinking = False
            for index in range(span.first, span.end - 1):
                if messages[index].blocks:  # an empty message ends nothing
                    thinking = isinstance(messages[index].blocks[-1], Reasoning)
                if thinking:
                    points.discard(index + 1)
        return points

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        return [Violation(self.name, s.index, s.detail, "remove") for s in self.unsendable(messages)]

    def unsendable(self, messages: Sequence[MessageView]) -> list[Site]:
        """The thinking blocks behind the last other block of their turn."""
        return [
            site
            for span in divide(messages, "turns")
            for site in trailing_thinking(messages, span, "thinking that nothing follows")
        ]


def trailing_thinking(messages: Sequence[MessageView], turn: Span, detail: str) -> list[Site]:
    """The thinking at the end of an assistant turn, in order."""
    return list(_backwards(messages, turn, detail))[::-1]


def _backwards(messages: Sequence[MessageView], turn: Span, detail: str) -> Iterator[Site]:
    for index in range(turn.end - 1, turn.first - 1, -1):
        blocks = messages[index].blocks
        for position in range(len(blocks) - 1, -1, -1):
            if not isinstance(blocks[position], Reasoning):
                return
            yield Site(index, position, detail)
