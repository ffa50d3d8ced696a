"""Conversations worth compacting, as native messages, and what a session showed before and after."""

from __future__ import annotations

from typing import Any

from tests.service.host import Session
from tests.support.conversation import filler

Message = dict[str, Any]

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 200_000}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(number: int) -> Message:
    block = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": f"run {number}"}}
    return {"role": "assistant", "content": [{"type": "text", "text": f"Step {number}."}, block]}


def result(number: int, size: int = 3_000) -> Message:
    text = f"out{number} " + filler(f"line{number}", size)
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": text}],
    }


def work(turns: int = 14, start: int = 1) -> list[Message]:
    """User turns with one tool turn and an answer each; about 900 tokens a turn."""
    return [
        message
        for number in range(start, start + turns)
        for message in (
            user(f"Please do step {number}."),
            call(number),
            result(number),
            said(f"Did {number}."),
        )
    ]


def chat(turns: int = 14) -> list[Message]:
    """Talk without tools, which elision cannot shorten; about 900 tokens a turn."""
    return [
        message
        for number in range(turns)
        for message in (
            user(f"Question {number}?"),
            said(f"Answer {number}. " + filler(f"word{number}", 4_000)),
        )
    ]


def view_of(session: Session) -> tuple[bytes, int]:
    """The model view as it goes over the wire, and how many checkpoints and changes made it."""
    return session.history_bytes("model"), int(session.project()["generation"])
