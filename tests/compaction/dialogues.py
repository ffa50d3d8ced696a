"""Long dialogues for survival tests: recorded talk in many variations, own talk, and rules put into it.

Everything is deterministic. Sizes are tokens as tests/support/session.py counts them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Response, Results, UserInput
from tests.support.session import Session, count

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "ctxd/importers/samples/session.jsonl"
SHARED = ROOT / "../shared/transcripts"
AIRLINE = SHARED / "openai-chat/tau-airline-40.json"
RULES = ROOT / "tests/data/constraints.json"

TARGET = 20_000
ROUNDS = 5
BETWEEN = 30_000
"""Tokens that are new between two compactions."""

Message = dict[str, Any]


@cache
def rules(language: str) -> tuple[str, ...]:
    """The unlabelled constraints of one language."""
    return tuple(text for _, text in json.loads(RULES.read_text())[language])


def airline(*, tools: bool, start: int = 0) -> Iterator[Message]:
    """Recorded runs one after the other, again and again, each time with other numbers and call ids.

    Without `tools` only what people and the model said.
    """
    runs = json.loads(AIRLINE.read_text())
    number = start
    while True:
        number += 1
        for index, run in enumerate(runs):
            for message in run.get("traj") or run["messages"]:
                spoken = message["role"] == "user" or (message["role"] == "assistant" and message["content"])
                if (tools and message["role"] != "system") or (spoken and not message.get("tool_calls")):
                    yield _varied(message, number, f"{number}x{index}")


def own(*, tools: bool = True, start: int = 0) -> Iterator[Message]:
    """Talk about work that asks for nothing lasting: thoughts, reports, small errands, thanks."""
    number = start
    while True:
        number += 1
        yield {"role": "user", "content": _thoughts(number)}
        if tools:
            call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
            yield {"role": "tool", "tool_call_id": f"c{number}", "content": _thoughts(number + 5) * 3}
        yield {"role": "assistant", "content": f"I looked at part {number}. " + "It reads well so far. " * 12}


def play(session: Session, talk: Iterator[Message], tokens: int, extra: Sequence[str] = ()) -> int:
    """Append talk of so many tokens; `extra` is put into the words of people, evenly. User turns played."""
    waiting, seen, turns = list(extra), 0, 0
    step = max(1, tokens // (len(waiting) + 1))
    batch: list[Message] = []
    for message in talk:
        said = message["role"] == "user"
        if said and waiting and seen >= step * (len(extra) - len(waiting)):
            message = {**message, "content": f"{message['content']} {waiting.pop(0)}"}
        batch.append(message)
        turns += said
        seen += count(str(message.get("content") or "")) + count(json.dumps(message.get("tool_calls", "")))
        if (
            seen >= tokens
            and not waiting
            and message["role"] == "assistant"
            and not message.get("tool_calls")
        ):
            break
    session.append(batch)
    return turns


def recorded(path: Path, extra: Sequence[str], *, middle: bool) -> Session:
    """A recorded session in one piece, `extra` said in its first user turn or in its middle one."""
    transcript = read_transcripts(path)[0]
    session = Session(dialect=transcript.dialect, window=200_000)
    steps = [step for step in transcript.steps if isinstance(step, UserInput | Results | Response)]
    asked = [index for index, step in enumerate(steps) if isinstance(step, UserInput)]
    place = asked[len(asked) // 2 if middle else 0]
    for index, step in enumerate(steps):
        session.append([_told(m, extra) if index == place else m for m in step.messages])
    return session


def work(number: int) -> str:
    """An agent at work for BETWEEN tokens, in the words of tests/support/conversation.py."""
    calls = "\n\n".join(
        f"call w{number}x{n} Bash command=step-{number}-{n}\nresult w{number}x{n} 5600" for n in range(21)
    )
    return f"user: Go on with part {number}.\n\n{calls}\n\nassistant: Part {number} is done."


def user_tokens(session: Session) -> int:
    """Tokens of all that people said in the view."""
    return sum(count(item.view.text) for item in session.items() if item.entry.facts.user_turn)


def shown(session: Session) -> str:
    """All that the model view says in words."""
    return "\n".join(item.view.text for item in session.items())


def missing(session: Session, wanted: Sequence[str]) -> list[str]:
    """Rules that do not stand word for word in the model view."""
    text = shown(session)
    return [rule for rule in wanted if rule not in text]


_NUMBER = re.compile(r"\d+")

_SUBJECTS = (
    "the garden wall",
    "our newsletter",
    "that old printer",
    "the onboarding video",
    "the bike shed",
    "a friend's wedding",
    "the quarterly review",
    "my sister's move",
    "the choir",
    "the kitchen shelf",
    "that podcast",
    "the holiday photos",
)
_LINES = (
    "I spent a while thinking about {s} and how it came to look the way it does now, part {n}.",
    "Yesterday I read about {s}; it was a long story with {m} turns and a quiet end.",
    "There was a moment last week when {s} seemed almost finished, and then it was not.",
    "We talked about {s} over lunch and laughed a lot about the year {y}.",
    "昨天我又想起了{s}的事，当时觉得很有意思，第{n}次了。",
    "It looks like {s} has a history of its own, which I found in a box with {m} letters.",
    "Can you tell me what you make of {s}?",
    "I noticed that the light on {s} changes a lot during the day, roughly {m} times.",
    "我们聊了很久关于{s}的往事，感觉时间过得很快。",
    "Thanks, that was a nice way to put it.",
)


def _told(message: Message, extra: Sequence[str]) -> Message:
    """A user message with more said in it."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": "\n".join([content, *extra])}
    return {**message, "content": [*content, {"type": "text", "text": "\n".join(extra)}]}


def _thoughts(number: int) -> str:
    lines = [
        _LINES[(number * 7 + k * 3) % len(_LINES)].format(
            s=_SUBJECTS[(number + k) % len(_SUBJECTS)], n=number, m=2 + (number * k) % 9, y=1950 + number % 70
        )
        for k in range(14)
    ]
    return " ".join(lines)


def _varied(message: Message, number: int, mark: str) -> Message:
    """A message with other numbers in its words and call ids of its own."""

    def shift(text: str) -> str:
        return _NUMBER.sub(
            lambda m: str((int(m[0]) * 31 + number * 17) % 10 ** len(m[0])).zfill(len(m[0])), text
        )

    content = message.get("content")
    changed: Message = {
        "role": message["role"],
        "content": shift(content) if isinstance(content, str) else content,
    }
    if message.get("tool_calls"):
        changed["tool_calls"] = [{**call, "id": f"{call['id']}{mark}"} for call in message["tool_calls"]]
    if "tool_call_id" in message:
        changed["tool_call_id"] = f"{message['tool_call_id']}{mark}"
    return changed
