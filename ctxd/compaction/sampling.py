"""How often and with what a model is asked: three samples in all, whatever goes wrong (E §6.5).

Without IO: `Sampling` says what to do next, its driver does it and feeds back what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from ctxd.compaction import summary_prompt, summary_reply
from ctxd.compaction.summary_prompt import Input, Prompt, Source
from ctxd.dialects.overflow import ProviderError, is_exhausted, recognise
from ctxd.model.summary import SessionSummary

MAX_SAMPLES = 3

MAX_DELAY_MS = 8_000
"""Pauses double up to this, and three quarters of one are waited: 375 and 750 ms (E §6.5)."""

UNKNOWN_WINDOW_BUDGET = 24_000
"""Tokens a prompt may have where nobody knows the summariser's window."""

MARGIN = (10, 13)
"""The prompt is counted with the session's encoding; a summariser's own may need more."""

Trouble: TypeAlias = Literal["overflow", "transient", "fatal", "timeout", "declined", "unavailable", "gone"]
"""`overflow`: the input must shrink; `transient`: the same may work later; `fatal`: it will not;
`declined`: the host did not want it; `unavailable`: there is nobody to ask; `gone`: nor to tell."""

Failure: TypeAlias = Literal[
    "noSampler",
    "hostGone",
    "contextExhausted",
    "emptyExhausted",
    "invalidOutput",
    "transientExhausted",
    "deterministic",
]

_RETRYABLE = frozenset({408, 409, 425, 429})


class Ask(msgspec.Struct, frozen=True):
    """Ask the model, after `delay_ms`. `attempt` is 1-based; `max_tokens` is what its answer may have."""

    prompt: Prompt
    attempt: int
    delay_ms: int
    max_tokens: int


class Made(msgspec.Struct, frozen=True):
    """A summary that passed."""

    digest: SessionSummary


class GaveUp(msgspec.Struct, frozen=True):
    """No summary; the deterministic plan takes over. `counts` is false for what no breaker should count."""

    failure: Failure
    counts: bool = True


Step: TypeAlias = Ask | Made | GaveUp


class Sampling:
    """One summary, from the first question to its end.

    `attempts` are samples asked for, `reductions` the steps by which the input had to shrink.
    """

    def __init__(
        self,
        source: Source,
        *,
        window: int | None,
        max_output: int,
        retry_delay_ms: int,
        count: Callable[[str], int],
    ) -> None:
        """`window` is the summariser's, tokens, None for unknown; `max_output` tokens of an answer."""
        self.attempts = 0
        self.reductions = 0
        self._source = source
        self._count = count
        self._delay = retry_delay_ms
        self._retries = 0
        self._max_output = max_output
        budget, self._output = share(window, max_output)
        self._input: Input | None = Input()
        self._prompt = summary_prompt.render(source, Input())
        self._fit(budget)

    @property
    def unshown(self) -> frozenset[str]:
        """Ids of the messages that begin the units which the newest prompt left out."""
        units = self._source.units[: self._prompt.omitted]
        return frozenset(self._source.items[unit.start].entry.facts.id for unit in units)

    def begin(self) -> Step:
        """The first step."""
        return self._ask(0)

    def take_reply(self, text: str, *, is_text: bool, last: bool = False) -> Step:
        """The next step after an answer; after a `last` one nobody is asked again."""
        known = self._source.state.summary.decisions
        verdict = summary_reply.judge(
            text,
            source_chars=len(self._prompt.user),
            turn=summary_prompt.newest_turn(self._source),
            known=known,
            unseen=known[: len(known) - self._prompt.decisions],
            handles=summary_prompt.handles(self._source, self._prompt.omitted),
            is_text=is_text,
        )
        if verdict.digest is not None:
            return Made(verdict.digest)
        if last or self.attempts >= MAX_SAMPLES:
            return GaveUp("emptyExhausted" if verdict.flaw in ("empty", "notText") else "invalidOutput")
        return self._retry()

    def take_trouble(self, trouble: Trouble, limit: int = 0) -> Step:
        """The next step after a failure. `limit` is the context length an overflow named, 0 for none."""
        match trouble:
            case "unavailable":
                return GaveUp("noSampler", counts=False)
            case "gone":
                return GaveUp("hostGone", counts=False)
            case "declined":
                return GaveUp("deterministic", counts=False)
            case "fatal":
                return GaveUp("deterministic")
            case "overflow":
                return self._shrink(limit)
            case "transient" | "timeout":
                return self._retry() if self.attempts < MAX_SAMPLES else GaveUp("transientExhausted")

    def _shrink(self, limit: int) -> Step:
        """One step smaller, or as many as a named limit needs; asked again at once (E §6.5)."""
        if self.attempts >= MAX_SAMPLES:
            return GaveUp("contextExhausted")
        self._reduce()
        if limit:
            budget, self._output = share(limit, self._max_output)
            self._fit(budget)
        return self._ask(0)

    def _fit(self, budget: int) -> None:
        while self._input is not None and self._size() > budget:
            self._reduce()

    def _size(self) -> int:
        return self._count(self._prompt.system) + self._count(self._prompt.user)

    def _reduce(self) -> None:
        """One step smaller; no input is left where there is none."""
        if self._input is None:
            return
        self._input = summary_prompt.reduce(self._source, self._input)
        if self._input is not None:
            self._prompt = summary_prompt.render(self._source, self._input)
            self.reductions += 1

    def _retry(self) -> Step:
        delay = min(self._delay * 2**self._retries, MAX_DELAY_MS) * 3 // 4
        self._retries += 1
        return self._ask(delay)

    def _ask(self, delay_ms: int) -> Step:
        if self._input is None:
            return GaveUp("contextExhausted")
        self.attempts += 1
        return Ask(self._prompt, self.attempts, delay_ms, self._output)


def share(window: int | None, max_output: int) -> tuple[int, int]:
    """Tokens of a summariser's window for prompt and answer; the answer never takes more than half."""
    if not window:
        return UNKNOWN_WINDOW_BUDGET, max_output
    output = min(max_output, window // 2)
    return (window - output) * MARGIN[0] // MARGIN[1], output


def trouble_of(error: ProviderError) -> tuple[Trouble, int]:
    """What a provider's error means for a sample (E §6.5), and the context length it named, 0 for none.

    Worth another try are 408, 409, 425, 429, 5xx and what has no status; money and quota never are.
    """
    found = recognise(error)
    if found.kind == "overflow":
        return "overflow", found.limit
    if is_exhausted(error):
        return "fatal", 0
    if found.kind == "rateLimit" or error.status is None:
        return "transient", 0
    return ("transient" if error.status in _RETRYABLE or error.status >= 500 else "fatal"), 0
