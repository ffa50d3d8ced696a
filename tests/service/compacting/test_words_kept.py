"""The user's words through the daemon: five compactions of a long dialogue, audited, after a restart too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compaction import dialogues
from tests.service.host import LocalHost, Session

RULES = (*dialogues.rules("english"), *dialogues.rules("chinese"))
TARGET = 20_000
TURNS = 150


def view(session: Session) -> str:
    return "\n".join(str(message["content"]) for message in session.messages("model"))


def missing(session: Session) -> list[str]:
    text = view(session)
    return [rule for rule in RULES if rule not in text]


def turns(talk: list[dialogues.Message], extra: tuple[str, ...] = ()) -> list[dialogues.Message]:
    """Talk with a rule said now and then."""
    waiting = list(extra)
    return [
        {**m, "content": f"{m['content']} {waiting.pop(0)}"} if m["role"] == "user" and waiting else m
        for m in talk
    ]


def take(size: int, *, tools: bool, start: int) -> list[dialogues.Message]:
    """About so many characters of own talk, whole turns."""
    found: list[dialogues.Message] = []
    for message in dialogues.own(tools=tools, start=start):
        found.append(message)
        size -= len(str(message["content"]))
        if size <= 0 and message["role"] == "assistant" and not message.get("tool_calls"):
            break
    return found


@pytest.mark.slow
def test_sixty_rules_stand_word_for_word_after_five_compactions_and_a_restart(tmp_path: Path) -> None:
    """About 100 k tokens to begin with, 30 k new ones between compactions to 20 k."""
    with LocalHost(tmp_path / "state", {"compaction": {"auto": False}}) as host:
        session = host.open(dialect="openai-chat", model={"id": "gpt-4o", "contextWindow": 200_000})
        session.append(*turns(take(300_000, tools=False, start=0), RULES))
        assert sum(line["message"]["role"] == "user" for line in session.lines(limit=1_000)) >= TURNS
        for number in range(5):
            report = session.compact(strategy="deterministic", targetTokens=TARGET)
            assert report["outcome"] == "applied"
            assert report["after"]["tokens"] <= TARGET
            assert missing(session) == []
            audit = report["audit"]["constraints"]
            assert audit["verbatim"] == audit["total"] >= len(RULES)
            session.append(*take(100_000, tools=True, start=10_000 * (number + 1)))
        kept = session.history_bytes()
        host.reopen()
        again = host.open(dialect="openai-chat", mode="resume")
        assert again.history_bytes() == kept
        assert missing(again) == []


def test_the_audit_counts_every_sentence_that_binds_and_not_only_those_shown(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state", {"compaction": {"auto": False}}) as host:
        session = host.open(dialect="openai-chat", model={"id": "gpt-4o", "contextWindow": 200_000})
        session.append(*turns(take(120_000, tools=False, start=0), RULES))
        tight = session.compact(strategy="deterministic", targetTokens=600)["audit"]["constraints"]
        assert tight["total"] >= len(RULES) > tight["verbatim"] > 0
        assert tight["verbatim"] >= len(RULES) - len(missing(session))


def test_a_plan_and_a_bare_update_are_reported(tmp_path: Path) -> None:
    with LocalHost(tmp_path / "state", {"compaction": {"auto": False}}) as host:
        session = host.open(dialect="anthropic", model={"id": "claude-sonnet-4-5", "contextWindow": 200_000})
        todo = {
            "todos": [{"content": "Parse", "status": "completed"}, {"content": "Print", "status": "pending"}]
        }
        use = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": todo}
        session.append(
            {"role": "user", "content": "Use 8 workers."},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
            {"role": "assistant", "content": "Planned. " * 900},
            {"role": "user", "content": "make that 12 instead"},
            {"role": "assistant", "content": "Changed. " * 900},
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": "Going on."},
        )
        ledger = session.compact(strategy="deterministic", targetTokens=1_500)["ledger"]
        assert ledger["plan"]["steps"] == [
            {"text": "Parse", "status": "completed"},
            {"text": "Print", "status": "pending"},
        ]
        old, new, *_ = ledger["constraints"]
        assert (old["text"], new["text"], new["about"]) == (
            "Use 8 workers.",
            "make that 12 instead",
            "Use […] workers.",
        )
        assert old["supersededBy"] == new["messageId"]
