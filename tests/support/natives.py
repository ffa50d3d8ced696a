"""What a host says in each dialect: the same conversation in native messages, for tests that run in all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ctxd.dialects import registry

Native = dict[str, Any]


def user(dialect: str, text: str) -> Native:
    return registry.get(dialect).make("user", text)


def said(dialect: str, text: str) -> Native:
    return registry.get(dialect).make("assistant", text)


def calling(dialect: str, ids: Sequence[str], name: str = "Read", path: str = "/f") -> list[Native]:
    """Parallel calls of one response."""
    arguments = {"file_path": path}
    match dialect:
        case "anthropic":
            blocks = [{"type": "tool_use", "id": i, "name": name, "input": arguments} for i in ids]
            return [{"role": "assistant", "content": blocks}]
        case "openai-chat":
            function = {"name": name, "arguments": f'{{"file_path": "{path}"}}'}
            calls = [{"id": i, "type": "function", "function": function} for i in ids]
            return [{"role": "assistant", "content": None, "tool_calls": calls}]
        case "openai-responses":
            call = {"type": "function_call", "name": name, "arguments": f'{{"file_path": "{path}"}}'}
            thought = {
                "type": "reasoning",
                "id": f"rs_{ids[0]}",
                "summary": [],
                "encrypted_content": "c2VhbA",
            }
            return [thought, *({**call, "call_id": i} for i in ids)]
        case _:
            parts: list[Native] = [{"functionCall": {"id": i, "name": name, "args": arguments}} for i in ids]
            parts[0]["thoughtSignature"] = "c2ln"
            return [{"role": "model", "parts": parts}]


def answer(dialect: str, call_id: str, text: str, name: str = "Read") -> Native:
    """One result."""
    match dialect:
        case "anthropic":
            block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
            return {"role": "user", "content": [block]}
        case "openai-chat":
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": call_id, "output": text}
        case _:
            response = {"id": call_id, "name": name, "response": {"output": text}}
            return {"role": "user", "parts": [{"functionResponse": response}]}


def results(dialect: str, messages: Sequence[Native]) -> Iterator[tuple[str, str]]:
    """(call id, text) of every result that `answer` made, found in the native messages."""
    for message in messages:
        match dialect:
            case "anthropic":
                for block in message["content"] if isinstance(message["content"], list) else ():
                    if block["type"] == "tool_result":
                        yield block["tool_use_id"], block["content"]
            case "openai-chat":
                if message["role"] == "tool":
                    yield message["tool_call_id"], message["content"]
            case "openai-responses":
                if message.get("type") == "function_call_output":
                    yield message["call_id"], message["output"]
            case _:
                for part in message["parts"]:
                    if "functionResponse" in part:
                        response = part["functionResponse"]
                        yield response["id"], response["response"]["output"]


def usage(dialect: str, prompt: int, completion: int = 50) -> Native:
    """A native usage object."""
    match dialect:
        case "anthropic":
            return {"input_tokens": prompt, "output_tokens": completion}
        case "openai-chat":
            sum_ = prompt + completion
            return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": sum_}
        case "openai-responses":
            sum_ = prompt + completion
            return {"input_tokens": prompt, "output_tokens": completion, "total_tokens": sum_}
        case _:
            sum_ = prompt + completion
            return {
                "promptTokenCount": prompt,
                "candidatesTokenCount": completion,
                "totalTokenCount": sum_,
            }
