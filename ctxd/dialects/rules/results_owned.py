"""Law: a result answers a call of the assistant turn it follows (reports A.2, A.3, A.4)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxd.dialects.rules.pairing import Layout, pair
from ctxd.dialects.rules.site import everywhere
from ctxd.model.blocks import MessageView, Violation


class ResultsOwned:
    """No result without a call, and none that comes after the model has gone on without it.

    Both are refused: the model view only grows at its end, and a late result would change its middle.
    When a list is mended, an orphan is left out and a late result is moved to its call.
    """

    name = "orphanResult"
    refuses = True

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        return everywhere(messages)

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        found: list[Violation] = []
        for answer in pair(messages, self._layout).answers:
            if answer.place == "nowhere":
                found.append(self._broken(answer.index, f"result for {answer.call_id}, which nobody called"))
            elif answer.place == "late" and not answer.repeats:
                detail = f"result for {answer.call_id} comes after another assistant message"
                found.append(self._broken(answer.index, detail))
        return found

    def _broken(self, index: int, detail: str) -> Violation:
        return Violation(self.name, index, detail, "refuse")
