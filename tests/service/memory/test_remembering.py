"""What a compaction leaves behind: entries in the user's words, and an episode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.host import Answer, LocalHost, Session
from tests.service.memory.test_memory import Remembering, words
from tests.support.behaviour import behaviour
from tests.support.credentials import credentials

MODEL = {"id": "claude-sonnet-4-5", "contextWindow": 60_000}


@pytest.fixture
def memory(folder: Path) -> Iterator[Remembering]:
    made = Remembering(folder)
    yield made
    made.host.close()


def open_session(memory: Remembering, name: str = "s1") -> Session:
    return memory.host.open(name, workspace=memory.workspace.as_uri(), model=MODEL)


def user(text: str) -> Answer:
    return {"role": "user", "content": text}


def tool_turn(number: int, printed: str) -> list[Answer]:
    call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": f"/f{number}"}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": printed}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {
            "role": "assistant",
            "content": f"Remember: the assistant said {number}. Fixed: everything is fine now.",
        },
    ]


def work(session: Session, *said: str, turns: int = 8, start: int = 0) -> None:
    """A user's words, each followed by a tool turn that prints much and marks things to remember."""
    for number in range(start, start + max(turns, len(said))):
        session.append(
            user(said[number - start] if number - start < len(said) else f"go on with step {number}")
        )
        session.append(*tool_turn(number, f"Remember: printed by a tool {number}\n" + "word " * 1_500))


def compact(session: Session) -> Answer:
    report = session.compact(strategy="deterministic")
    assert report["outcome"] == "applied"
    return report


@behaviour("memory.consolidation")
def test_what_the_user_asked_to_remember_outlives_the_session(memory: Remembering) -> None:
    session = open_session(memory)
    work(session, "Remember: use pnpm here.", "约定：接口字段一律用驼峰命名", "Look at the parser.")
    report = compact(session)["memory"]
    assert report == {
        "outcome": "written",
        "entries": 2,
        "topics": ["conventions", "preferences"],
        "rejected": 0,
        "duplicates": 0,
        "episodes": 1,
    }
    assert words(memory.text("preferences")) == ["use pnpm here."]
    (entry,) = memory.call("read", topic="preferences")["entries"]
    first = session.lines()[0]["messageId"]
    assert (entry["author"], entry["sessionId"], entry["messageId"]) == ("user", "s1", first)


@behaviour("memory.consolidation")
def test_nothing_a_tool_printed_or_a_model_claimed_is_remembered(memory: Remembering) -> None:
    session = open_session(memory)
    work(session)
    report = compact(session)["memory"]
    assert (report["outcome"], report["entries"]) == ("nothing", 0)
    assert memory.call("list") == {"topics": []}


@behaviour("memory.consolidation")
def test_later_compactions_repeat_nothing_and_bring_back_nothing_that_a_person_deleted(
    memory: Remembering,
) -> None:
    session = open_session(memory)
    work(session, "Remember: use pnpm here.", "Lesson: retries need jitter")
    compact(session)
    memory.call("delete", topic="lessons")
    work(session, "Note: the port is 9000", start=100)
    report = compact(session)["memory"]
    assert (report["entries"], report["topics"]) == (1, ["preferences"])
    assert words(memory.text("preferences")) == ["use pnpm here.", "the port is 9000"]
    assert {t["name"] for t in memory.call("list")["topics"]} == {"MEMORY", "preferences"}


def test_two_sessions_that_say_the_same_write_it_once(memory: Remembering) -> None:
    for name in ("s1", "s2"):
        session = open_session(memory, name)
        work(session, "Remember: use pnpm here.")
        compact(session)
    assert words(memory.text("preferences")) == ["use pnpm here."]


@behaviour("memory.off")
@pytest.mark.parametrize(
    ("options", "outcome", "episodes"),
    [
        ({"enabled": False}, "disabled", 0),
        ({"consolidate": False}, "nothing", 1),
        ({"consolidate": False, "episodes": False}, "disabled", 0),
        ({"episodes": False}, "written", 0),
    ],
)
def test_it_can_be_switched_off(folder: Path, options: dict[str, Any], outcome: str, episodes: int) -> None:
    memory = Remembering(folder, {"memory": options})
    session = open_session(memory)
    work(session, "Remember: use pnpm here.")
    report = compact(session)["memory"]
    assert (report["outcome"], report["episodes"]) == (outcome, episodes)
    assert bool(memory.call("list")["topics"]) == (outcome == "written")
    memory.host.close()


@behaviour("memory.never-fails")
def test_a_memory_that_cannot_be_written_fails_no_compaction_and_is_made_up_for(memory: Remembering) -> None:
    session = open_session(memory)
    work(session, "Remember: use pnpm here.")
    (state,) = [path for path in memory.files.iterdir() if path.is_dir()]
    (state / "memory").symlink_to(memory.workspace)
    report = compact(session)
    assert report["memory"] == {
        "outcome": "failed",
        "entries": 0,
        "topics": [],
        "rejected": 0,
        "duplicates": 0,
        "episodes": 0,
        "failure": "storageFailed",
    }
    (state / "memory").unlink()
    work(session, start=100)
    assert compact(session)["memory"]["entries"] == 1
    assert words(memory.text("preferences")) == ["use pnpm here."]


