"""The managed pass: ctxd decides what is sent, under a window, and every request is looked at.

Recorded compactions are left out, since ctxd compacts here. What the provider would have reported is
simulated from what was really sent. Owns feeding and judging; nothing is shown here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from ctxd.dialects import registry as dialects
from ctxd.importers.steps import Boundary, Message, Response, Results, Transcript, UserInput
from ctxd.report.figures import Compaction, Managed, Moment, Simulation, Spread, Thresholds
from ctxd.report.host import Host
from ctxd.report.simulation import fit_simulation, simulate_usage
from ctxd.report.tool_outputs import OutputBook, Recovery
from ctxd.report.wire_check import check_request

GO_ON = "Go on."
"""Stands for the user where leaving out a recorded summary leaves a response without one."""

_ELIDING = ("elision", "cacheExpiry", "clip")
"""The stages of `context/prepare` whose edits are elisions."""


class ManagedRun:
    """All sessions of a file under one window.

    With `cross_check` every request is also given to `context/validate`. The host's times are begun
    anew, so runs in one daemon follow each other.
    """

    def __init__(self, host: Host, window: int, *, cross_check: bool) -> None:
        self._host = host
        self._window = window
        self._cross_check = cross_check
        host.times.clear()
        self._requests = self._largest = self._elisions = self._over_budget = 0
        self._stages: dict[str, int] = {}
        self._compactions: list[Compaction] = []
        self._violations: list[str] = []
        self._overflows: list[str] = []
        self._recoveries: list[Recovery] = []
        self._simulations: list[Simulation] = []
        self._thresholds: Thresholds | None = None
        self._timeline: list[Moment] = []

    async def replay(self, transcript: Transcript, advance: Callable[[], None]) -> None:
        """Replay one session from its first step to its last. Raises ClientError."""
        simulation = await fit_simulation(self._host, transcript, self._window)
        self._simulations.append(simulation)
        session = await self._host.open_session(transcript, self._window)
        outputs = OutputBook()
        phase, answered = "turnStart", False
        for step in transcript.steps:
            match step:
                case UserInput() | Results():
                    spoken = isinstance(step, UserInput) or step.spoken
                    await self._append(session, step.messages)
                    outputs.add(step.messages)
                    phase, answered = "turnStart" if spoken else "iteration", False
                case Boundary():
                    if answered:
                        go_on = dialects.get(transcript.dialect).make("user", GO_ON)
                        await self._append(session, (go_on,))
                        phase, answered = "turnStart", False
                case Response():
                    await self._respond(session, transcript, step, phase, simulation)
                    phase, answered = "iteration", True
                    advance()
                case _:
                    assert_never(step)
        self._recoveries.append(await outputs.recover(self._host, session))
        await self._host.call("session/close", {"sessionId": session})

    def figures(self) -> Managed:
        """What was measured so far."""
        lost = tuple(call for recovery in self._recoveries for call in recovery.lost)
        return Managed(
            window=self._window,
            requests=self._requests,
            largest=self._largest,
            elisions=self._elisions,
            stages=dict(sorted(self._stages.items())),
            compactions=tuple(self._compactions),
            outputs=Recovery(
                outputs=sum(r.outputs for r in self._recoveries),
                evicted=sum(r.evicted for r in self._recoveries),
                recovered=sum(r.recovered for r in self._recoveries),
                lost=lost,
            ),
            violations=tuple(self._violations),
            overflows=tuple(self._overflows),
            over_budget=self._over_budget,
            simulations=tuple(self._simulations),
            calls={method: Spread.of(times) for method, times in sorted(self._host.times.items())},
            thresholds=self._thresholds,
            timeline=tuple(self._timeline),
        )

    async def _append(self, session: str, messages: tuple[Message, ...]) -> None:
        await self._host.call("session/append", {"sessionId": session, "messages": list(messages)})

    async def _respond(
        self, session: str, transcript: Transcript, step: Response, phase: str, simulation: Simulation
    ) -> None:
        prepared = await self._host.call("context/prepare", {"sessionId": session, "phase": phase})
        where = f"{transcript.name}, line {step.line}"
        await self._check(transcript, prepared["messages"], where)
        sent = await self._host.count_o200k(transcript.dialect, prepared["messages"])
        prompt = simulation.fixed + round(simulation.density * sent)
        self._judge(transcript.name, prepared, prompt, where)
        self._note(transcript.name, step.line, prepared, prompt)
        answer = await self._host.count_o200k(transcript.dialect, step.messages)
        completion = round(simulation.density * answer)
        await self._host.call(
            "context/report",
            {
                "sessionId": session,
                "requestId": prepared["requestId"],
                "outcome": "ok",
                "messages": list(step.messages),
                "usage": simulate_usage(transcript.dialect, prompt, completion),
            },
        )
        self._requests += 1

    async def _check(self, transcript: Transcript, messages: list[Message], where: str) -> None:
        faults = check_request(transcript.dialect, messages)
        if self._cross_check:
            params = {"dialect": transcript.dialect, "messages": messages}
            verdict = await self._host.call("context/validate", params)
            faults += [f"{v['index']}: {v['rule']} (context/validate)" for v in verdict["violations"]]
        self._violations += [f"{where}: {fault}" for fault in faults]

    def _note(self, name: str, line: int, prepared: dict[str, Any], prompt: int) -> None:
        report, projection = prepared["report"], prepared["projection"]
        if projection["window"] is not None:
            self._thresholds = Thresholds(
                available=projection["availableForInput"],
                handoff=projection["handoffThreshold"],
                compaction=projection["compactionThreshold"],
            )
        eliding = [stage for stage in report["stages"] if stage["stage"] in _ELIDING]
        self._timeline.append(
            Moment(
                session=name,
                line=line,
                tokens=prompt,
                predicted=projection["tokens"],
                low=projection["low"],
                high=projection["high"],
                phase=projection["phase"],
                elisions=sum(stage["edits"] for stage in eliding),
                freed=sum(stage["tokensFreed"] for stage in eliding),
                compacted=report["compactionPerformed"],
                before=report["tokensBefore"],
                after=report["tokensAfter"],
            )
        )

    def _judge(self, name: str, prepared: dict[str, Any], prompt: int, where: str) -> None:
        report = prepared["report"]
        self._largest = max(self._largest, prompt)
        if prompt > self._window:
            if report["outcome"] == "overBudget" or not prepared["projection"]["reachable"]:
                self._over_budget += 1
            else:
                self._overflows.append(f"{where}: {prompt} tokens")
        for stage in report["stages"]:
            name = f"{stage['stage']}: {stage['reason']}"
            self._stages[name] = self._stages.get(name, 0) + 1
            if stage["stage"] in _ELIDING:
                self._elisions += stage["edits"]
        if report["compactionPerformed"]:
            self._compactions.append(
                Compaction(
                    session=name,
                    request=self._requests,
                    before=report["tokensBefore"],
                    after=report["tokensAfter"],
                )
            )
