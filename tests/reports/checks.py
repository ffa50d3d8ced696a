"""What every report's session must still do, whatever was done to it: make a request a provider takes."""

from __future__ import annotations

from typing import Any

from ctxd.report.wire_check import check_request
from tests.service.host import Answer, Session

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 60_000}


def sent(session: Session, phase: str = "turnStart", *, pending: bool = False) -> list[Answer]:
    """The messages of the next request, judged by ctxd's laws and by a second opinion.

    With `pending` the newest calls wait for their results, which no request could be sent with.
    """
    messages: list[Answer] = session.prepare(phase)["messages"]
    dialect = session.info["dialect"]
    verdict = session.host.call("context/validate", dialect=dialect, messages=messages)
    assert verdict == {"ok": True, "violations": []}
    faults = check_request(dialect, join_turns(messages) if dialect == "anthropic" else messages)
    assert [f for f in faults if not (pending and "without a result at the end" in f)] == []
    return messages


def join_turns(messages: list[Answer]) -> list[Answer]:
    """Neighbouring messages of one role as one, which is how the Messages API reads them."""
    joined: list[Answer] = []
    for message in messages:
        if joined and joined[-1]["role"] == message["role"]:
            joined[-1] = {**joined[-1], "content": [*_blocks(joined[-1]), *_blocks(message)]}
        else:
            joined.append(message)
    return joined


def user(text: str) -> Answer:
    return {"role": "user", "content": text}


def said(text: str) -> Answer:
    return {"role": "assistant", "content": text}


def calls(*ids: str, before: list[Answer] | None = None) -> Answer:
    """An assistant message with parallel calls, and perhaps other blocks before them."""
    blocks = [{"type": "tool_use", "id": i, "name": "Read", "input": {"file_path": f"/{i}"}} for i in ids]
    return {"role": "assistant", "content": [*(before or []), *blocks]}


def results(*given: tuple[str, Any]) -> Answer:
    """A user message with results."""
    blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": text} for call_id, text in given]
    return {"role": "user", "content": blocks}


def shown_calls(messages: list[Answer]) -> list[str]:
    """Ids of all calls, in order."""
    return _ids(messages, "tool_use", "id")


def shown_results(messages: list[Answer]) -> list[str]:
    """Ids of all results, in order."""
    return _ids(messages, "tool_result", "tool_use_id")


def _blocks(message: Answer) -> list[Answer]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _ids(messages: list[Answer], kind: str, member: str) -> list[str]:
    lists = [m["content"] for m in messages if isinstance(m["content"], list)]
    return [block[member] for blocks in lists for block in blocks if block["type"] == kind]


def compact(session: Session, **fields: Any) -> Answer:
    """Compact without a model."""
    return session.compact(strategy="deterministic", **fields)


def talk(session: Session, turns: int, words: int = 500, name: str = "t") -> None:
    """Lawful history: so many turns of two parallel calls each."""
    for n in range(turns):
        a, b = f"{name}{n}a", f"{name}{n}b"
        session.append(
            user(f"ask {name}{n}"),
            calls(a, b),
            results((a, f"{a} " + "word " * words), (b, "short")),
            said(f"answer {name}{n}"),
        )
