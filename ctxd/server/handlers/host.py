"""The host behind the wire, as the service sees it."""

from __future__ import annotations

import logging
from typing import Any, Literal

from ctxd.compaction.sampling import trouble_of
from ctxd.dialects.overflow import ProviderError
from ctxd.model.errors import Timeout
from ctxd.server.calls import Host as Connection
from ctxd.server.handlers import shapes
from ctxd.server.outbound import GONE, NONSENSE, HostError
from ctxd.server.wire import context, hosts, sessions
from ctxd.server.wire import workspace as wire_files
from ctxd.service.homes import workspace_uri
from ctxd.service.host import HookReply, HookRequest, SampleFailed, SampleReply, SampleRequest
from ctxd.service.session import Session
from ctxd.workspace.watcher import Change

_log = logging.getLogger("ctxd")

_NOBODY = -32601
_DECLINED = (-1, -32800)
"""The person said no (MCP's code), or the host cancelled."""
_WRONG = (-32600, -32602)


class WireHost:
    """Asks and tells the host at the other end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def can_sample(self) -> bool:
        return self._connection.sampling

    @property
    def folders(self) -> tuple[str, ...]:
        return self._connection.folders

    @property
    def follows_files(self) -> bool:
        return True

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
        except Timeout:
            _log.warning("hook/preCompact was not answered in time; the compaction goes on")
            return HookReply(failure="hookTimeout")
        except HostError as error:
            _log.warning("hook/preCompact failed with code %d; the compaction goes on", error.code)
            return HookReply(failure="hookFailed")
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

    def warn(self, sentence: str) -> None:
        """`window/logMessage`."""
        self._connection.warn(sentence)

    def files_changed(self, workspace: str, changes: list[Change]) -> None:
        """`workspace/didChangeFiles`."""
        params = wire_files.WorkspaceDidChangeFilesParams(
            workspace=workspace_uri(workspace),
            changes=[
                wire_files.FileChange(path=change.path, change=change.kind, moved_to=change.to or None)
                for change in changes
            ],
        )
        self._connection.notify("workspace/didChangeFiles", params)

    def phase(self, session: Session, stage: Literal["start", "complete"], numbers: dict[str, int]) -> None:
        """`context/event`."""
        params = hosts.ContextEventParams(
            session_id=session.session_id, stage=stage, tokens=numbers["tokens"], messages=numbers["messages"]
        )
        self._connection.notify("context/event", params)


def _failed(error: HostError) -> SampleFailed:
    """What a host's error means for a summary: its provider's error where it passes one on."""
    if error.code == GONE:
        return SampleFailed("gone", "the host has left")
    if error.code == NONSENSE:
        return SampleFailed("transient", "the host gave nothing that is an answer")
    if error.code == _NOBODY:
        return SampleFailed("unavailable", "the host has no model to ask")
    if error.code in _DECLINED:
        return SampleFailed("declined", "the host did not want the summary")
    told = ProviderError(status=_status(error.data), message=error.message, body=error.data)
    trouble, limit = trouble_of(told)
    if trouble == "transient" and error.code in _WRONG:
        trouble = "fatal"
    return SampleFailed(trouble, "the host's model failed", limit)


def _status(data: Any) -> int | None:
    """The HTTP status a host passes on, by the names SDKs have for it."""
    if not isinstance(data, dict):
        return None
    found = (data.get(name) for name in ("status", "statusCode", "status_code", "httpStatus"))
    return next((status for status in found if isinstance(status, int)), None)
