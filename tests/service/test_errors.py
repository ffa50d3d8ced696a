"""Every error these methods can raise: its kind, the path of what is wrong, a hint, and nothing written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.service.host import WORKSPACE, Answer, LocalHost, Refused, Session
from tests.support.behaviour import behaviour

USER = {"role": "user", "content": "one"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "run", "input": {}}]}
SECRET = "do not repeat this"


def result(call_id: str = "c1", text: str = "done") -> Answer:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": text}]}


def logs(root: Path) -> dict[str, bytes]:
    """Everything that was ever written of any session."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.jsonl"))}


def refuse(host: LocalHost, method: str, params: Mapping[str, Any]) -> Refused:
    """The error a call is answered with; no log has changed then, and no value is repeated in it."""
    before = logs(host.root)
    with pytest.raises(Refused) as refused:
        host.call(method, **params)
    assert logs(host.root) == before
    assert SECRET not in str(refused.value)
    return refused.value


OPEN: Answer = {"workspace": WORKSPACE, "sessionId": "new", "dialect": "anthropic"}
TOOL = {"name": "run", "input_schema": {}}

WRONG_PARAMS: list[tuple[str, Answer, str]] = [
    ("session/open", {"dialect": "anthropic"}, "workspace"),
    ("session/open", {**OPEN, "workspace": "https://example.org/x"}, "workspace"),
    ("session/open", {**OPEN, "workspace": "file://server/x"}, "workspace"),
    ("session/open", {**OPEN, "mode": SECRET}, "mode"),
    ("session/open", {**OPEN, "sessionId": "../up"}, "sessionId"),
    ("session/open", {**OPEN, "sessionId": ""}, "sessionId"),
    ("session/open", {**OPEN, "sessionId": "s1", "mode": "create"}, "sessionId"),
    ("session/open", {"workspace": WORKSPACE, "sessionId": "new"}, "dialect"),
    ("session/open", {**OPEN, "sessionId": "s1", "dialect": "openai-chat"}, "dialect"),
    ("session/open", {**OPEN, "sessionId": "s1", "workspace": "file:///elsewhere"}, "workspace"),
    ("session/open", {**OPEN, "model": {"id": "m", "contextWindow": -1}}, "model.contextWindow"),
    ("session/open", {**OPEN, "model": {}}, "model.id"),
    ("session/open", {**OPEN, "system": 7}, "system"),
    ("session/open", {**OPEN, "system": [{"type": "text"}]}, "system.0.text"),
    ("session/open", {**OPEN, "tools": [TOOL, {"input_schema": {}}]}, "tools.1.name"),
    ("session/open", {**OPEN, "tools": [SECRET]}, "tools.0"),
    ("session/update", {"sessionId": "s1", "system": [{"type": "image"}]}, "system.0.source"),
    ("session/update", {"sessionId": "s1", "tools": [{"name": 1}]}, "tools.0.name"),
    ("session/append", {"sessionId": "s1"}, "messages"),
    ("session/append", {"sessionId": "s1", "messages": SECRET}, "messages"),
    ("session/append", {"sessionId": "s1", "messages": [USER, SECRET]}, "messages.1"),
    ("session/append", {"sessionId": "s1", "messages": [USER], "meta": []}, "meta"),
    ("session/append", {"sessionId": "s1", "messages": [USER], "meta": [{"kind": SECRET}]}, "meta.0.kind"),
    ("session/append", {"sessionId": "s1", "messages": [USER], "meta": [{"id": "m1"}]}, "meta.0.id"),
    (
        "session/append",
        {"sessionId": "s1", "messages": [USER, USER], "meta": [{"id": "x"}, {"id": "x"}]},
        "meta.1.id",
    ),
    ("session/append", {"sessionId": "s1", "messages": [USER], "expectedRevision": -1}, "expectedRevision"),
    ("session/append", {"sessionId": "s1", "messages": [USER], "clientId": ""}, "clientId"),
    ("session/history", {"sessionId": "s1", "view": SECRET}, "view"),
    ("session/history", {"sessionId": "s1", "limit": 0}, "limit"),
    ("session/list", {"workspace": 3}, "workspace"),
    ("session/close", {}, "sessionId"),
    ("context/prepare", {"sessionId": "s1"}, "phase"),
    ("context/prepare", {"sessionId": "s1", "phase": SECRET}, "phase"),
    ("context/prepare", {"sessionId": "s1", "phase": "retry", "pending": [1]}, "pending.0"),
    ("context/report", {"sessionId": "s1", "requestId": "r", "outcome": SECRET}, "outcome"),
    ("context/report", {"sessionId": "s1", "outcome": "ok"}, "requestId"),
    ("context/report", {"sessionId": "s1", "requestId": "r", "outcome": "ok", "usage": 3}, "usage"),
    (
        "context/report",
        {"sessionId": "s1", "requestId": "r", "outcome": "ok", "messages": [USER], "meta": []},
        "meta",
    ),
    ("context/project", {"sessionId": "s1", "detail": SECRET}, "detail"),
    ("context/compact", {"sessionId": "s1", "targetTokens": 0}, "targetTokens"),
    ("context/compact", {"sessionId": "s1", "strategy": SECRET}, "strategy"),
    ("context/validate", {"messages": [USER]}, "dialect"),
    ("tokens/count", {}, "text"),
    ("tokens/count", {"text": "a", "messages": []}, "text"),
    ("tokens/count", {"messages": [USER]}, "dialect"),
    ("recall/fetch", {"sessionId": "s1"}, "toolCallId"),
    ("recall/fetch", {"sessionId": "s1", "toolCallId": "c1", "messageId": "m1"}, "toolCallId"),
    ("recall/fetch", {"sessionId": "s1", "toolCallId": "c1", "page": 0, "offset": 0}, "page"),
    ("recall/fetch", {"sessionId": "s1", "toolCallId": "c1", "startLine": 5}, "startLine"),
    ("recall/fetch", {"sessionId": "s1", "toolCallId": "c1", "startLine": 1, "endLine": 0}, "endLine"),
    ("recall/fetch", {"sessionId": "s1", "toolCallId": "c1", "offset": -1}, "offset"),
    ("recall/fetch", {"sessionId": "s1", "toolCallId": "c1", "occurrence": -1}, "occurrence"),
    ("recall/list", {"sessionId": "s1", "limit": 0}, "limit"),
]


