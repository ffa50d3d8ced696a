"""Law: a call has one result (protocol.md section 10)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.pairing import Layout, pair
from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Violation


class ResultsSingle:
    """A second result of a call is left out if it repeats the first; one that differs is refused.

    Neither can be known to be the right one, so a list that is mended keeps the first.
    """

    name = "duplicateResult"
    refuses = True

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        found: list[Violation] = []
        for answer in pair(messages, self._layout).answers:
            if answer.repeats == "same":
                detail = f"result for {answer.call_id} was given before"
                found.append(Violation(self.name, answer.index, detail, "remove"))
            elif answer.repeats == "differing":
                detail = f"result for {answer.call_id} differs from the one given before"
                found.append(Violation(self.name, answer.index, detail, "refuse"))
        return found
