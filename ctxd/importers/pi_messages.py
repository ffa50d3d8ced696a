"""pi's messages as native ones of a dialect.

Owns the mapping of pi's blocks (`text`, `thinking`, `toolCall`, `image`). What pi left out when it sent
a message is left out here, and noted. Must not know entries, branches or compactions.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ctxd.importers.steps import DialectName, Message, NoteTaker, read_count
from ctxd.importers.weaving import OPENING


class Writer(ABC):
    """Makes native messages. Noted: `emptyMessage`, `foreignThinking`, `unsignedThinking`, `unknownBlock`."""

    dialect: DialectName
    opening: Message | None = None
    """What stands before a recording that begins with a response."""

    join: Callable[[list[Message]], Message] | None = None
    """Makes one message of the results of one response, where the dialect wants that."""

    def __init__(self, notes: NoteTaker) -> None:
        self._notes = notes

    def answer(self, line: int, message: Message) -> Message | None:
        """An assistant's message; None where nothing of it is left (a response broken off at once)."""
        blocks: list[Message] = []
        for block in _blocks(message.get("content")):
            match block.get("type"):
                case "text":
                    blocks += [block] if str(block.get("text") or "").strip() else []
                case "thinking":
                    blocks += self._thinking(line, block, message)
                case "toolCall" if isinstance(block.get("id"), str) and isinstance(block.get("name"), str):
                    blocks.append(block)
                case _:
                    self._notes.note("unknownBlock", line)
        if not blocks:
            self._notes.note("emptyMessage", line)
            return None
        return self._write_answer(blocks)

    def words(self, line: int, message: Message) -> Message | None:
        """What a person or the program said in the user's place; None where it is nothing."""
        if message.get("role") == "bashExecution":
            return _user(_ran(message))
        content = message.get("content")
        if isinstance(content, list):
            blocks = [block for block in map(self._write_block, _blocks(content)) if block is not None]
            if blocks:
                return _user(blocks)
        elif isinstance(content, str) and content.strip():
            return _user(content)
        self._notes.note("emptyMessage", line)
        return None

    def write_all(self, line: int, messages: Iterable[Message]) -> list[Message]:
        """Messages that stand together. Results without their call are left out."""
        natives: list[Message] = []
        results: list[Message] = []
        calls: set[str] = set()
        for message in messages:
            if message.get("role") == "toolResult":
                if message.get("toolCallId") in calls:
                    calls.discard(message["toolCallId"])
                    results.append(self.result(message))
                continue
            natives += self._joined(results)
            results = []
            if message.get("role") == "assistant":
                native = self.answer(line, message)
                calls = {*call_ids(message)}
            else:
                native, calls = self.words(line, message), set()
            natives += [native] if native is not None else []
        return natives + self._joined(results)

    def _joined(self, results: list[Message]) -> list[Message]:
        return [self.join(results)] if results and self.join is not None else results

    def _thinking(self, line: int, block: Message, message: Message) -> list[Message]:
        """Thinking goes back where it came from, and only signed."""
        if message.get("api", "anthropic-messages") != "anthropic-messages":
            self._notes.note("foreignThinking", line)
            return []
        if not block.get("thinkingSignature"):
            self._notes.note("unsignedThinking", line)
            return []
        return [block]

    @abstractmethod
    def result(self, message: Message) -> Message:
        """What a tool answered."""

    @abstractmethod
    def usage(self, usage: Any) -> tuple[dict[str, Any] | None, int | None, int | None]:
        """Native usage, the prompt and the answer in tokens; none where all is 0 (nothing came back)."""

    @abstractmethod
    def _write_answer(self, blocks: list[Message]) -> Message: ...

    @abstractmethod
    def _write_block(self, block: Message) -> Message | None: ...


