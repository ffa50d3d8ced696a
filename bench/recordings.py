"""The recorded sessions of other tools as plain conversations, those without an importer included.

Reads what benches need and no more: who said what, calls, and what the tools printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxd.importers.detect import UnknownFormat, read_transcripts
from ctxd.importers.steps import Boundary, Transcript

FOLDER = Path(__file__).parents[1] / "../shared/transcripts"
TOGETHER = 8
"""Short runs of one file that are played as one session."""

Message = dict[str, Any]


class Recording(msgspec.Struct, frozen=True):
    """One session: native messages of a dialect, every call answered or at the end."""

    name: str
    dialect: str
    messages: tuple[Message, ...]


def recordings(folder: Path = FOLDER) -> Iterator[Recording]:
    """Every session below the folder that has tool outputs, in order of name."""
    for path in sorted(folder.rglob("*.*")):
        if path.is_dir() or path.suffix not in (".jsonl", ".json", ".traj"):
            continue
        try:
            transcripts = read_transcripts(path)
        except UnknownFormat:
            reader = _READERS.get(path.parent.name)
            if reader is not None:
                yield Recording(f"{path.parent.name}/{path.name}", "openai-chat", tuple(reader(path)))
            continue
        for start in range(0, len(transcripts), TOGETHER):
            group = transcripts[start : start + TOGETHER]
            name = f"{path.parent.name}/{path.name}" + (f"#{start}" if len(transcripts) > 1 else "")
            yield Recording(name, group[0].dialect, tuple(m for t in group for m in _messages(t)))


def _messages(transcript: Transcript) -> Iterator[Message]:
    for step in transcript.steps:
        if not isinstance(step, Boundary):
            yield from step.messages


def _codex(path: Path) -> Iterator[Message]:
    calls: dict[str, Message] = {}
    for line in path.read_text().splitlines():
        payload = json.loads(line)["payload"]
        match payload.get("type"):
            case "message" if payload.get("role") in ("user", "assistant"):
                text = "\n".join(part.get("text", "") for part in payload["content"])
                yield {"role": payload["role"], "content": text or "…"}
            case "function_call":
                calls[payload["call_id"]] = _call(payload["call_id"], payload["name"], payload["arguments"])
            case "function_call_output" if payload["call_id"] in calls:
                output = payload["output"]
                yield calls.pop(payload["call_id"])
                yield _result(payload["call_id"], output if isinstance(output, str) else json.dumps(output))


def _gemini(path: Path) -> Iterator[Message]:
    for message in json.loads(path.read_text())["messages"]:
        if message.get("content"):
            role = "user" if message["type"] == "user" else "assistant"
            yield {"role": role, "content": str(message["content"])}
        for call in message.get("toolCalls", ()):
            parts = [part["functionResponse"]["response"] for part in call.get("result") or ()]
            text = "\n".join(str(part.get("output", json.dumps(part))) for part in parts)
            yield _call(call["id"], call["name"], json.dumps(call["args"]))
            yield _result(call["id"], text or "nothing")


def _pi(path: Path) -> Iterator[Message]:
    calls: dict[str, Message] = {}
    for line in path.read_text().splitlines():
        message = json.loads(line).get("message") or {}
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
        match message.get("role"):
            case "user" | "assistant" as role:
                if text:
                    yield {"role": role, "content": text}
                for part in parts:
                    if part.get("type") == "toolCall":
                        calls[part["id"]] = _call(part["id"], part["name"], json.dumps(part["arguments"]))
            case "toolResult" if message["toolCallId"] in calls:
                yield calls.pop(message["toolCallId"])
                yield _result(message["toolCallId"], text or "nothing")


def _swe_agent(path: Path) -> Iterator[Message]:
    for message in json.loads(path.read_text())["history"]:
        match message["role"]:
            case "assistant" if message.get("tool_calls"):
                yield {
                    "role": "assistant",
                    "content": message["content"],
                    "tool_calls": message["tool_calls"],
                }
            case "tool":
                yield _result(message["tool_call_ids"][0], message["content"])
            case "user" | "assistant" as role:
                content = message["content"]
                yield {"role": role, "content": content if isinstance(content, str) else json.dumps(content)}


def _call(call_id: str, name: str, arguments: str) -> Message:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def _result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


_READERS = {"codex": _codex, "gemini": _gemini, "pi": _pi, "swe-agent": _swe_agent}