@pytest.fixture
def session(host: LocalHost) -> Session:
    opened = host.open()
    opened.append(USER, CALL, result(), meta=[{"id": "m1"}, None, None])
    return opened


@pytest.mark.parametrize(
    ("method", "params", "path"), WRONG_PARAMS, ids=[f"{m}-{p}" for m, _, p in WRONG_PARAMS]
)
def test_a_wrong_field_is_named_by_its_path(session: Session, method: str, params: Answer, path: str) -> None:
    error = refuse(session.host, method, params)
    assert (error.kind, error.code) == ("invalidParams", -32602)
    assert error.paths == [path]


def test_every_wrong_field_is_named_at_once(session: Session) -> None:
    params = {"sessionId": "s1", "messages": [USER, 1, 2], "meta": [{"pin": 1}, None, None]}
    assert refuse(session.host, "session/append", params).paths == ["messages.1", "messages.2", "meta.0.pin"]


SHAPES: list[tuple[Answer, str]] = [
    ({"role": "nobody", "content": SECRET}, "role"),
    ({"role": "user"}, "content"),
    ({"role": "user", "content": 7}, "content"),
    ({"role": "user", "content": [SECRET]}, "content.0"),
    ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text"}]}, "content.1.text"),
    ({"role": "user", "content": [{"type": "tool_result", "content": SECRET}]}, "content.0.tool_use_id"),
    ({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "x"}]}, "content.0.input"),
    ({"role": "user", "content": [{"type": "image", "source": {"type": "base64"}}]}, "content.0.source.data"),
]


@pytest.mark.parametrize(("message", "path"), SHAPES, ids=[path for _, path in SHAPES])
@pytest.mark.parametrize(
    ("method", "field", "fixed"),
    [
        ("session/append", "messages", {}),
        ("context/prepare", "pending", {"phase": "turnStart"}),
        ("context/project", "pending", {}),
    ],
)
def test_a_message_of_wrong_shape_is_named_by_its_path(
    session: Session, method: str, field: str, fixed: Answer, message: Answer, path: str
) -> None:
    params = {"sessionId": "s1", field: [USER, message], **fixed}
    error = refuse(session.host, method, params)
    assert (error.kind, error.code) == ("invalidMessages", -32602)
    assert (error.paths, error.rules) == ([f"{field}.1.{path}"], [("shape", 1)])
    assert error.data["hint"]


