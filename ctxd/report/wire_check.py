"""Whether a provider would take a request, decided without ctxd's own rules.

Owns a second opinion, written from the providers' documents, so that a fault in `ctxd.dialects` cannot
hide itself. Must not import anything of ctxd's dialects or core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, assert_never

from ctxd.report.wire_check_gemini import check_contents
from ctxd.report.wire_check_responses import check_items

Message = dict[str, Any]


def check_request(
    dialect: Literal["anthropic", "openai-chat", "openai-responses", "gemini"], messages: Sequence[Message]
) -> list[str]:
    """What a provider would refuse, as sentences with the message's 0-based place; empty is sendable."""
    match dialect:
        case "anthropic":
            return _check_anthropic(messages)
        case "openai-chat":
            return _check_openai(messages)
        case "openai-responses":
            return check_items(messages)
        case "gemini":
            return check_contents(messages)
        case _:
            assert_never(dialect)


def _check_anthropic(messages: Sequence[Message]) -> list[str]:
    if not messages:
        return ["no messages"]
    faults: list[str] = []
    if messages[0].get("role") != "user":
        faults.append("0: the first message is not the user's")
    used: set[str] = set()
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        role = message.get("role")
        blocks = _anthropic_blocks(message)
        if role not in ("user", "assistant"):
            faults.append(f"{at}: role {role!r}")
        if not blocks:
            faults.append(f"{at}: empty content")
        faults += [f"{at}: blank text" for block in blocks if _has_blank_text(block)]
        calls = [str(b.get("id")) for b in blocks if b.get("type") == "tool_use"]
        results = [str(b.get("tool_use_id")) for b in blocks if b.get("type") == "tool_result"]
        faults += _pair(at, open_calls, results)
        if any(b.get("type") == "tool_result" for b in blocks[len(results) :]):
            faults.append(f"{at}: a result stands behind other content")
        if calls and role != "assistant":
            faults.append(f"{at}: a call in a message that is not the assistant's")
        if results and role != "user":
            faults.append(f"{at}: a result in a message that is not the user's")
        if used.intersection(calls) or len(set(calls)) != len(calls):
            faults.append(f"{at}: a call id is used twice")
        used.update(calls)
        open_calls = calls
    if open_calls:
        faults.append(f"{len(messages) - 1}: {len(open_calls)} call(s) without a result at the end")
    return faults


def _check_openai(messages: Sequence[Message]) -> list[str]:
    if not messages:
        return ["no messages"]
    faults: list[str] = []
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        role = message.get("role")
        content = message.get("content")
        if role == "tool":
            call = str(message.get("tool_call_id"))
            if call in open_calls:
                open_calls.remove(call)
            else:
                faults.append(f"{at}: a result without an open call")
            if not isinstance(content, str | list):
                faults.append(f"{at}: a result without content")
            continue
        if open_calls:
            faults.append(f"{at}: {len(open_calls)} call(s) without a result before it")
        open_calls = []
        if role == "assistant":
            open_calls = [str(call.get("id")) for call in message.get("tool_calls") or []]
            if len(set(open_calls)) != len(open_calls):
                faults.append(f"{at}: a call id is used twice")
            if not (content or open_calls or message.get("refusal") or message.get("audio")):
                faults.append(f"{at}: neither content nor calls")
        elif role in ("user", "system", "developer"):
            if not content:
                faults.append(f"{at}: empty content")
        else:
            faults.append(f"{at}: role {role!r}")
    if open_calls:
        faults.append(f"{len(messages) - 1}: {len(open_calls)} call(s) without a result at the end")
    return faults


def _pair(at: int, calls: list[str], results: list[str]) -> list[str]:
    faults = []
    if missing := set(calls) - set(results):
        faults.append(f"{at}: {len(missing)} call(s) of the message before without a result")
    if orphans := set(results) - set(calls):
        faults.append(f"{at}: {len(orphans)} result(s) without a call in the message before")
    if len(set(results)) != len(results):
        faults.append(f"{at}: a call is answered twice")
    return faults


def _anthropic_blocks(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _has_blank_text(block: dict[str, Any]) -> bool:
    if block.get("type") == "text":
        return not str(block.get("text") or "").strip()
    inner = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inner, list):
        return any(_has_blank_text(part) for part in inner if isinstance(part, dict))
    return False
