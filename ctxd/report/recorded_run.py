"""The pass "as recorded": ctxd watches what was really sent and predicts each prompt's size.

Elision and automatic compaction are off, so that the daemon's view is the recorded request; every
recorded epoch is a session of its own. Owns feeding and comparing; nothing is shown here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from ctxd.importers.steps import Boundary, Response, Results, Transcript, UserInput
from ctxd.report.figures import Comparison
from ctxd.report.host import Host
from ctxd.report.wire_check import check_request

OPTIONS = {"elision": {"enabled": False}, "compaction": {"auto": False}}
"""Daemon options for this pass."""


async def run_recorded(
    host: Host, transcript: Transcript, window: int, advance: Callable[[], None]
) -> tuple[list[Comparison], list[str]]:
    """Feed one transcript; comparisons and wire violations. `advance` is called once per response.

    Raises ClientError.
    """
    run = _RecordedRun(host, transcript, window)
    for step in transcript.steps:
        match step:
            case UserInput():
                await run.append(step.messages, "turnStart")
            case Results():
                await run.append(step.messages, "turnStart" if step.spoken else "iteration")
            case Response():
                await run.respond(step)
                advance()
            case Boundary():
                await run.begin_epoch(step)
            case _:
                assert_never(step)
    await run.end_epoch()
    return run.comparisons, run.violations


class _RecordedRun:
    """The session of the current epoch and what is known for the baseline."""

    def __init__(self, host: Host, transcript: Transcript, window: int) -> None:
        self._host = host
        self._transcript = transcript
        self._window = max(window, transcript.window or 0)
        self._session = ""
        self._phase = "turnStart"
        self._usage_before: int | None = None
        self._since = 0
        self.comparisons: list[Comparison] = []
        self.violations: list[str] = []

    async def append(self, messages: tuple[dict[str, Any], ...], phase: str) -> None:
        """Append what the user side said."""
        session = await self._open()
        await self._host.call("session/append", {"sessionId": session, "messages": list(messages)})
        self._since += await self._host.count_o200k(self._transcript.dialect, messages)
        self._phase = phase

    async def respond(self, step: Response) -> None:
        """Prepare, compare with what the response reported, report it."""
        session = await self._open()
        prepared = await self._host.call("context/prepare", {"sessionId": session, "phase": self._phase})
        faults = check_request(self._transcript.dialect, prepared["messages"])
        self.violations += [f"{self._transcript.name}, line {step.line}: {fault}" for fault in faults]
        if step.prompt_reported:
            self._compare(step, prepared["projection"], step.prompt_reported)
        report = {"sessionId": session, "requestId": prepared["requestId"], "outcome": "ok"}
        usage = {"usage": step.usage} if step.usage else {}
        await self._host.call("context/report", {**report, "messages": list(step.messages), **usage})
        if step.prompt_reported:
            self._usage_before = step.prompt_reported + (step.completion_reported or 0)
            self._since = 0
        else:
            self._since += await self._host.count_o200k(self._transcript.dialect, step.messages)
        self._phase = "iteration"

    async def begin_epoch(self, step: Boundary) -> None:
        """The recording compacted: go on in a new session that starts with what replaced the old."""
        await self.end_epoch()
        if step.replacement:
            await self.append(step.replacement, "turnStart")

    async def end_epoch(self) -> None:
        """Close the session of this epoch."""
        if self._session:
            await self._host.call("session/close", {"sessionId": self._session})
        self._session, self._usage_before, self._since = "", None, 0

    def _compare(self, step: Response, projection: dict[str, Any], reported: int) -> None:
        anchored = self._usage_before is not None
        self.comparisons.append(
            Comparison(
                line=step.line,
                anchored=anchored,
                predicted=projection["tokens"],
                low=projection["low"],
                high=projection["high"],
                source=projection["source"],
                reported=reported,
                baseline=None if self._usage_before is None else self._usage_before + self._since,
            )
        )

    async def _open(self) -> str:
        if not self._session:
            self._session = await self._host.open_session(self._transcript, self._window)
        return self._session