class AnthropicWriter(Writer):
    """The Anthropic dialect: results of one response are one user message."""

    dialect: DialectName = "anthropic"

    def __init__(self, notes: NoteTaker) -> None:
        super().__init__(notes)
        self.opening = {"role": "user", "content": OPENING}

    @staticmethod
    def join(results: list[Message]) -> Message:
        return {"role": "user", "content": [block for result in results for block in result["content"]]}

    def result(self, message: Message) -> Message:
        native: Message = {
            "type": "tool_result",
            "tool_use_id": message.get("toolCallId"),
            "content": [b for b in map(self._write_block, _blocks(message.get("content"))) if b is not None],
        }
        if message.get("isError"):
            native["is_error"] = True
        return {"role": "user", "content": [native]}

    def usage(self, usage: Any) -> tuple[dict[str, Any] | None, int | None, int | None]:
        counts = _counts(usage)
        if counts is None:
            return None, None, None
        fresh, written, cached, completion = counts
        native = {
            "input_tokens": fresh,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cached,
            "output_tokens": completion,
        }
        return native, fresh + written + cached, completion

    def _write_answer(self, blocks: list[Message]) -> Message:
        return {"role": "assistant", "content": [_anthropic(block) for block in blocks]}

    def _write_block(self, block: Message) -> Message | None:
        match block:
            case {"type": "text", "text": str(text)}:
                return {"type": "text", "text": text} if text.strip() else None
            case {"type": "image", "data": str(data), "mimeType": str(mime)}:
                return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
            case _:
                return None


class ChatWriter(Writer):
    """The OpenAI chat dialect: text and calls; its API takes no thinking back."""

    dialect: DialectName = "openai-chat"

    def _thinking(self, line: int, block: Message, message: Message) -> list[Message]:
        self._notes.note("foreignThinking", line)
        return []

    def result(self, message: Message) -> Message:
        texts = [block.get("text") for block in _blocks(message.get("content"))]
        said = "\n".join(text for text in texts if isinstance(text, str))
        return {"role": "tool", "tool_call_id": message.get("toolCallId"), "content": said}

    def usage(self, usage: Any) -> tuple[dict[str, Any] | None, int | None, int | None]:
        counts = _counts(usage)
        if counts is None:
            return None, None, None
        fresh, written, cached, completion = counts
        prompt = fresh + written + cached
        native = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        return native, prompt, completion

    def _write_answer(self, blocks: list[Message]) -> Message:
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        calls = [
            {
                "id": block["id"],
                "type": "function",
                "function": {"name": block["name"], "arguments": json.dumps(_arguments(block))},
            }
            for block in blocks
            if block["type"] == "toolCall"
        ]
        message: Message = {"role": "assistant", "content": "\n".join(texts) or None}
        return {**message, "tool_calls": calls} if calls else message

    def _write_block(self, block: Message) -> Message | None:
        match block:
            case {"type": "text", "text": str(text)}:
                return {"type": "text", "text": text} if text.strip() else None
            case {"type": "image", "data": str(data), "mimeType": str(mime)}:
                return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
            case _:
                return None


def call_ids(message: Message) -> list[str]:
    """Ids of the calls in one of pi's messages."""
    calls = (block for block in _blocks(message.get("content")) if block.get("type") == "toolCall")
    return [call["id"] for call in calls if isinstance(call.get("id"), str)]


def _anthropic(block: Message) -> Message:
    match block["type"]:
        case "thinking" if block.get("redacted"):
            return {"type": "redacted_thinking", "data": block["thinkingSignature"]}
        case "thinking":
            thought = str(block.get("thinking") or "")
            return {"type": "thinking", "thinking": thought, "signature": block["thinkingSignature"]}
        case "toolCall":
            call = {"type": "tool_use", "id": block["id"], "name": block["name"]}
            return {**call, "input": _arguments(block)}
        case _:
            return {"type": "text", "text": block["text"]}


def _arguments(block: Message) -> dict[str, Any]:
    arguments = block.get("arguments")
    return arguments if isinstance(arguments, dict) else {}


def _counts(usage: Any) -> tuple[int, int, int, int] | None:
    """Fresh, written to the cache, read from it, answered; None where all is 0 (nothing came back)."""
    known = [read_count(usage, name) or 0 for name in ("input", "cacheWrite", "cacheRead", "output")]
    return (known[0], known[1], known[2], known[3]) if any(known) else None


def _blocks(content: Any) -> list[Message]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _user(content: str | list[Message]) -> Message:
    return {"role": "user", "content": content}


def _ran(message: Message) -> str:
    """A command a person ran, in pi's words."""
    output = message.get("output")
    text = f"Ran `{message.get('command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text
