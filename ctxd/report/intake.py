"""Bringing recorded sessions into a daemon's state: one session for each recording.

Owns what of a recording becomes an append, and in which batches. Memory is bounded by a batch, however
long the recording. Compactions that the recording tool made are left out, since everything is kept and
ctxd compacts by itself; usage reported behind one is left out with it, since it speaks of a shorter
prompt. Shows nothing itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxd.client import Client, ClientError
from ctxd.client.connection import folder_uri
from ctxd.importers.steps import Boundary, Message, Note, NoteTaker, Response, Source

BATCH_BYTES = 1024 * 1024
"""Messages of about this many bytes are appended at once."""

_REFUSED = ("invalidMessages", "tooLarge")
"""Kinds of errors that concern the messages of a batch, not the session."""

_GONE = "connectionClosed"


class Intake(msgspec.Struct, frozen=True, rename="camel"):
    """What became of one recording. `usages`: responses whose usage was given to the daemon.

    `error` says why nothing, or no more, was imported; empty when all is well.
    """

    file: str
    format: str
    dialect: str
    session_id: str
    model: str
    messages: int
    responses: int
    usages: int
    notes: tuple[Note, ...]
    error: str


class _Portion(msgspec.Struct, frozen=True):
    """The messages of one step. `usage` is of the response they are, where it still counts."""

    line: int
    messages: tuple[Message, ...]
    is_response: bool
    usage: dict[str, Any] | None
    size: int

    def meta(self) -> list[dict[str, Any] | None]:
        """Usage goes with the last message of a response."""
        meta: list[dict[str, Any] | None] = [None] * len(self.messages)
        if self.usage is not None:
            meta[-1] = {"usage": self.usage}
        return meta


async def take_in(client: Client, workspace: Path, source: Source, file: str, session_id: str) -> Intake:
    """Import one recording as a new session. Raises ClientError when the daemon is gone, and OSError.

    What the daemon refuses is left out and noted as `refused`.
    """
    lane = _Lane(client, session_id)
    batches = _batch(source)
    error = ""
    try:
        await client.request("session/open", _opening(source, workspace, session_id))
        batch = await asyncio.to_thread(next, batches, None)
        while batch is not None:
            appending = asyncio.create_task(lane.append(batch))
            try:
                batch = await asyncio.to_thread(next, batches, None)
            finally:
                await appending
        await client.request("session/close", {"sessionId": session_id})
    except ClientError as failure:
        if failure.kind == _GONE:
            raise
        error = str(failure)
    return Intake(
        file=file,
        format=source.format,
        dialect=source.dialect,
        session_id=session_id,
        model=source.model,
        messages=lane.messages,
        responses=lane.responses,
        usages=lane.usages,
        notes=(*source.notes.notes(), *lane.refused.notes()),
        error=error,
    )


class _Lane:
    """Appends to one session, in order, and counts what was taken."""

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self.messages = self.responses = self.usages = 0
        self.refused = NoteTaker()

    async def append(self, batch: list[_Portion]) -> None:
        """A batch at once; where the daemon refuses it, what it does not refuse, step by step."""
        try:
            await self._append(batch)
        except ClientError as failure:
            if failure.kind not in _REFUSED:
                raise
            if len(batch) == 1:
                self.refused.note("refused", batch[0].line)
                return
            for portion in batch:
                await self.append([portion])

    async def _append(self, batch: list[_Portion]) -> None:
        params = {
            "sessionId": self._session_id,
            "messages": [message for portion in batch for message in portion.messages],
            "meta": [meta for portion in batch for meta in portion.meta()],
        }
        await self._client.request("session/append", _encode(params))
        self.messages += sum(len(portion.messages) for portion in batch)
        self.responses += sum(portion.is_response for portion in batch)
        self.usages += sum(portion.usage is not None for portion in batch)


def _batch(source: Source) -> Iterator[list[_Portion]]:
    batch: list[_Portion] = []
    size = 0
    compacted = False
    for step in source.steps:
        if isinstance(step, Boundary):
            compacted = True
            continue
        usage = step.usage if isinstance(step, Response) and not compacted else None
        length = sum(map(_weigh, step.messages))
        if batch and size + length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(_Portion(step.line, step.messages, isinstance(step, Response), usage, length))
        size += length
    if batch:
        yield batch


def _encode(params: dict[str, Any]) -> dict[str, Any] | bytes:
    """JSON text where the fast encoder can say it: not lone surrogates, nor numbers beyond 64 bits."""
    try:
        return msgspec.json.encode(params)
    except (UnicodeEncodeError, OverflowError):
        return params


def _weigh(value: Any) -> int:
    """About how many bytes a native value takes on the wire."""
    match value:
        case str():
            return len(value) + 2
        case dict():
            return 2 + sum(len(name) + 4 + _weigh(member) for name, member in value.items())
        case list():
            return 2 + sum(1 + _weigh(member) for member in value)
        case _:
            return 8


def _opening(source: Source, workspace: Path, session_id: str) -> dict[str, Any]:
    model = {"id": source.model, "contextWindow": source.window} if source.model else None
    fields = {
        "workspace": folder_uri(workspace),
        "sessionId": session_id,
        "mode": "create",
        "dialect": source.dialect,
        "model": {k: v for k, v in model.items() if v is not None} if model else None,
        "system": source.system,
        "tools": list(source.tools) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
