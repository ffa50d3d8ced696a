"""Getting a summary from whoever can write one: the host, or a provider of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import anyio
import msgspec

from ctxd.compaction.extract import Item
from ctxd.compaction.sampling import Ask, GaveUp, Made, Sampling, Step
from ctxd.compaction.summary_prompt import Source
from ctxd.core.units import Unit
from ctxd.model.summary import SessionSummary
from ctxd.service.compactions import Job
from ctxd.service.host import SampleFailed, SampleReply, SampleRequest
from ctxd.service.session import Session

UNKNOWN_WINDOW_BUDGET = 24_000
"""Tokens a prompt may have where nobody knows the summariser's window."""

MARGIN = (10, 13)
"""The prompt is counted with the session's encoding; a summariser's own may need more."""


class Summarizer(Protocol):
    """Somebody who can write a summary."""

    async def sample(self, request: SampleRequest, within: float) -> SampleReply: ...


class Summarised(msgspec.Struct, frozen=True):
    """A digest, or why there is none. `usage` is what the last answer reported, native."""

    digest: SessionSummary | None
    failure: str
    attempts: int = 0
    reductions: int = 0
    usage: dict[str, Any] | None = None


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
    return await anyio.to_thread.run_sync(
        lambda: Sampling(
            source, budget=_budget(session), retry_delay_ms=options.retry_delay_ms, count=weigher.count
        )
    )


async def summarise(session: Session, job: Job, items: Sequence[Item], units: Sequence[Unit]) -> Summarised:
    """Ask for a summary of some units, at most three times. Never raises but for cancellation."""
    environment = session.environment
    options = environment.settings.summarizer
    writer = summarizer_of(session)
    if writer is None:
        return Summarised(None, "noSampler")
    key = breaker_key(session)
    if not environment.breaker.allows(key, environment.now(), options.cooldown_ms):
        return Summarised(None, "circuitOpen")
    sampling = await prepare_sampling(session, job, items, units)
    step: Step = sampling.begin()
    usage: dict[str, Any] | None = None
    while isinstance(step, Ask):
        if step.delay_ms:
            await anyio.sleep(step.delay_ms / 1000)
        request = request_of(session, step)
        try:
            reply = await writer.sample(request, options.timeout_ms / 1000)
        except SampleFailed as failure:
            step = sampling.take_trouble(failure.kind)
            continue
        usage = reply.usage or usage
        step = sampling.take_reply(reply.text, is_text=reply.is_text)
    if isinstance(step, Made):
        environment.breaker.succeeded(key)
        return Summarised(step.digest, "", sampling.attempts, sampling.reductions, usage)
    assert isinstance(step, GaveUp)
    if step.counts:
        environment.breaker.failed(key, environment.now())
    return Summarised(None, step.failure, sampling.attempts, sampling.reductions, usage)


def request_of(session: Session, ask: Ask) -> SampleRequest:
    """The request for one sample."""
    return SampleRequest(
        session_id=session.session_id,
        attempt=ask.attempt,
        system=ask.prompt.system,
        messages=(("user", ask.prompt.user),),
        max_tokens=session.environment.settings.summarizer.max_output_tokens,
    )


def breaker_key(session: Session) -> tuple[str, str]:
    """(canonical workspace, session)."""
    created = session.state.created
    return os.path.realpath(created.workspace if created else ""), session.session_id


def _budget(session: Session) -> int:
    options = session.environment.settings.summarizer
    window = options.window or session.window().value
    if not window:
        return UNKNOWN_WINDOW_BUDGET
    room = window - min(options.max_output_tokens, window // 2)
    return max(1_000, room * MARGIN[0] // MARGIN[1])
