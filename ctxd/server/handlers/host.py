"""The host behind the wire, as the service sees it."""

from __future__ import annotations

from typing import Any, Literal

from ctxd.dialects.overflow import ProviderError, recognise
from ctxd.model.errors import Timeout
from ctxd.server.calls import Host as Connection
from ctxd.server.handlers import shapes
from ctxd.server.outbound import GONE, HostError
from ctxd.server.wire import context, hosts, sessions
from ctxd.service.host import HookReply, HookRequest, SampleFailed, SampleReply, SampleRequest
from ctxd.service.session import Session

_METHOD_NOT_FOUND = -32601
_CANCELLED = -32800


class WireHost:
    """Asks and tells the host at the other end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def can_sample(self) -> bool:
        return self._connection.sampling

    async def sample(self, request: SampleRequest, within: float) -> SampleReply:
        """`sampling/createMessage`. Raises SampleFailed."""
        try:
            answer = await self._connection.request(
                "sampling/createMessage", shapes.sampling(request), within=within
            )
        except Timeout as error:
            raise SampleFailed("timeout", "the host did not answer in time") from error
        except HostError as error:
            raise _failed(error) from error
        assert isinstance(answer, hosts.SamplingCreateMessageResult)
        text = answer.content.get("text")
        is_text = answer.content.get("type") == "text" and isinstance(text, str)
        return SampleReply(
            text=text if isinstance(text, str) else "",
            model=answer.model,
            stop_reason=answer.stop_reason or "",
            usage=dict(answer.usage) if answer.usage is not None else None,
            is_text=is_text,
        )

    async def before_compaction(self, request: HookRequest, within: float) -> HookReply:
        """`hook/preCompact`, where the host has one. One that fails or stays silent allows it."""
        if not self._connection.compact_hook:
            return HookReply()
        params = hosts.HookPreCompactParams(
            session_id=request.session_id,
            trigger="manual" if request.trigger == "manual" else "auto",
            reason=request.reason,
            messages_before=request.messages_before,
            tokens_before=request.tokens_before,
        )
        try:
            answer = await self._connection.request("hook/preCompact", params, within=within)
        except (Timeout, HostError):
            return HookReply()
        assert isinstance(answer, hosts.HookPreCompactResult)
        return HookReply(
            allow=answer.decision == "allow",
            reason=answer.reason or "",
            instructions=answer.instructions or "",
        )

    def view_changed(self, session: Session, cause: str) -> None:
        """`context/didChange`."""
        params = context.ContextDidChangeParams(
            session_id=session.session_id,
            revision=session.state.revision,
            generation=session.state.generation,
            projection=shapes.projection(session, session.project()),
            cause=cause,
        )
        self._connection.notify("context/didChange", params)

    def session_changed(self, session: Session) -> None:
        """`session/didChange`."""
        params = sessions.SessionDidChangeParams(
            session_id=session.session_id,
            access="write" if session.writable else "readOnly",
            durable=session.log.durable,
            health=session.log.health.status,
        )
        self._connection.notify("session/didChange", params)

    def phase(self, session: Session, stage: Literal["start", "complete"], numbers: dict[str, int]) -> None:
        """`context/event`."""
        params = hosts.ContextEventParams(
            session_id=session.session_id, stage=stage, tokens=numbers["tokens"], messages=numbers["messages"]
        )
        self._connection.notify("context/event", params)


def _failed(error: HostError) -> SampleFailed:
    """What a host's error means for a summary."""
    if error.code in (GONE, _METHOD_NOT_FOUND):
        return SampleFailed("unavailable" if error.code else "transient", "the host has no model to ask")
    data: Any = error.data
    found = recognise(
        ProviderError(status=_status(data), code=str(error.code), message=error.message, body=data)
    )
    if found.kind == "overflow":
        return SampleFailed("overflow", "the summary's input was too large")
    if found.kind == "rateLimit" or error.code != _CANCELLED:
        return SampleFailed("transient", "the host's model failed")
    return SampleFailed("fatal", "the host cancelled the summary")


def _status(data: Any) -> int | None:
    status = data.get("status") if isinstance(data, dict) else None
    return status if isinstance(status, int) else None
