"""`context/report`: what the provider answered to a prepared request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from ctxd.core.fingerprint import fingerprint
from ctxd.dialects.overflow import ProviderError
from ctxd.model.errors import NotFound
from ctxd.model.events import Load, RequestReported
from ctxd.model.messages import Native, Redacted, Usage
from ctxd.service.intake.append import Admitted, admit
from ctxd.service.intake.description import Meta
from ctxd.service.past.snapshots import snapshot
from ctxd.service.requests.recovery import Recovery, judge, recover
from ctxd.service.session import Prepared, Session, Written

_REQUEST_ID = re.compile(r"r(\d+)\.(\d+)\.([0-9a-f]{16})")


class Reported(msgspec.Struct, frozen=True):
    """The session after the answer; `recovery` is what to do about an error."""

    revision: int
    message_ids: tuple[str, ...]
    redacted: tuple[tuple[str, Redacted], ...] = ()
    recovery: Recovery | None = None


async def report(
    session: Session,
    request_id: str,
    outcome: Literal["ok", "error", "aborted"],
    natives: Sequence[Native],
    metas: Sequence[Meta],
    usage: Usage | None,
    *,
    error: ProviderError | None = None,
    output_started: bool = False,
) -> Reported:
    """Append the answer and learn from its usage, together; recover from an error where that is possible.

    Repeating a report that was taken appends nothing twice. Raises NotFound for an unknown or
    older request; then nothing changed.
    """
    async with session.lane:
        state = session.state
        known = state.reported.get(request_id)
        if known is not None and known[1].outcome == "ok":
            return Reported(known[0], known[1].message_ids)
        if known is not None and known[1].recovers and error is not None and session.prepared is None:
            # A restart came between the report and the end of its recovery.
            verdict, done = None, Reported(known[0], known[1].message_ids)
        else:
            verdict = judge(session, error, output_started or bool(natives)) if error else None
            recovers = error is not None and verdict is None
            done = await _take(session, request_id, outcome, natives, metas, usage, recovers)
    if error is not None and verdict is None:
        verdict = await recover(session, error)
    return msgspec.structs.replace(done, recovery=verdict)


async def _take(
    session: Session,
    request_id: str,
    outcome: Literal["ok", "error", "aborted"],
    natives: Sequence[Native],
    metas: Sequence[Meta],
    usage: Usage | None,
    recovers: bool,
) -> Reported:
    """Commit a report with its messages. `recovers` uses up the recovery of an error."""
    state = session.state
    prepared = _find(session, request_id)
    admitted: Admitted | None = None
    if natives:
        admitted = await admit(session, natives, metas, count=True)
    event = RequestReported(
        request_id=request_id,
        outcome=outcome,
        usage=usage,
        load=prepared.load if prepared and prepared.epoch == state.epoch else None,
        response=admitted.load if admitted else Load(),
        predicted=prepared.predicted if prepared else 0,
        message_ids=admitted.message_ids if admitted else (),
        recovers=recovers,
    )
    taken, _ = await snapshot(session, admitted.facts if admitted else ())
    await session.commit([*(admitted.written if admitted else ()), Written(event), *taken])
    if outcome == "ok":
        session.prepared = None
    session.environment.note("reports")
    return Reported(state.revision, event.message_ids, admitted.redacted if admitted else ())


def _find(session: Session, request_id: str) -> Prepared | None:
    """The request a report is about; None for one prepared before a restart whose load is not known any more.

    That is one with pending messages, or one after which messages came or the view changed.
    """
    prepared = session.prepared
    if prepared is not None and prepared.request_id == request_id:
        return prepared
    match = _REQUEST_ID.fullmatch(request_id)
    state = session.state
    if match is not None and prepared is None and request_id not in state.reported:
        revision, generation = int(match[1]), int(match[2])
        is_now = (revision, generation) == (state.revision, state.generation)
        if is_now and match[3] == fingerprint(state)[:16]:
            return Prepared(
                request_id=request_id,
                load=state.load,
                predicted=0,
                epoch=state.epoch,
                generation=generation,
            )
        if state.reported_at <= revision <= state.revision and generation <= state.generation:
            return None
    raise NotFound(
        "no such request, or a newer one was prepared or reported since",
        hint="call context/prepare again",
        requestId=request_id,
    )
