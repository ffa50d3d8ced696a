"""A host that replays: one daemon, its calls timed, its token counts asked once per message.

Owns talking to the daemon. Must not know what is measured or shown.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from ctxd.client import Client
from ctxd.client.connection import folder_uri
from ctxd.importers.steps import DialectName, Transcript

_COUNTED_AS = {"id": "gpt-4o"}
"""A model whose encoding is o200k without a factor, so that counts are plain o200k."""

_MODEL_OF: dict[DialectName, str] = {
    "anthropic": "claude-sonnet-4-5",
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-5-codex",
    "gemini": "gemini-2.5-pro",
}
"""Stands for the model where a recording names none."""


class Host:
    """One started daemon and its clock. Times are in milliseconds, as the host waits for them."""

    def __init__(self, client: Client, workspace: Path) -> None:
        self._client = client
        self._workspace = folder_uri(workspace)
        self._counts: dict[bytes, int] = {}
        self.times: dict[str, list[float]] = {}

    @classmethod
    @asynccontextmanager
    async def start(cls, folder: Path, options: Mapping[str, Any]) -> AsyncIterator[Host]:
        """Start a daemon that keeps its state in `folder`, away from the user's own."""
        storage = {"root": str(folder / "state")}
        workspace = folder / "workspace"
        workspace.mkdir(parents=True)
        async with Client.start(workspace, options={**options, "storage": storage}) as client:
            yield cls(client, workspace)

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """One request, timed. Raises ClientError."""
        began = time.perf_counter()
        try:
            return await self._client.request(method, params)
        finally:
            self.times.setdefault(method, []).append((time.perf_counter() - began) * 1000)

    async def open_session(self, transcript: Transcript, window: int) -> str:
        """A new session that speaks a transcript's dialect, under a window in tokens; its id."""
        model = transcript.model or _MODEL_OF[transcript.dialect]
        params = {
            "workspace": self._workspace,
            "mode": "create",
            "dialect": transcript.dialect,
            "model": {"id": model, "contextWindow": window},
            "system": transcript.system,
            "tools": list(transcript.tools) or None,
        }
        info = await self.call("session/open", {k: v for k, v in params.items() if v is not None})
        return str(info["sessionId"])

    async def count_text(self, text: str) -> int:
        """Plain o200k tokens of a text."""
        params = {"text": text, "model": _COUNTED_AS}
        return int((await self._client.request("tokens/count", params))["tokens"])

    async def count_o200k(self, dialect: str, messages: Iterable[Mapping[str, Any]]) -> int:
        """Plain o200k tokens of messages, each one counted once by the daemon."""
        total = 0
        for message in messages:
            key = msgspec.json.encode(message)
            if key not in self._counts:
                params = {"messages": [message], "dialect": dialect, "model": _COUNTED_AS}
                self._counts[key] = (await self._client.request("tokens/count", params))["tokens"]
            total += self._counts[key]
        return total