def test_a_report_with_a_message_of_wrong_shape_changes_nothing(session: Session) -> None:
    request_id = session.prepare()["requestId"]
    bad = {"role": "assistant", "content": [{"type": "tool_use"}]}
    params = {"sessionId": "s1", "requestId": request_id, "outcome": "ok", "messages": [bad]}
    assert refuse(session.host, "context/report", params).kind == "invalidMessages"
    assert session.report(request_id, {"role": "assistant", "content": "two"})["messageIds"]


UNLAWFUL: list[tuple[str, list[Answer], list[tuple[str, int]]]] = [
    ("an orphan result", [USER, result("c9")], [("orphanResult", 1)]),
    ("a second, differing result", [result("c1", "other")], [("duplicateResult", 0)]),
    ("a call id used again", [CALL], [("duplicateCall", 0)]),
    ("a result too late", [USER, {**CALL, "content": "x"}, result("c1", "other")], [("duplicateResult", 2)]),
    ("a call by the user", [{**CALL, "role": "user"}], [("blockRole", 0)]),
    ("one good, one orphan, one good", [USER, result("c9"), USER], [("orphanResult", 1)]),
]


@behaviour("errors.nothing-written")
@pytest.mark.parametrize(("messages", "rules"), [u[1:] for u in UNLAWFUL], ids=[u[0] for u in UNLAWFUL])
def test_messages_no_provider_takes_are_refused_whole_with_rule_and_index(
    session: Session, messages: list[Answer], rules: list[tuple[str, int]]
) -> None:
    history = session.messages()
    error = refuse(session.host, "session/append", {"sessionId": "s1", "messages": messages})
    assert (error.kind, error.rules) == ("invalidMessages", rules)
    assert {v["mend"] for v in error.data["violations"]} == {"refuse"}
    assert session.messages() == history


def test_unknown_blocks_are_taken(session: Session) -> None:
    odd = {"role": "assistant", "content": [{"type": "server_tool_use", "id": "x", "name": "y", "input": {}}]}
    session.append(USER, odd)
    assert session.messages()[-1] == odd


OTHERS: list[tuple[str, Answer, str]] = [
    ("session/append", {"messages": [USER]}, "sessionNotFound"),
    ("session/update", {}, "sessionNotFound"),
    ("session/history", {}, "sessionNotFound"),
    ("session/close", {}, "sessionNotFound"),
    ("context/prepare", {"phase": "turnStart"}, "sessionNotFound"),
    ("context/report", {"requestId": "r", "outcome": "ok"}, "sessionNotFound"),
    ("context/project", {}, "sessionNotFound"),
    ("context/compact", {}, "sessionNotFound"),
    ("recall/fetch", {"toolCallId": "c1"}, "sessionNotFound"),
    ("recall/list", {}, "sessionNotFound"),
]


@pytest.mark.parametrize(("method", "params", "kind"), OTHERS, ids=[o[0] for o in OTHERS])
def test_a_session_that_is_not_open_is_not_found(
    session: Session, method: str, params: Answer, kind: str
) -> None:
    error = refuse(session.host, method, {"sessionId": "nobody", **params})
    assert (error.kind, error.code) == (kind, -32803)
    assert error.data["hint"]


@pytest.mark.parametrize(
    "fields", [{"mode": "resume"}, {"readOnly": True}, {"readOnly": True, "dialect": None}]
)
def test_a_session_that_does_not_exist_cannot_be_resumed(session: Session, fields: Answer) -> None:
    params = {k: v for k, v in {**OPEN, **fields}.items() if v is not None}
    assert refuse(session.host, "session/open", params).kind == "sessionNotFound"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/open", {**OPEN, "dialect": "esperanto"}),
        ("context/validate", {"dialect": "esperanto", "messages": []}),
        ("tokens/count", {"dialect": "esperanto", "messages": []}),
    ],
)
def test_a_dialect_nobody_speaks_is_unknown_and_the_hint_names_those_there_are(
    session: Session, method: str, params: Answer
) -> None:
    error = refuse(session.host, method, params)
    assert error.kind == "unknownDialect"
    assert "anthropic" in error.data["hint"]


