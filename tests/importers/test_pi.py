"""pi's sessions: exact steps from lines and trees, compactions with what they kept, two dialects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxd.importers.detect import read_transcripts
from ctxd.importers.steps import Boundary, Response
from tests.importers.lawful import assert_lawful, counted, lines, messages, noted, read, shared, tags
from tests.support.behaviour import behaviour

Record = dict[str, Any]
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "t", "cwd": "/x"}


class Tree:
    """Entries with ids, each under the one before unless told otherwise."""

    def __init__(self) -> None:
        self.records: list[Record] = [HEADER]
        self._last: str | None = None

    def add(self, identity: str, parent: str | None = None, **entry: Any) -> Tree:
        self.records.append({"id": identity, "parentId": parent or self._last, "timestamp": "t", **entry})
        self._last = identity
        return self

    def said(self, identity: str, text: str, parent: str | None = None) -> Tree:
        return self.add(identity, parent, type="message", message={"role": "user", "content": text})

    def answered(self, identity: str, *blocks: Any, parent: str | None = None, **more: Any) -> Tree:
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        message = {"role": "assistant", "content": content, "api": "anthropic-messages", "model": "m", **more}
        return self.add(identity, parent, type="message", message=message)

    def gave(self, identity: str, call: str, text: str = "fine", **more: Any) -> Tree:
        content = [{"type": "text", "text": text}]
        message = {"role": "toolResult", "toolCallId": call, "content": content, "isError": False, **more}
        return self.add(identity, type="message", message=message)

    def read(self, path: Path) -> Any:
        return read(path, lines(*self.records))


def call(identity: str) -> Record:
    return {
        "type": "toolCall",
        "id": identity,
        "name": "read",
        "arguments": {"path": "p"},
        "partialJson": "{",
    }


def test_a_recorded_session_imports_with_exact_counts() -> None:
    (transcript,) = read_transcripts(shared("pi/two-compactions.jsonl"))
    assert_lawful(transcript)
    assert counted(transcript.steps) == {"userInput": 49, "response": 469, "results": 433, "boundary": 2}
    assert {n.kind: n.count for n in transcript.notes} == {"unsignedThinking": 2, "emptyMessage": 15}
    assert (transcript.dialect, transcript.model) == ("anthropic", "claude-opus-4-5")
    results = [block for step in messages(transcript) for m in step for block in m["content"]]
    assert sum(isinstance(b, dict) and b["type"] == "tool_result" for b in results) == 448
    first, second = [step for step in transcript.steps if isinstance(step, Boundary)]
    assert first.pre_tokens == 175_004
    assert first.replacement[0]["content"].startswith("The conversation history before this point")
    assert first.replacement[1]["content"][0]["text"] == "i reviwed what we have, it's good. continue"
    assert (len(first.replacement), len(second.replacement)) == (67, 78)


def test_blocks_are_those_of_the_api_and_results_are_one_message(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}
    sealed = {"type": "thinking", "thinking": "", "thinkingSignature": "data", "redacted": True}
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    tree = Tree().said("1", "go").answered("2", thought, sealed, "I look.", call("a"), call("b"))
    tree.gave("3", "b", isError=True).gave("4", "a", content=[{"type": "text", "text": "x"}, image])
    _, said, given = messages(tree.read(tmp_path / "x"))
    assert said[0]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "data"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "p"}},
        {"type": "tool_use", "id": "b", "name": "read", "input": {"path": "p"}},
    ]
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    fine = [{"type": "text", "text": "fine"}]
    assert given == [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "b", "content": fine, "is_error": True},
        {"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "x"}, {"type": "image", "source": source}]},
    ]}]  # fmt: skip


def test_usage_is_the_whole_prompt(tmp_path: Path) -> None:
    usage = {"input": 1, "output": 5, "cacheRead": 30, "cacheWrite": 200}
    tree = Tree().said("1", "go").answered("2", "a", usage=usage).answered("3", "b", usage={"input": 0})
    steps = [s for s in tree.read(tmp_path / "x").steps if isinstance(s, Response)]
    assert [(s.prompt_reported, s.completion_reported, s.usage is None) for s in steps] == [
        (231, 5, False),
        (None, None, True),
    ]


def test_only_the_path_to_the_newest_entry_stands(tmp_path: Path) -> None:
    tree = Tree().said("1", "one").answered("2", "a").said("3", "left").answered("4", "b")
    tree.add("5", "2", type="branch_summary", fromId="4", summary="What was left.")
    tree.said("6", "right").answered("7", "c").add("8", type="label", targetId="1", label="x")
    transcript = tree.read(tmp_path / "x")
    assert noted(transcript) == {"rewound": (4, 5)}
    said = [m["content"] for step in messages(transcript) for m in step if m["role"] == "user"]
    assert [text[:8] for text in said] == ["one", "The foll", "right"]


@pytest.mark.parametrize("by", ["id", "index", "tail"])
def test_a_compaction_keeps_the_entries_it_names(tmp_path: Path, by: str) -> None:
    tree = Tree().said("1", "one").answered("2", "a").said("3", "two").answered("4", call("c")).gave("5", "c")
    tail = [tree.records[3]["message"], tree.records[4]["message"], tree.records[5]["message"]]
    kept = {
        "id": {"firstKeptEntryId": "3"},
        "index": {"firstKeptEntryIndex": 3},
        "tail": {"retainedTail": tail},
    }[by]
    tree.add("6", type="compaction", summary="What was.", tokensBefore=99, **kept).answered("7", "b")
    transcript = tree.read(tmp_path / "x")
    boundary = transcript.steps[-2]
    assert isinstance(boundary, Boundary)
    assert boundary.pre_tokens == 99
    assert [m["role"] for m in boundary.replacement] == ["user", "user", "assistant", "user"]
    assert boundary.replacement[1]["content"] == "two"
    assert noted(transcript) == {}


def test_a_session_with_another_api_is_chat_and_its_thinking_stays_behind(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "{}"}
    usage = {"input": 7, "cacheRead": 3, "output": 2}
    tree = Tree().said("1", "go")
    tree.answered("2", thought, "I look.", call("a"), api="openai-responses", usage=usage).gave("3", "a")
    transcript = tree.read(tmp_path / "x")
    assert transcript.dialect == "openai-chat"
    _, said, given = messages(transcript)
    assert said[0]["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path": "p"}'}
    assert given == [{"role": "tool", "tool_call_id": "a", "content": "fine"}]
    assert noted(transcript) == {"foreignThinking": (3,)}
    response = transcript.steps[1]
    assert isinstance(response, Response)
    assert (response.prompt_reported, response.completion_reported) == (10, 2)


def test_a_command_of_the_person_is_words_unless_it_was_kept_from_the_model(tmp_path: Path) -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "a\n", "exitCode": 2, "cancelled": False}
    tree = Tree().add("1", type="message", message=ran)
    tree.add("2", type="message", message={**ran, "excludeFromContext": True})
    tree.add("3", type="custom_message", customType="x", content="Injected.").add("4", type="custom", data={})
    transcript = tree.read(tmp_path / "x")
    assert [m["content"] for m in messages(transcript)[0]] == [
        "Ran `ls`\n```\na\n\n```\n\nCommand exited with code 2",
        "Injected.",
    ]
    assert noted(transcript) == {"notSent": (3,)}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "id": "x", "message": 7},
        {
            "type": "message",
            "id": "x",
            "message": {"role": "assistant", "content": [7, {"type": "toolCall"}]},
        },
        {"type": "message", "id": "x", "parentId": "nobody", "message": {"role": "toolResult", "content": 7}},
        {"type": "message", "id": 7, "parentId": [], "message": {"role": "user", "content": 7}},
        {"type": "compaction", "id": "x", "summary": 7, "firstKeptEntryIndex": -5},
        {"type": "compaction", "id": "x", "summary": "s", "firstKeptEntryId": "nobody"},
        {"type": ["message"]},
        {"type": "message", "id": "x", "parentId": "s", "message": {"\ud800": 1, "role": "user"}},
    ],
)
def test_a_malformed_record_costs_no_more_than_itself(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "x"
    tree = Tree()
    tree.records.append(record)
    path.write_text(
        "".join(json.dumps(r) + "\n" for r in tree.said("1", "go", "s").answered("2", "a").records)
    )
    (transcript,) = read_transcripts(path, format="pi")
    assert_lawful(transcript)
    assert tags(transcript.steps)[-2:] == ["userInput", "response"]


_CUT = Tree().said("1", "öne").answered("2", call("c")).gave("3", "c").said("4", "left").answered("5", "b")
_CUT.said("6", "right", "3").add("7", type="compaction", summary="S.", firstKeptEntryId="4").answered(
    "8", "c"
)
CUT = lines(*_CUT.records)


@behaviour("importers.any-cut")
@given(cut=st.integers(min_value=0, max_value=len(CUT)), junk=st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_a_session_cut_at_any_byte_imports_lawfully(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x"
    path.write_bytes(CUT[:cut] + junk + b"\n" + CUT)
    (transcript,) = read_transcripts(path, format="pi")
    assert_lawful(transcript)