@behaviour("memory.never-fails")
def test_a_scanner_that_breaks_fails_no_compaction(memory: Remembering) -> None:
    def broken(text: str) -> list[str]:
        raise RuntimeError("scanner")

    memory.host.registry.environment.memories.check = broken
    session = open_session(memory)
    work(session, "Remember: use pnpm here.")
    assert compact(session)["memory"]["failure"] == "internal"


@behaviour("memory.secrets")
def test_secrets_reach_neither_topics_nor_episodes(memory: Remembering) -> None:
    secret = credentials()[0].secret
    session = open_session(memory)
    work(session, f"Remember: the token is {secret}", "Remember: use pnpm here.")
    report = compact(session)["memory"]
    assert (report["entries"], report["rejected"]) == (1, 1)
    (state,) = [path for path in memory.files.iterdir() if path.is_dir()]
    for path in [*(state / "memory").iterdir(), *(state / "episodes").iterdir()]:
        assert secret not in path.read_text()
    assert memory.call("search", query=secret) == {"hits": []}


def test_a_topic_that_is_full_costs_only_what_would_go_there(folder: Path) -> None:
    memory = Remembering(folder, {"memory": {"topicLines": 2}})
    session = open_session(memory)
    work(session, "Note: one", "Note: two", "Note: three", "Lesson: four")
    report = compact(session)["memory"]
    assert (report["outcome"], report["entries"], report["rejected"]) == ("written", 3, 1)
    assert words(memory.text("lessons")) == ["four"]
    memory.host.close()


@behaviour("memory.episodes")
def test_every_compaction_leaves_its_typed_state_to_be_found(memory: Remembering) -> None:
    session = open_session(memory)
    work(session, "The goal is to port the tokenizer to Rust. Never touch vendor/.")
    first = compact(session)["checkpointId"]
    work(session, "数据库迁移必须先备份", start=100)
    second = compact(session)["checkpointId"]
    (state,) = [path for path in memory.files.iterdir() if path.is_dir()]
    kept = {path.name: json.loads(path.read_text()) for path in (state / "episodes").iterdir()}
    assert set(kept) == {f"s1@{first}.json", f"s1@{second}.json"}
    quotes = [q["text"] for q in kept[f"s1@{first}.json"]["summary"]["constraints"]]
    assert "The goal is to port the tokenizer to Rust. Never touch vendor/." in quotes
    hit = memory.call("search", query="tokenizer rust")["hits"][0]
    assert (hit["kind"], hit["sessionId"]) == ("episode", "s1")
    assert hit["name"] in (first, second)
    assert "port the tokenizer to Rust" in hit["text"]
    assert memory.call("search", query="迁移之前做什么备份")["hits"][0]["name"] == second


@behaviour("memory.episodes")
def test_an_episode_that_was_not_kept_in_time_is_kept_with_the_next(memory: Remembering) -> None:
    session = open_session(memory)
    work(session, "Port the tokenizer.")
    compact(session)
    (state,) = [path for path in memory.files.iterdir() if path.is_dir()]
    for path in (state / "episodes").iterdir():
        path.unlink()
    work(session, start=100)
    assert compact(session)["memory"]["episodes"] == 2


def test_a_fork_keeps_no_second_episode_of_its_parents_checkpoints(memory: Remembering) -> None:
    session = open_session(memory)
    work(session, "Port the tokenizer.")
    compact(session)
    fork = Session(memory.host, memory.host.call("session/fork", sessionId="s1"))
    work(fork, start=100)
    assert compact(fork)["memory"]["episodes"] == 1


def test_a_session_that_is_deleted_takes_its_episodes_along(memory: Remembering) -> None:
    for name in ("s1", "s2"):
        session = open_session(memory, name)
        work(session, f"Port the tokenizer {name}.")
        compact(session)
    memory.host.call("session/delete", sessionId="s1")
    found = memory.call("search", query="tokenizer")["hits"]
    assert {hit["sessionId"] for hit in found} == {"s2"}


def test_a_dry_run_remembers_nothing_until_it_is_committed(memory: Remembering) -> None:
    session = open_session(memory)
    work(session, "Remember: use pnpm here.")
    planned = session.compact(strategy="deterministic", dryRun=True)
    assert "memory" not in planned
    assert memory.call("list") == {"topics": []}
    done = session.call("context/commit", planId=planned["planId"])
    assert done["memory"]["entries"] == 1


def test_a_host_whose_workspace_memory_lies_elsewhere_keeps_them_apart(
    memory: Remembering, folder: Path, host: LocalHost
) -> None:
    session = open_session(memory)
    work(session, "Remember: use pnpm here.")
    compact(session)
    other = folder / "elsewhere"
    other.mkdir()
    assert memory.host.call("memory/list", workspace=other.as_uri()) == {"topics": []}
