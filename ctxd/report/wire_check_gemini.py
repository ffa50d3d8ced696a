"""Whether the Gemini API would take the contents of a request, decided without ctxd's own rules.

Owns a second opinion, like `wire_check`. Must not import anything of ctxd's dialects or core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DATA = (
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "thoughtSignature",
)


def check_contents(contents: Sequence[dict[str, Any]]) -> list[str]:
    """What would be refused, as sentences with the content's 0-based place."""
    if not contents:
        return ["no contents"]
    faults: list[str] = []
    open_calls: list[dict[str, Any]] = []
    for at, content in enumerate(contents):
        role, parts = content.get("role", "user"), content.get("parts")
        if role not in ("user", "model", "function"):
            faults.append(f"{at}: role {role!r}")
        if at == 0 and role == "model":
            faults.append("0: the first content is the model's")
        if not isinstance(parts, list) or not parts:
            faults.append(f"{at}: no parts")
            parts = []
        faults += [f"{at}: a part without data" for part in parts if not _has_data(part)]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if calls and role != "model":
            faults.append(f"{at}: a call in a content that is not the model's")
        if responses and role == "model":
            faults.append(f"{at}: a response in a content of the model's")
        faults += _pair(at, open_calls, responses)
        open_calls = calls
    if open_calls:
        faults.append(f"{len(contents) - 1}: {len(open_calls)} call(s) without a response at the end")
    return faults


def _pair(at: int, calls: list[dict[str, Any]], responses: list[dict[str, Any]]) -> list[str]:
    """The content behind a model's calls answers all of them, by id where they have one, else by name."""
    asked, answered = sorted(map(_identity, calls)), sorted(map(_identity, responses))
    if len(asked) != len(answered):
        return [f"{at}: {len(calls)} call(s) of the content before, {len(responses)} response(s)"]
    return [] if asked == answered else [f"{at}: a response answers another call"]


def _identity(part: dict[str, Any]) -> tuple[str, str]:
    return str(part.get("id") or ""), str(part.get("name"))


def _has_data(part: dict[str, Any]) -> bool:
    if part.get("text") is not None and not any(part.get(name) for name in _DATA):
        return bool(part["text"])
    return any(part.get(name) is not None for name in _DATA)
