"""How often and with what a model is asked: three samples in all, whatever goes wrong (E §6.5).

Without IO: `Sampling` says what to do next, its driver does it and feeds back what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from ctxd.compaction import summary_prompt, summary_reply
from ctxd.compaction.summary_prompt import Prompt, Source
from ctxd.model.summary import SessionSummary

MAX_SAMPLES = 3

Trouble: TypeAlias = Literal["overflow", "transient", "fatal", "timeout", "unavailable"]
Failure: TypeAlias = Literal[
    "noSampler", "contextExhausted", "emptyExhausted", "invalidOutput", "transientExhausted", "deterministic"
]


class Ask(msgspec.Struct, frozen=True):
    """Ask the model, after `delay_ms`. `attempt` is 1-based."""

    prompt: Prompt
    attempt: int
    delay_ms: int


class Made(msgspec.Struct, frozen=True):
    """A summary that passed."""

    digest: SessionSummary


class GaveUp(msgspec.Struct, frozen=True):
    """No summary; the deterministic plan takes over. `counts` is false for what no breaker should count."""

    failure: Failure
    counts: bool = True


Step: TypeAlias = Ask | Made | GaveUp


class Sampling:
    """One summary, from the first question to its end."""

    def __init__(
        self, source: Source, *, budget: int, retry_delay_ms: int, count: Callable[[str], int]
    ) -> None:
        """`budget` is what the prompt may have, tokens of the summariser's window."""
        self.attempts = 0
        self.reductions = 0
        self._source = source
        self._delay = retry_delay_ms
        self._retries = 0
        fitted = summary_prompt.fit(source, budget, count)
        self._input: summary_prompt.Input | None = None
        self._prompt: Prompt | None = None
        if fitted is not None:
            self._input, self._prompt, self.reductions = fitted

    def begin(self) -> Step:
        """The first step."""
        return self._ask(0) if self._prompt is not None else GaveUp("contextExhausted")

    def take_reply(self, text: str, *, is_text: bool) -> Step:
        """The next step after an answer."""
        assert self._prompt is not None
        verdict = summary_reply.judge(
            text,
            source_chars=len(self._prompt.user),
            turn=max(0, self._source.state.turn - 1),
            is_text=is_text,
        )
        if verdict.digest is not None:
            return Made(verdict.digest)
        if self.attempts >= MAX_SAMPLES:
            return GaveUp("emptyExhausted" if verdict.flaw in ("empty", "notText") else "invalidOutput")
        return self._retry()

    def take_trouble(self, trouble: Trouble) -> Step:
        """The next step after a failure."""
        match trouble:
            case "unavailable":
                return GaveUp("noSampler", counts=False)
            case "fatal":
                return GaveUp("deterministic")
            case "overflow":
                return self._shrink()
            case "transient" | "timeout":
                return self._retry() if self.attempts < MAX_SAMPLES else GaveUp("transientExhausted")

    def _shrink(self) -> Step:
        assert self._input is not None
        smaller = summary_prompt.reduce(self._source, self._input)
        if smaller is None or self.attempts >= MAX_SAMPLES:
            return GaveUp("contextExhausted")
        self._input = smaller
        self._prompt = summary_prompt.render(self._source, smaller)
        self.reductions += 1
        return self._ask(0)

    def _retry(self) -> Step:
        delay = min(self._delay * 2**self._retries, 8_000) * 3 // 4
        self._retries += 1
        return self._ask(delay)

    def _ask(self, delay_ms: int) -> Ask:
        assert self._prompt is not None
        self.attempts += 1
        return Ask(self._prompt, self.attempts, delay_ms)
