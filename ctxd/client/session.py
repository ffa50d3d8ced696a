"""One session, held by a host: the calls around a model call, without repeating ids.

Owns nothing but the session's id and the last request's. Results are the wire's own objects
(protocol.md, sections 2 to 4), camelCase, untouched. Every method raises ClientError.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ctxd.client.connection import Client, folder_uri

Native: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]


class Session:
    """An open session. `info` is the newest `SessionInfo`."""

    def __init__(self, client: Client, info: Answer) -> None:
        self._client = client
        self._request_id: str | None = None
        self.info = info
        self.id: str = info["sessionId"]

    @classmethod
    async def open(cls, client: Client, workspace: Path, **fields: Any) -> Session:
        """`session/open`: `dialect`, `model`, `system`, `tools`, `session_id`, `mode`, `read_only`."""
        params = {"workspace": folder_uri(workspace), **_camel(fields)}
        return cls(client, await client.request("session/open", params))

    async def append(self, messages: Sequence[Native], **fields: Any) -> Answer:
        """`session/append`; answered once the messages are on disk."""
        return await self.call("session/append", messages=list(messages), **fields)

    async def prepare(
        self,
        phase: Literal["turnStart", "iteration", "retry"] = "turnStart",
        *,
        pending: Sequence[Native] = (),
    ) -> Answer:
        """`context/prepare`: `messages` is what to send. The next `report` answers this request."""
        fields: dict[str, Any] = {"pending": list(pending)} if pending else {}
        prepared = await self.call("context/prepare", phase=phase, **fields)
        self._request_id = prepared["requestId"]
        return prepared

    async def report(
        self,
        messages: Sequence[Native] = (),
        *,
        usage: Native | None = None,
        outcome: Literal["ok", "error", "aborted"] = "ok",
        **fields: Any,
    ) -> Answer:
        """`context/report` for the request last prepared: what the model answered, and its usage."""
        return await self.call(
            "context/report",
            request_id=self._request_id,
            outcome=outcome,
            messages=list(messages),
            usage=usage,
            **fields,
        )

    async def steer(
        self,
        kind: Literal["followUp", "systemReminder", "requestPause", "cancel"],
        content: str | None = None,
        **fields: Any,
    ) -> Answer:
        """`steer/push`: say something into the turn that runs; the next `prepare` takes it in."""
        return await self.call("steer/push", kind=kind, content=content, **fields)

    async def project(self, **fields: Any) -> Answer:
        """`context/project`: the predicted size of the next request."""
        return await self.call("context/project", **fields)

    async def compact(self, **fields: Any) -> Answer:
        """`context/compact`."""
        return await self.call("context/compact", **fields)

    async def history(self, view: Literal["transcript", "model"] = "transcript", **fields: Any) -> Answer:
        """`session/history`, one page."""
        return await self.call("session/history", view=view, **fields)

    async def fetch(self, tool_call_id: str, **fields: Any) -> Answer:
        """`recall/fetch`, one page of a tool output."""
        return await self.call("recall/fetch", tool_call_id=tool_call_id, **fields)

    async def close(self) -> None:
        """`session/close`."""
        await self.call("session/close")

    async def call(self, method: str, **fields: Any) -> Answer:
        """Any method that takes a `sessionId`; `fields` in snake_case, those that are None left out."""
        answer: Answer = await self._client.request(method, {"sessionId": self.id, **_camel(fields)})
        return answer


def _camel(fields: dict[str, Any]) -> dict[str, Any]:
    """Names as on the wire. Values are native and stay untouched."""
    return {_camel_name(name): value for name, value in fields.items() if value is not None}


def _camel_name(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)
