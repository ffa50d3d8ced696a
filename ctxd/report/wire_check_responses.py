"""Whether OpenAI's Responses API would take the items of a request, decided without ctxd's own rules.

Owns a second opinion, like `wire_check`. Must not import anything of ctxd's dialects or core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_OUTPUT_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
_ROLES = ("user", "assistant", "system", "developer")


def check_items(items: Sequence[dict[str, Any]]) -> list[str]:
    """What would be refused, as sentences with the item's 0-based place."""
    if not items:
        return ["no items"]
    faults: list[str] = []
    calls: dict[str, str] = {}
    open_calls: dict[str, str] = {}
    for at, item in enumerate(items):
        kind = _kind(item)
        if kind is None:
            faults.append(f"{at}: an item without a type")
        elif kind == "message":
            faults += _check_message(at, item)
        elif kind == "reasoning":
            if at + 1 == len(items) or not _is_models(items[at + 1]):
                faults.append(f"{at}: reasoning without the item it led to")
        elif kind in _OUTPUT_OF:
            call = str(item.get("call_id"))
            if call in calls:
                faults.append(f"{at}: a call id is used twice")
            calls[call] = open_calls[call] = _OUTPUT_OF[kind]
        elif kind in _OUTPUT_OF.values():
            call = str(item.get("call_id"))
            if call not in calls:
                faults.append(f"{at}: an output without a call")
            elif call not in open_calls:
                faults.append(f"{at}: a call is answered twice")
            elif open_calls[call] != kind:
                faults.append(f"{at}: {open_calls[call]} is due, not {kind}")
            open_calls.pop(call, None)
            if not isinstance(item.get("output"), str | list | dict):
                faults.append(f"{at}: an output without content")
    if open_calls:
        faults.append(f"{len(items) - 1}: {len(open_calls)} call(s) without an output")
    return faults


def _kind(item: dict[str, Any]) -> str | None:
    kind = item.get("type")
    return kind if isinstance(kind, str) else "message" if "role" in item else None


def _is_models(item: dict[str, Any]) -> bool:
    """Whether the model brought an item forth: what follows reasoning, further reasoning included."""
    kind = _kind(item) or ""
    if kind == "message":
        return item.get("role") == "assistant"
    return bool(kind) and not kind.endswith("_output")


def _check_message(at: int, item: dict[str, Any]) -> list[str]:
    faults = [] if item.get("role") in _ROLES else [f"{at}: role {item.get('role')!r}"]
    content = item.get("content")
    if not content:
        return [*faults, f"{at}: empty content"]
    said = "output_text" if item.get("role") == "assistant" else "input_text"
    kinds = [part.get("type") for part in content] if isinstance(content, list) else []
    wrong = [kind for kind in kinds if kind in ("input_text", "output_text") and kind != said]
    return faults + [f"{at}: {kind} in a message of the {item.get('role')}" for kind in wrong]