UNKNOWN: list[tuple[str, Answer]] = [
    ("context/report", {"requestId": "r9.9.0123456789abcdef", "outcome": "ok"}),
    ("context/report", {"requestId": "nonsense", "outcome": "ok"}),
    ("session/history", {"after": "nobody"}),
    ("session/history", {"view": "model", "after": "nobody"}),
    ("recall/fetch", {"toolCallId": "nobody"}),
    ("recall/fetch", {"digest": "sha256:" + "0" * 64}),
    ("recall/fetch", {"messageId": "nobody"}),
    ("recall/fetch", {"toolCallId": "c1", "occurrence": 1}),
    ("recall/list", {"after": "nobody"}),
    ("recall/list", {"after": "m1#x"}),
]


@pytest.mark.parametrize(("method", "params"), UNKNOWN)
def test_what_is_not_there_is_not_found(session: Session, method: str, params: Answer) -> None:
    error = refuse(session.host, method, {"sessionId": "s1", **params})
    assert error.kind == "notFound"
    assert error.data["hint"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/append", {"messages": [USER]}),
        ("session/update", {"model": {"id": "other"}}),
        ("context/compact", {"strategy": "deterministic"}),
    ],
)
def test_a_session_opened_to_read_refuses_to_write(session: Session, method: str, params: Answer) -> None:
    session.append(*[{"role": "user", "content": "word " * 4000} for _ in range(8)])
    session.call("session/close")
    session.host.open(dialect=None, readOnly=True)
    error = refuse(session.host, method, {"sessionId": "s1", **params})
    assert error.kind == "readOnly"
    assert "readOnly" in error.data["hint"]


def flip(path: Path, needle: bytes) -> None:
    """Change one byte of a file behind `needle`, as a failing disk would."""
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    place = data.index(needle) + len(needle)
    data[place] ^= 1
    path.write_bytes(data)


def test_a_blob_that_no_longer_matches_is_corrupt_and_never_handed_out(session: Session) -> None:
    big = result("c2", "mark" + "x" * 2_000_000)
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "run", "input": {}}]}
    (_, message_id) = session.append(call, big)["messageIds"]
    session.host.reopen()
    session.host.open()
    (blob,) = [p for p in session.host.root.rglob("objects/*/*") if p.stat().st_size > 1_000_000]
    flip(blob, b"mark")
    for method, params in (
        ("recall/fetch", {"toolCallId": "c2"}),
        ("recall/fetch", {"messageId": message_id}),
        ("session/history", {}),
    ):
        error = refuse(session.host, method, {"sessionId": "s1", **params})
        assert error.kind == "corrupt"
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", error.data["digest"])
    assert session.fetch("c1")["content"] == "done"


def test_a_message_that_rots_while_the_session_is_open_is_corrupt(session: Session) -> None:
    session.append({"role": "assistant", "content": "marked words"})
    session.host.reopen()
    session.host.open()
    for path in session.host.root.rglob("s1.*.jsonl"):
        if b"marked" in path.read_bytes():
            flip(path, b"marked")
    error = refuse(session.host, "session/history", {"sessionId": "s1"})
    assert error.kind == "corrupt"
    assert session.fetch("c1")["content"] == "done"


def test_damage_in_the_middle_opens_to_read_and_every_write_says_damaged(session: Session) -> None:
    session.append({"role": "assistant", "content": "marked words"})
    session.append({"role": "user", "content": "and on"})
    session.host.close()
    for path in session.host.root.rglob("s1.*.jsonl"):
        if b"marked" in path.read_bytes():
            flip(path, b"marked")
    session.host.start_again()
    opened = session.host.open()
    assert opened.info["access"] == "readOnly"
    error = refuse(session.host, "session/append", {"sessionId": "s1", "messages": [USER]})
    assert error.kind == "damaged"
    assert error.data["hint"]
    kept = [m["content"] for m in opened.messages() if isinstance(m["content"], str)]
    assert kept == ["one", "and on"]
    session.host.open("other").append(USER)
