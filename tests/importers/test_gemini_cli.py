"""Gemini CLI's chats: exact steps from the document and the log, and the log's rules."""

from __future__ import annotations

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

META = {"sessionId": "s", "projectHash": "h", "startTime": "t", "kind": "main"}


def user(identity: str, text: Any) -> Record:
    return {"id": identity, "timestamp": "t", "type": "user", "content": text}


def model(identity: str, text: str, *calls: Record, **more: Any) -> Record:
    record = {"id": identity, "timestamp": "t", "type": "gemini", "content": text, "model": "gemini-2.5-pro"}
    return {**record, "toolCalls": list(calls), **more}


def call(identity: str, result: Any = "fine") -> Record:
    return {"id": identity, "name": "read", "args": {"p": 1}, "result": result, "status": "success"}


def response(identity: str, text: str) -> list[Record]:
    return [{"functionResponse": {"id": identity, "name": "read", "response": {"output": text}}}]


def texts(transcript: Any) -> list[str]:
    return [
        part["text"]
        for step in messages(transcript)
        for message in step
        for part in message["parts"]
        if "text" in part
    ]


def test_a_recorded_chat_imports_with_exact_counts() -> None:
    (transcript,) = read_transcripts(shared("gemini/cli-session.json"))
    assert_lawful(transcript)
    assert counted(transcript.steps) == {"userInput": 3, "response": 15, "results": 13}
    assert {note.kind: note.count for note in transcript.notes} == {"thoughts": 12}
    assert transcript.model == "gemini-2.5-pro"
    second = transcript.steps[3]
    assert isinstance(second, Response)
    assert (second.prompt_reported, second.completion_reported) == (5423, 170)
    assert second.usage == {
        "promptTokenCount": 5423,
        "candidatesTokenCount": 170,
        "cachedContentTokenCount": 1381,
        "thoughtsTokenCount": 48,
        "toolUsePromptTokenCount": 0,
        "totalTokenCount": 5641,
    }


def test_calls_follow_the_text_and_their_responses_are_one_content_with_the_same_ids(tmp_path: Path) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    chat = {
        **META,
        "messages": [
            user("1", "look"),
            model(
                "2",
                "I look.",
                call("a", [*response("a", "x"), image]),
                call("b", "plain words"),
                call("c", None),
            ),
        ],
    }
    _, said, given = messages(read(tmp_path / "x", chat))
    assert [list(part) for part in said[0]["parts"]] == [["text"], *[["functionCall"]] * 3]
    assert given[0]["role"] == "user"
    assert given[0]["parts"] == [
        *response("a", "x"),
        image,
        *response("b", "plain words"),
    ]


def test_a_log_gives_the_same_as_the_document(tmp_path: Path) -> None:
    said = [user("1", "look"), model("2", "", call("a", response("a", "x"))), model("3", "done")]
    document = read(tmp_path / "x", {**META, "messages": said})
    log = read(tmp_path / "y", lines(META, *said))
    assert messages(log) == messages(document)
    assert (log.format, log.model) == ("gemini-cli", "gemini-2.5-pro")


def test_a_message_that_is_written_again_replaces_itself_in_its_place(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            META, user("1", "look"), model("2", ""), {"$set": {"lastUpdated": "t"}},
            model("2", "", call("a")), user("3", "and then"),
            model("2", "Found.", call("a", response("a", "x"))), model("4", "done"),
        ),
    )  # fmt: skip
    assert texts(transcript) == ["look", "Found.", "and then", "done"]
    assert tags(transcript.steps) == ["userInput", "response", "results", "userInput", "response"]


def test_a_rewind_takes_back_its_message_and_all_behind_it(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x",
        lines(
            META, user("1", "one"), model("2", "a"), user("3", "two"), model("4", "b"),
            {"$rewindTo": "3"}, user("5", "three"), model("6", "c"),
        ),
    )  # fmt: skip
    assert texts(transcript) == ["one", "a", "three", "c"]
    assert noted(transcript) == {"rewound": (4, 5)}


def test_a_rewind_to_a_message_nobody_knows_takes_back_everything(tmp_path: Path) -> None:
    transcript = read(
        tmp_path / "x", lines(META, user("1", "one"), model("2", "a"), {"$rewindTo": "?"}, user("3", "new"))
    )
    assert texts(transcript) == ["new"]


def test_a_list_that_begins_like_the_one_before_takes_messages_back(tmp_path: Path) -> None:
    first = [user("1", "one"), model("2", "a")]
    transcript = read(
        tmp_path / "x",
        lines(META, {"$set": {"messages": first}}, user("3", "two"), {"$set": {"messages": first}}),
    )
    assert texts(transcript) == ["one", "a"]
    assert noted(transcript) == {"rewound": (3,)}


def test_another_list_is_a_compaction_with_what_it_kept(tmp_path: Path) -> None:
    kept = [user("9", "Summary."), model("2", "a", call("c", response("c", "x")))]
    transcript = read(
        tmp_path / "x",
        lines(META, user("1", "one"), model("2", "a"), {"$set": {"messages": kept}}, user("3", "two")),
    )
    assert tags(transcript.steps) == ["userInput", "response", "boundary", "userInput"]
    boundary = transcript.steps[2]
    assert isinstance(boundary, Boundary)
    assert [message["role"] for message in boundary.replacement] == ["user", "model", "user"]


def test_what_was_for_the_screen_or_is_empty_is_noted(tmp_path: Path) -> None:
    info = {"id": "i", "timestamp": "t", "type": "info", "content": "saved"}
    thought = {"subject": "s", "description": "d"}
    transcript = read(
        tmp_path / "x",
        lines(
            META, info, user("1", " "), user("2", "go"), model("3", "a", thoughts=[thought]), model("4", "")
        ),
    )
    assert noted(transcript) == {"notice": (2,), "emptyMessage": (3, 6), "thoughts": (5,)}


@pytest.mark.parametrize(
    "record",
    [
        {
            "id": "x",
            "type": "gemini",
            "content": {"no": "part"},
            "toolCalls": [7, {"name": 7}, {"name": "n"}],
        },
        {"id": "x", "type": "user", "content": 7},
        {"id": "x", "type": "user", "content": [7, None, {}]},
        {"id": "x", "type": ["user"]},
        {"$set": {"messages": [7]}},
        {"$rewindTo": ""},
        {"id": "x", "type": "gemini", "content": "a", "tokens": {"input": "many"}},
    ],
)
def test_a_malformed_record_costs_no_more_than_itself(tmp_path: Path, record: Record) -> None:
    path = tmp_path / "x"
    path.write_bytes(lines(META, record, user("1", "go"), model("2", "a")))
    (transcript,) = read_transcripts(path, format="gemini-cli")
    assert_lawful(transcript)
    assert texts(transcript)[-2:] == ["go", "a"]


CUT = lines(
    META, user("1", "lök"), model("2", ""), model("2", "F.", call("a", response("a", "x"))), user("3", "two"),
    {"$rewindTo": "3"}, user("4", "three"), {"$set": {"messages": [user("9", "Sum.")]}}, model("5", "dône"),
)  # fmt: skip


@behaviour("importers.any-cut")
@given(cut=st.integers(min_value=0, max_value=len(CUT)), junk=st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_a_log_cut_at_any_byte_imports_lawfully(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x"
    path.write_bytes(CUT[:cut] + junk + b"\n" + CUT)
    (transcript,) = read_transcripts(path, format="gemini-cli")
    assert_lawful(transcript)
