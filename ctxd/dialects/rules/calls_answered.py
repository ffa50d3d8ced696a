"""Law: every call is answered, and a tool turn is one atom (reports A.5, A.8, A.9, A.10)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ctxd.dialects.rules.pairing import Layout, pair
from ctxd.model.blocks import MessageView, Violation


class CallsAnswered:
    """Every call has a result; calls and all their results stay together, however many they are.

    Unanswered calls of the newest assistant turn with nothing behind them but results are pending,
    which is no violation. Older ones get a stub.
    """

    name = "unansweredCall"
    refuses = False

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def cut_points(self, messages: Sequence[MessageView]) -> set[int]:
        """Nowhere between the first message of a span that calls and the last that answers it.

        A result that came late stretches its atom; a second result belongs to the atom too.
        """
        pairing = pair(messages, self._layout)
        atoms: dict[int, tuple[int, int]] = {}
        for call in pairing.calls:
            atoms.setdefault(call.span, (call.index, pairing.spans[call.span].end - 1))
        for answer in pairing.answers:
            if answer.span in atoms:
                start, last = atoms[answer.span]
                atoms[answer.span] = (start, max(last, answer.index))
        steps = [0] * (len(messages) + 2)
        for start, last in atoms.values():
            steps[start + 1] += 1
            steps[last + 1] -= 1
        depth = list(accumulate(steps))
        return {index for index in range(len(messages) + 1) if not depth[index]}

    def violations(self, messages: Sequence[MessageView]) -> list[Violation]:
        pairing = pair(messages, self._layout)
        return [
            Violation(self.name, call.index, f"call {call.call.call_id} has no result", "synthesize")
            for call in pairing.unanswered
            if call.span != pairing.pending
        ]
