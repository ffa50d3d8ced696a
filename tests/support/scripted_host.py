"""A host in this process that answers as a script says, and keeps what it was asked and told.

A reply is a text, a `SampleReply`, an exception to raise, or a function of the request (it may be
async) that gives one of those. The last one is given again for as long as it is asked.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

import anyio

from ctxd.compaction.ledger import headings
from ctxd.service.host import HookReply, HookRequest, SampleReply, SampleRequest
from ctxd.service.session import Session
from ctxd.workspace.watcher import Change

Reply: TypeAlias = "str | SampleReply | Exception | Callable[[SampleRequest], Any]"


class ScriptedHost:
    """Implements `ctxd.service.host.Host`. `asked` samples, `hooked` hooks, `told` notifications."""

    def __init__(
        self,
        *replies: Reply,
        hook: Callable[[HookRequest], HookReply | Awaitable[HookReply]] | None = None,
    ) -> None:
        self.replies = list(replies)
        self.hook = hook
        self.asked: list[SampleRequest] = []
        self.within: list[float] = []
        self.hooked: list[HookRequest] = []
        self.told: list[str] = []

    @property
    def folders(self) -> tuple[str, ...]:
        return ()

    @property
    def follows_files(self) -> bool:
        return False

    @property
    def can_sample(self) -> bool:
        return bool(self.replies)

    async def sample(self, request: SampleRequest, within: float) -> SampleReply:
        self.asked.append(request)
        self.within.append(within)
        reply: Any = self.replies[0] if len(self.replies) == 1 else self.replies.pop(0)
        if callable(reply):
            reply = reply(request)
            if inspect.isawaitable(reply):
                reply = await reply
        if isinstance(reply, Exception):
            raise reply
        return SampleReply(text=reply, model="scripted") if isinstance(reply, str) else reply

    async def before_compaction(self, request: HookRequest, within: float) -> HookReply:
        self.hooked.append(request)
        if self.hook is None:
            return HookReply()
        reply = self.hook(request)
        return reply if isinstance(reply, HookReply) else await reply

    def view_changed(self, session: Session, cause: str) -> None:
        self.told.append(f"changed {cause} {session.state.generation}")

    def session_changed(self, session: Session) -> None:
        self.told.append(f"session {session.log.durable}")

    def warn(self, sentence: str) -> None:
        self.told.append(sentence)

    def files_changed(self, workspace: str, changes: list[Change]) -> None:
        self.told += [f"{change.kind} {change.path}" for change in changes]

    def phase(self, session: Session, stage: Literal["start", "complete"], numbers: dict[str, int]) -> None:
        assert all(isinstance(number, int) for number in numbers.values())
        self.told.append(stage)


class Held:
    """A reply that waits. `reached` is set once it is asked; `go` lets it answer."""

    def __init__(self, reply: str | SampleReply) -> None:
        self.reply = reply
        self.reached = anyio.Event()
        self.go = anyio.Event()

    async def __call__(self, request: SampleRequest) -> str | SampleReply:
        self.reached.set()
        await self.go.wait()
        return self.reply


def plausible(request: SampleRequest) -> str:
    """A summary such as a good model writes: short items about what the prompt shows."""
    user = request.messages[0][1]
    said = _some(r"^\[\d+\] assistant: (.+)$", user)
    calls = _some(r"^\[\d+\] call (\S+ .{0,80})", user)
    results = re.findall(r"^\[(\d+)\] result of (\S+) \((\w+)\)", user, re.MULTILINE)
    return summary(
        objective=["Work on what the user asked"],
        decisions=[f"Decided: {line[:150]}" for line in said[-6:]],
        verification=[f"{name} was {outcome} [{number}]" for number, name, outcome in results[-8:]],
        active=[f"done: {line[:100]}" for line in calls[:4]] + [line[:100] for line in calls[-2:]],
        open=[f"{name} failed [{number}]" for number, name, outcome in results if outcome == "failed"][-4:],
        exact=[f"Go on after {said[-1][:120]}"] if said else ["Go on"],
    )


def summary(**sections: list[str]) -> str:
    """A reply whose sections are named by the first word of their heading; the rest say nothing."""
    parts = []
    for heading in headings():
        lines = sections.get(heading.split()[0].lower()) or ["No evidence observed."]
        parts.append(f"## {heading}\n" + "\n".join(f"- {line}" for line in lines))
    return "<summary>\n" + "\n".join(parts) + "\n</summary>"


def _some(pattern: str, text: str) -> list[str]:
    return [str(found) for found in re.findall(pattern, text, re.MULTILINE)]
