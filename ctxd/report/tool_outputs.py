"""Every tool output a recording holds, in its stored form, and whether a daemon still has its bytes.

The stored form is written again here on purpose (protocol.md, section 10): recovery is judged against
the recording, not against ctxd's own reading of it.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ctxd.client import ClientError
from ctxd.report.host import Host

Message = dict[str, Any]

_TEXT = ("text", "input_text", "output_text")
_MEDIA = ("input_image", "input_file", "input_audio")


class ToolOutput(msgspec.Struct, frozen=True):
    """One output. `occurrence` is 0-based among those with the same call id, oldest first."""

    call_id: str
    occurrence: int
    stored: bytes


class Recovery(msgspec.Struct, frozen=True):
    """What became of the outputs that the model no longer sees. `lost` names call ids, never content."""

    outputs: int
    evicted: int
    recovered: int
    lost: tuple[str, ...]


class OutputBook:
    """The outputs that were fed to a daemon, in order."""

    def __init__(self) -> None:
        self._outputs: list[ToolOutput] = []
        self._seen: Counter[str] = Counter()

    def add(self, messages: Iterable[Message]) -> None:
        """Remember every tool output in these messages."""
        for call_id, content in find_results(messages):
            self._outputs.append(ToolOutput(call_id, self._seen[call_id], store_form(content)))
            self._seen[call_id] += 1

    async def recover(self, host: Host, session_id: str) -> Recovery:
        """Fetch back whatever the model view does not show whole, page by page, and compare bytes."""
        history = await _read_pages(host, "session/history", session_id, "messages", view="model")
        shown = Counter(
            (call_id, store_form(content))
            for call_id, content in find_results(entry["message"] for entry in history)
        )
        listed = await _read_pages(host, "recall/list", session_id, "entries")
        hidden = Counter(entry["toolCallId"] for entry in listed if not entry["inContext"])
        evicted: list[ToolOutput] = []
        for output in reversed(self._outputs):
            key = (output.call_id, output.stored)
            if shown[key] > 0 and hidden[output.call_id] == 0:
                shown[key] -= 1
            else:
                evicted.append(output)
        lost = [o.call_id for o in evicted if await self._fetch(host, session_id, o) != o.stored]
        return Recovery(len(self._outputs), len(evicted), len(evicted) - len(lost), tuple(lost))

    async def _fetch(self, host: Host, session_id: str, output: ToolOutput) -> bytes | None:
        params: dict[str, Any] | None = {"sessionId": session_id, "toolCallId": output.call_id}
        if self._seen[output.call_id] > 1:
            params = {**(params or {}), "occurrence": output.occurrence}
        pages: list[bytes] = []
        try:
            while params is not None:
                page = await host.call("recall/fetch", params)
                content = page["content"]
                pages.append(
                    base64.b64decode(content)
                    if page["encoding"] == "base64"
                    else content.encode("utf-8", "surrogatepass")
                )
                params = page.get("next")
        except ClientError:
            return None
        return b"".join(pages)


def find_results(messages: Iterable[Message]) -> Iterator[tuple[str, Any]]:
    """(call id, native content) of every tool result, in any dialect."""
    for message in messages:
        content = message.get("content")
        kind = message.get("type")
        if message.get("role") == "tool":
            yield str(message.get("tool_call_id")), content
        elif isinstance(kind, str) and kind.endswith("_output"):
            yield str(message.get("call_id")), message.get("output")
        elif isinstance(message.get("parts"), list):
            yield from _find_responses(message["parts"])
        elif isinstance(content, list):
            for block in content:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    yield str(block.get("tool_use_id")), block.get("content")


def store_form(content: Any) -> bytes:
    """A string as UTF-8; text blocks joined by a newline; nothing as nothing; else compact JSON.

    A Gemini response that holds one string, under a name for the whole of it, is that string. Media
    parts of a Responses output are no part of its text.
    """
    if isinstance(content, list):
        content = [part for part in content if not (isinstance(part, dict) and part.get("type") in _MEDIA)]
    match content:
        case None:
            text = ""
        case str(text):
            pass
        case [*parts] if all(_is_text(part) for part in parts):
            text = "\n".join(part["text"] for part in parts)
        case {"output": str(text)} | {"result": str(text)} | {"error": str(text)} if len(content) == 1:
            pass
        case _:
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _find_responses(parts: list[Any]) -> Iterator[tuple[str, Any]]:
    """Gemini's; one without an id is known by its name and its place among those of that name."""
    unnamed: Counter[str] = Counter()
    for part in parts:
        response = part.get("functionResponse") if isinstance(part, dict) else None
        if not isinstance(response, dict):
            continue
        name, identity = str(response.get("name")), response.get("id")
        if not identity:
            unnamed[name] += 1
            identity = f"call:{name}" if unnamed[name] == 1 else f"call:{name}#{unnamed[name]}"
        yield str(identity), response.get("response") or {}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _TEXT and isinstance(part.get("text"), str)


async def _read_pages(
    host: Host, method: str, session_id: str, member: str, **fields: Any
) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    params: dict[str, Any] = {"sessionId": session_id, **fields}
    while True:
        page = await host.call(method, params)
        entries += page[member]
        if not page.get("next"):
            return entries
        params["after"] = page["next"]
