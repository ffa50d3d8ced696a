"""Which records of a Claude Code file stand: rewinds, parallel calls, sidechains, lost parents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Transcript
from tests.importers.lawful import assert_lawful, lines, messages, noted, read, tags
from tests.support.behaviour import behaviour

Record = dict[str, Any]


def user(uuid: str, parent: str | None, content: Any, **more: Any) -> Record:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def said(uuid: str, parent: str | None, identity: str, *blocks: Any, **more: Any) -> Record:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    message = {"id": identity, "role": "assistant", "model": "m", "content": content}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "message": message, **more}


def call(identity: str) -> Record:
    return {"type": "tool_use", "id": identity, "name": "Read", "input": {}}


def result(identity: str) -> list[Record]:
    return [{"type": "tool_result", "tool_use_id": identity, "content": "fine"}]


def words(transcript: Transcript) -> str:
    """All text, in order."""
    found: list[str] = []
    for step in messages(transcript):
        for message in step:
            content = message["content"]
            blocks = [{"text": content}] if isinstance(content, str) else content
            found += [block["text"] for block in blocks if "text" in block]
    return " ".join(found)


CASES: list[tuple[str, list[Record], str, dict[str, tuple[int, ...]]]] = [
    (
        "a prompt that was edited takes its answers with it",
        [
            user("1", None, "one"), said("2", "1", "a", "first"), user("3", "2", "two"),
            said("4", "3", "b", call("c")), user("5", "4", result("c")), said("6", "5", "d", "second"),
            user("7", "2", "three"), said("8", "7", "e", "third"),
        ],
        "one first three third",
        {"rewound": (3, 4, 5, 6)},
    ),
    (
        "an answer that was asked for again replaces the first",
        [user("1", None, "one"), said("2", "1", "a", "bad"), said("3", "1", "b", "good")],
        "one good",
        {"rewound": (2,)},
    ),
    (
        "the very first prompt can be edited",
        [
            user("1", None, "one"), said("2", "1", "a", "bad"), user("3", None, "new"),
            said("4", "3", "b", "good"),
        ],
        "new good",
        {"rewound": (1, 2)},
    ),
    (
        "a prompt behind progress records goes with its branch",
        [
            user("1", None, "one"), said("2", "1", "a", "first"),
            {"type": "progress", "uuid": "3", "parentUuid": "2"}, user("4", "3", "two"),
            said("5", "4", "b", "bad"), user("6", "2", "three"), said("7", "6", "c", "good"),
        ],
        "one first three good",
        {"rewound": (4, 5)},
    ),
    (
        "a parent that was lost is the record before it",
        [user("1", None, "one"), said("3", "lost", "a", "first"), user("4", "3", "two")],
        "one first two",
        {},
    ),
    (
        "a compaction's logical parent leads over it",
        [
            user("1", None, "one"), said("2", "1", "a", "first"), user("3", "2", "bad"),
            {"type": "system", "subtype": "compact_boundary", "uuid": "4", "parentUuid": None,
             "logicalParentUuid": "2"},
            user("5", "4", "Sum.", isCompactSummary=True), said("6", "5", "b", "second"),
        ],
        "one first second",
        {"rewound": (3,)},
    ),
    (
        "an old compaction without a parent stands behind what was before",
        [
            user("1", None, "one"), said("2", "1", "a", "first"),
            user("3", None, "Sum.", isCompactSummary=True), said("4", "3", "b", "second"),
        ],
        "one first second",
        {},
    ),
    (
        "records without ids stand in their order",
        [{"type": "user", "message": {"content": "one"}}, said("2", None, "a", "first")],
        "one first",
        {},
    ),
]  # fmt: skip


@behaviour("importers.branches")
@pytest.mark.parametrize(("records", "text", "noted_"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_conversation_is_the_path_to_the_newest_leaf(
    tmp_path: Path, records: list[Record], text: str, noted_: dict[str, tuple[int, ...]]
) -> None:
    transcript = read(tmp_path / "x", lines(*records), "claude-code")
    assert words(transcript) == text
    assert noted(transcript) == noted_


@pytest.mark.parametrize("last", ["5a", "5b"])
def test_parallel_calls_and_their_results_are_no_branches(tmp_path: Path, last: str) -> None:
    """Each line of the message is the parent of the next and of its own result."""
    transcript = read(
        tmp_path / "x",
        lines(
            user("1", None, "one"), said("2", "1", "m", "look"), said("3", "2", "m", call("a")),
            user("5a", "3", result("a")), said("4", "3", "m", call("b")), user("5b", "4", result("b")),
            said("6", last, "n", "done"),
        ),
        "claude-code",
    )  # fmt: skip
    assert tags(transcript.steps) == ["userInput", "response", "results", "response"]
    assert [b["tool_use_id"] for b in messages(transcript)[2][0]["content"]] == ["a", "b"]
    assert noted(transcript) == {}


SIDE = [
    user("1", None, "one"), said("2", "1", "m", call("a")),
    user("s1", None, "sub", isSidechain=True, agentId="k1"),
    said("s2", "s1", "sm", "subanswer", isSidechain=True, agentId="k1"),
    user("t1", None, "other", isSidechain=True), said("t2", "t1", "tm", "otheranswer", isSidechain=True),
    user("3", "2", result("a")), said("4", "3", "n", "done"),
]  # fmt: skip


def test_sidechains_are_left_out_and_noted_or_sessions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    (main,) = [read(path, lines(*SIDE))]
    assert words(main) == "one done"
    assert noted(main) == {"sidechain": (3, 4, 5, 6)}
    found = read_transcripts(path, sidechains=True)
    assert [(t.name, words(t)) for t in found] == [
        ("s", "one done"),
        ("s, sidechain k1", "sub subanswer"),
        ("s, sidechain 5", "other otheranswer"),
    ]
    assert [noted(t) for t in found[1:]] == [{}, {}]


def test_a_subagents_own_file_is_a_conversation(tmp_path: Path) -> None:
    records = [user("1", None, "sub", isSidechain=True), said("2", "1", "m", "answer", isSidechain=True)]
    transcript = read(tmp_path / "x", lines(*records))
    assert words(transcript) == "sub answer"
    assert noted(transcript) == {}


def test_words_typed_while_the_model_worked_are_kept_and_other_attachments_noted(tmp_path: Path) -> None:
    attachment = {"type": "attachment", "uuid": "5", "parentUuid": "4"}
    transcript = read(
        tmp_path / "x",
        lines(
            user("1", None, "one"), said("2", "1", "m", call("a")), user("3", "2", result("a")),
            {**attachment, "uuid": "4", "parentUuid": "3",
             "attachment": {"type": "queued_command", "prompt": "stop that", "commandMode": "prompt"}},
            {**attachment, "attachment": {"type": "todo_reminder", "content": []}},
            {"type": "queue-operation", "operation": "enqueue", "content": "stop that"},
            {"type": "system", "subtype": "microcompact_boundary", "uuid": "6", "parentUuid": "5"},
            said("7", "6", "n", "ok"),
        ),
    )  # fmt: skip
    assert words(transcript) == "one stop that ok"
    assert noted(transcript) == {"attachment": (5,), "microcompaction": (7,)}


def test_two_records_fused_on_a_line_stand_where_each_belongs(tmp_path: Path) -> None:
    kept, rewound = user("3", "2", "kept"), user("9", "2", "rewound")
    fused = json.dumps(rewound).encode() + json.dumps(kept).encode() + b"\n"
    content = (
        lines(user("1", None, "one"), said("2", "1", "m", "a")) + fused + lines(said("4", "3", "n", "b"))
    )
    transcript = read(tmp_path / "x", content)
    assert words(transcript) == "one a kept b"
    assert noted(transcript) == {"fusedLine": (3,), "rewound": (3,)}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "user", "uuid": 7, "parentUuid": 7, "message": 7},
        {
            "type": "assistant",
            "uuid": "x",
            "parentUuid": [],
            "isSidechain": "yes",
            "agentId": 7,
            "message": {},
        },
        {"type": "user", "uuid": "\ud800", "parentUuid": None, "message": {"content": [{"type": 7}]}},
        {"type": "system", "subtype": "compact_boundary", "uuid": "x", "logicalParentUuid": 7},
        {"type": "assistant", "uuid": "x", "parentUuid": "2", "message": {"\ud800": 1, "id": "n"}},
    ],
)
def test_a_head_of_the_wrong_shape_does_not_cost_its_neighbours(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "x"
    neighbours = lines(user("1", None, "one"), said("2", "1", "m", "a"))
    path.write_bytes(neighbours + json.dumps(record).encode() + b"\n" + lines(user("3", "2", "two")))
    (transcript,) = read_transcripts(path, format="claude-code")
    assert_lawful(transcript)
    assert words(transcript).startswith("one a")
    assert words(transcript).endswith("two")
