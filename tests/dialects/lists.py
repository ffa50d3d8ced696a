"""Message lists at large, for properties: lawful ones, and ones broken in every way there is."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.dialects.notation import Messages, read

_IDS = st.sampled_from(["1", "2", "3"])
_RESULTS = st.sampled_from(["1", "2", "3", "1!", "2!"])
_SAID = st.sampled_from(["t", "more", "b", "img", "odd"])
_THOUGHT = st.sampled_from(["think", "musing"])


def _message(letter: str, items: st.SearchStrategy[str], most: int = 4) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=most).map(lambda found: f"{letter}({','.join(found)})")


_BROKEN = {
    "anthropic": st.one_of(
        _message("U", _SAID | _RESULTS),
        _message("A", _SAID | _IDS | _THOUGHT),
        _message("U", _RESULTS),
        _message("A", _IDS, 2),
        _message("S", _SAID, 2),
        _message("U", _THOUGHT, 1),
    ),
    "openai-chat": st.one_of(
        _message("U", _SAID),
        _message("A", _SAID | _IDS | _THOUGHT),
        _message("A", _IDS, 2),
        _RESULTS.map(lambda item: f"R({item})"),
        _message("S", st.sampled_from(["t", "b"]), 2),
    ),
    "openai-responses": st.one_of(
        _message("U", _SAID),
        _message("A", st.sampled_from(["t", "more", "b", "think", "odd"])),
        _message("A", _IDS | st.just("think"), 3),
        _IDS.map(lambda item: f"A({item})"),
        _RESULTS.map(lambda item: f"R({item})"),
        _message("S", st.sampled_from(["t", "b"]), 2),
    ),
    "gemini": st.one_of(
        _message("U", _SAID | _RESULTS),
        _message("A", _SAID | _IDS | _THOUGHT | st.just("sig")),
        _message("U", _RESULTS),
        _message("A", _IDS, 2),
        _message("U", _THOUGHT, 1),
    ),
}


def any_list(dialect: str) -> st.SearchStrategy[Messages]:
    """Readable messages in any order, lawful or not; odd shapes of content included."""
    messages = st.lists(_BROKEN[dialect], max_size=9).map(lambda parts: read(" ".join(parts), dialect))
    odd = st.lists(st.sampled_from(_ODD[dialect]), max_size=2)
    mixed = st.tuples(messages, odd, st.integers(0, 9)).map(
        lambda drawn: [*drawn[0][: drawn[2]], *drawn[1], *drawn[0][drawn[2] :]]
    )
    return mixed | _shuffled(dialect)


@st.composite
def _shuffled(draw: st.DrawFn, dialect: str) -> Messages:
    """A lawful conversation with a few messages moved or lost."""
    messages = draw(lawful_list(dialect))
    for _ in range(draw(st.integers(1, 3)) if messages else 0):
        moved = messages.pop(draw(st.integers(0, len(messages) - 1)))
        if draw(st.booleans()):
            messages.insert(draw(st.integers(0, len(messages))), moved)
        if not messages:
            break
    return messages


@st.composite
def lawful_list(draw: st.DrawFn, dialect: str) -> Messages:
    """A conversation as a careful host keeps it, its newest calls perhaps still pending."""
    parts: list[str] = []
    number = 0
    for _ in range(draw(st.integers(0, 3))):
        apart = "U(t,more)" if dialect == "gemini" else "U U(more)"
        parts.append(draw(st.sampled_from(["U", "U(t,img)", apart])))
        if dialect == "anthropic" and draw(st.booleans()):
            parts.append("S")
        for _ in range(draw(st.integers(0, 3))):
            ids = [str(number + k) for k in range(1, draw(st.integers(1, 3)) + 1)]
            number += len(ids)
            opening = draw(st.sampled_from(_OPENINGS[dialect]))
            parts.append(f"A({opening}{','.join(ids)})")
            order: list[str] = draw(st.permutations(ids))
            together = dialect == "gemini" or draw(st.booleans())
            parts.extend(_answers(dialect, order, together=together))
        parts.append(draw(st.sampled_from(["A", "A(think,t)"])))
    if draw(st.booleans()) and parts:
        parts.append(f"U A(think,{number + 1},{number + 2})")
        if draw(st.booleans()):
            parts.extend(_answers(dialect, [str(number + 2)], together=True))
    return read(" ".join(parts), dialect)


def _answers(dialect: str, ids: list[str], *, together: bool) -> list[str]:
    if dialect in ("openai-chat", "openai-responses"):
        return [f"R({key})" for key in ids]
    return [f"U({','.join(ids)})"] if together else [f"U({key})" for key in ids]


_OPENINGS = {
    "anthropic": ["think,", "", "t,", "musing,"],
    "openai-chat": ["think,", "", "t,", "musing,"],
    "openai-responses": ["think,", "", "t,", "think,odd,think,t,"],
    "gemini": ["think,", "", "t,", "sig,", "musing,sig,"],
}
_BLANKS = [{"type": "text", "text": ""}, {"type": "text", "text": "kept"}, {"type": "text", "text": " "}]
_ODD: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": "said plainly", "extra": 1},
        {"role": "system", "content": "rules"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": _BLANKS}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": _BLANKS[:1]}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c3",
                    "content": [{"type": "document", "source": {"type": "text", "data": " "}}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
        {"role": "user", "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": {}}]},
    ],
    "openai-chat": [
        {"role": "user", "content": ""},
        {"role": "developer", "content": "rules"},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": [], "refusal": "no"},
        {"role": "assistant", "content": None, "audio": {"id": "a1"}},
        {"role": "assistant", "content": None, "reasoning_content": "hm"},
        {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": None},
        {"role": "tool", "tool_call_id": "c1", "content": _BLANKS},
        {"role": "tool", "tool_call_id": "c2", "content": _BLANKS[:1]},
        {"role": "tool", "tool_call_id": "c2", "content": []},
    ],
    "openai-responses": [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": "said plainly", "extra": 1},
        {"role": "developer", "content": []},
        {"id": "msg_1"},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": "by its id"},
        {"type": "reasoning", "id": "msg_1", "summary": []},
        {"type": "function_call", "id": "msg_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "compaction", "encrypted_content": "sealed"},
        {"type": "local_shell_call", "id": "l", "call_id": "c1", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "c1", "output": "done"},
        {"type": "shell_call", "call_id": "c2", "action": {"commands": ["ls"]}},
        {"type": "apply_patch_call", "call_id": "c3", "operation": {"type": "delete_file", "path": "a"}},
        {"type": "computer_call", "call_id": "c1", "action": {"type": "screenshot"}},
        {"type": "custom_tool_call", "call_id": "c2", "name": "sh", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": _BLANKS},
        {"type": "function_call_output", "call_id": "c3", "output": _BLANKS[:1]},
        {"type": "mcp_approval_request", "id": "c1", "name": "x", "arguments": "{}", "server_label": "s"},
        {"type": "mcp_approval_response", "approval_request_id": "c1", "approve": True},
    ],
    "gemini": [
        {"role": "model"},
        {"parts": [{"text": "without a role"}], "extra": 1},
        {"role": "function", "parts": [{"functionResponse": {"id": "c1", "name": "run"}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"text": ""}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]},
        {
            "role": "user",
            "parts": [
                {"text": "first"},
                {"functionResponse": {"name": "f", "response": {"output": "2"}}},
                {"functionResponse": {"name": "f", "response": {"error": "3"}}},
            ],
        },
        {"role": "model", "parts": [{"functionResponse": {"id": "c1", "name": "run"}}, {}]},
        {"role": "user", "parts": [{"functionCall": {"id": "c1", "name": "run"}}]},
    ],
}
