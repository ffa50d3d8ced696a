"""Getting a summary from whoever can write one: the host, or a provider of its own.

Whether it is asked at all is the breaker's word; what came of it is told to the breaker by `settle`,
when the result has passed or failed its gate.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, assert_never

import anyio
import msgspec

from ctxd.compaction.extract import Item
from ctxd.compaction.sampling import Ask, GaveUp, Made, Sampling, Step
from ctxd.compaction.summary_prompt import Source
from ctxd.core.units import Unit
from ctxd.model.summary import SessionSummary
from ctxd.service.compacting.compactions import Job
from ctxd.service.host import SampleFailed, SampleReply, SampleRequest
from ctxd.service.session import Session


class Summarizer(Protocol):
    """Somebody who can write a summary."""

    async def sample(self, request: SampleRequest, within: float) -> SampleReply: ...


class Summarised(msgspec.Struct, frozen=True):
    """A digest, or why there is none. `usage` is what the samples reported together, native.

    `unshown` are ids of the messages that begin units the model did not see. `counts` is true for what
    the breaker should hear of.
    """

    digest: SessionSummary | None = None
    failure: str = ""
    attempts: int = 0
    reductions: int = 0
    usage: dict[str, Any] | None = None
    counts: bool = False
    unshown: frozenset[str] = frozenset()


def summarizer_of(session: Session) -> Summarizer | None:
    """Who writes this session's summaries; None for nobody."""
    environment = session.environment
    options = environment.settings.summarizer
    if options.use in ("auto", "host") and environment.host.can_sample:
        return environment.host
    if options.use in ("auto", "provider") and options.provider and options.model:
        return environment.provider(options)
    return None


def wants_model(session: Session, job: Job) -> bool:
    """Whether this compaction asks for a summary (protocol.md, section 10)."""
    if job.strategy == "deterministic":
        return False
    return job.strategy == "model" or job.delivery == "inline" or summarizer_of(session) is not None


async def prepare_sampling(
    session: Session, job: Job, items: Sequence[Item], units: Sequence[Unit]
) -> Sampling:
    """The sampling of some units, its first prompt fitted to the summariser's window."""
    weigher = await session.weigher()
    source = Source(items, units, session.state, job.instructions)
    options = session.environment.settings.summarizer
    return await session.environment.counting.run(
        lambda: Sampling(
            source,
            window=options.window or session.window().value,
            max_output=options.max_output_tokens,
            retry_delay_ms=options.retry_delay_ms,
            count=weigher.count,
        )
    )


async def summarise(session: Session, job: Job, items: Sequence[Item], units: Sequence[Unit]) -> Summarised:
    """Ask for a summary of some units, at most three times. Never raises but for cancellation."""
    environment = session.environment
    options = environment.settings.summarizer
    writer = summarizer_of(session)
    if writer is None:
        return Summarised(failure="noSampler")
    if not environment.breaker.allows(breaker_key(session), environment.now(), options.cooldown_ms):
        return Summarised(failure="circuitOpen")
    sampling = await prepare_sampling(session, job, items, units)
    step: Step = sampling.begin()
    usage: dict[str, Any] | None = None
    while isinstance(step, Ask):
        if step.delay_ms:
            await anyio.sleep(step.delay_ms / 1000)
        try:
            reply = await writer.sample(request_of(session, step), options.timeout_ms / 1000)
        except SampleFailed as failure:
            step = await environment.counting.run(sampling.take_trouble, failure.kind, failure.limit)
            continue
        usage = _add(usage, reply.usage)
        step = await take_reply(session, sampling, reply.text, is_text=reply.is_text)
    return concluded(sampling, step, usage)


async def take_reply(
    session: Session, sampling: Sampling, text: str, *, is_text: bool = True, last: bool = False
) -> Step:
    """Judge an answer, in a thread: its length is the model's choice."""
    counting = session.environment.counting
    return await counting.run(lambda: sampling.take_reply(text, is_text=is_text, last=last))


def concluded(sampling: Sampling, step: Made | GaveUp, usage: dict[str, Any] | None = None) -> Summarised:
    """What a sampling came to."""
    match step:
        case Made(digest=digest):
            return Summarised(
                digest,
                "",
                sampling.attempts,
                sampling.reductions,
                usage,
                counts=True,
                unshown=sampling.unshown,
            )
        case GaveUp(failure=failure, counts=counts):
            return Summarised(None, failure, sampling.attempts, sampling.reductions, usage, counts)
        case _:
            assert_never(step)


def settle(session: Session, summary: Summarised) -> None:
    """Tell the breaker what came of a summary that somebody was asked for."""
    environment = session.environment
    if summary.digest is not None:
        environment.breaker.succeeded(breaker_key(session))
    elif summary.counts:
        environment.breaker.failed(breaker_key(session), environment.now())


def request_of(session: Session, ask: Ask) -> SampleRequest:
    """The request for one sample."""
    return SampleRequest(
        session_id=session.session_id,
        attempt=ask.attempt,
        system=ask.prompt.system,
        messages=(("user", ask.prompt.user),),
        max_tokens=ask.max_tokens,
    )


def breaker_key(session: Session) -> tuple[str, str]:
    """(canonical workspace, session)."""
    created = session.state.created
    return os.path.realpath(created.workspace if created else ""), session.session_id


def _add(known: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any] | None:
    """Usage of several samples together (E §6.5): numbers are added, all else is the newest's."""
    if known is None or new is None:
        return new if known is None else known
    total = {**known, **new}
    for name, value in new.items():
        before = known.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            total[name] = _add(before, value)
        elif _is_number(value) and _is_number(before):
            total[name] = before + value
    return total


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
