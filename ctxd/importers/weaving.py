"""Putting single messages together into steps, whatever their shape.

Owns the order of a conversation: a response comes before its results, every result answers a call of
the response before it, once. Must not know a file format or what a message looks like inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ctxd.importers.steps import Boundary, Message, NoteTaker, Response, Results, Step, UserInput

OPENING = "[The recording begins here; what was said before is not in it.]"
"""Stands for the user input in front of a recording that begins with a response."""


class Weaver:
    """Steps out of messages in the order in which they were recorded.

    `opening` is put before a recording that begins with a response, for dialects that must begin with
    the user. `join` makes one message of the results of a response where the dialect wants one.
    Noted: `openedWithoutUser`, `orphanResult`, `duplicateResult`.
    """

    def __init__(
        self,
        notes: NoteTaker,
        *,
        opening: Message | None = None,
        join: Callable[[list[Message]], Message] | None = None,
    ) -> None:
        self._notes = notes
        self._opening = opening
        self._join = join
        self._open: set[str] = set()
        self._answered: set[str] = set()
        self._run: list[Message] = []
        self._line = 0
        self._results = False
        self._spoken = False
        self._started = False

    def take_user(self, line: int, *messages: Message) -> Iterator[Step]:
        """What a person said; ends the results of the response before."""
        if self._results:
            yield from self._end_run()
        self._open = set()
        self._extend(line, messages)

    def take_response(
        self,
        line: int,
        messages: Iterable[Message],
        calls: Iterable[str],
        *,
        model: str = "",
        usage: dict[str, Any] | None = None,
        prompt: int | None = None,
        completion: int | None = None,
    ) -> Iterator[Step]:
        """One answer of the model, whole, with the ids of its calls. Sizes in tokens."""
        yield from self._end_run()
        if not self._started and self._opening is not None:
            self._notes.note("openedWithoutUser", line)
            yield UserInput(messages=(self._opening,), line=line)
        self._started = True
        self._open = set(calls)
        yield Response(
            messages=tuple(messages),
            line=line,
            model=model,
            usage=usage,
            prompt_reported=prompt or None,
            completion_reported=completion,
        )

    def take_result(self, line: int, call: object, message: Message) -> Iterator[Step]:
        """What a tool answered; dropped and noted where no call of the newest response waits for it."""
        if self.admit(line, call):
            yield from self.take_results(line, message)

    def take_results(self, line: int, message: Message, *, spoken: bool = False) -> Iterator[Step]:
        """A message with results that were admitted. `spoken`: a person's words are in it too."""
        if not self._results:
            yield from self._end_run()
            self._results = True
        self._extend(line, (message,))
        self._spoken = self._spoken or spoken

    def admit(self, line: int, call: object) -> bool:
        """Whether a call waits for a result, which it then has; noted where none does."""
        if isinstance(call, str) and call in self._open:
            self._open.remove(call)
            self._answered.add(call)
            return True
        known = isinstance(call, str) and call in self._answered
        self._notes.note("duplicateResult" if known else "orphanResult", line)
        return False

    def take_boundary(
        self, line: int, replacement: Iterable[Message], *, pre_tokens: int | None = None
    ) -> Iterator[Step]:
        """The recording tool compacted here."""
        yield from self._end_run()
        messages = tuple(replacement)
        self._started = self._started or bool(messages)
        yield Boundary(line=line, pre_tokens=pre_tokens, replacement=messages)

    def close(self) -> Iterator[Step]:
        """What is still held, at the end of the recording."""
        yield from self._end_run()

    def _extend(self, line: int, messages: Iterable[Message]) -> None:
        self._line = self._line if self._run else line
        self._run += messages

    def _end_run(self) -> Iterator[Step]:
        run, results, spoken = self._run, self._results, self._spoken
        self._run, self._results, self._spoken = [], False, False
        if not run:
            return
        if results:
            joined = tuple(run) if self._join is None else (self._join(run),)
            yield Results(messages=joined, line=self._line, spoken=spoken)
        else:
            self._started = True
            yield UserInput(messages=tuple(run), line=self._line)
