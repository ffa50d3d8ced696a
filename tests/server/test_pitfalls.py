"""What goes wrong in a language server framework that is used for something else, and must not here.

Row numbers are those of the survey of pygls 2.1.1 that the wire was built against.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import ECHO
from tests.support.behaviour import behaviour
from tests.support.peer import Peer, PeerError, frame

INVALID_REQUEST = -32600


def refused(peer: Peer, method: str, params: Any = None) -> PeerError:
    with pytest.raises(PeerError) as caught:
        peer.request(method, params)
    return caught.value


def test_row_1_an_object_that_looks_like_a_message_is_only_data(peer: Peer) -> None:
    tree = {"x": {"jsonrpc": "2.0", "method": "exit", "id": 1}}
    assert peer.request("test/echo", {"tree": tree})["tree"] == tree


def test_row_2_member_names_of_any_kind_come_back(peer: Peer) -> None:
    tree = {"class": 1, "$ref": {"my-key": None, "": []}, "type_name": "x"}
    assert peer.request("test/echo", {"tree": tree})["tree"] == tree


@pytest.mark.parametrize("members", [{}, {"params": None}, {"params": {}}, {"extra": {"a": 1}}])
def test_row_3_a_request_without_params_or_with_more_members_is_answered(
    peer: Peer, members: dict[str, Any]
) -> None:
    peer.send({"jsonrpc": "2.0", "id": "r3", "method": "test/echo", **members})
    assert peer.wait("r3") == {"text": "nothing"}


@behaviour("errors.paths")
def test_row_4_invalid_params_are_answered_with_paths_and_without_values(peer: Peer) -> None:
    error = refused(peer, "test/echo", {"text": ["a secret"], "messages": [{}, "a secret"], "native": 3})
    assert error.code == -32602
    assert error.kind == "invalidParams"
    assert [e["path"] for e in error.data["errors"]] == ["messages.1", "native", "text"]
    assert "secret" not in str(error)


@pytest.mark.parametrize("params", [[], [1], "x", 5, True])
def test_row_4_params_that_are_no_object_are_invalid(peer: Peer, params: Any) -> None:
    assert refused(peer, "test/echo", params).data["errors"][0]["path"] == ""


@behaviour("wire.shapes")
@pytest.mark.parametrize(
    ("body", "identity", "code", "kind"),
    [
        (b"{", None, -32700, "parseError"),
        (b"", None, -32700, "parseError"),
        (b"\xff\xfe", None, -32700, "parseError"),
        (b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":NaN}', None, -32700, "parseError"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"test/echo"}]', None, INVALID_REQUEST, "invalidRequest"),
        (b"[]", None, INVALID_REQUEST, "invalidRequest"),
        (b"7", None, INVALID_REQUEST, "invalidRequest"),
        (b'{"id":"a","method":"test/echo"}', "a", INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"1.0","id":"a","method":"test/echo"}', "a", INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":2.0,"id":"a","method":"test/echo"}', "a", INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":"a"}', "a", INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":"a","method":5}', "a", INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', None, INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', None, INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', None, INVALID_REQUEST, "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', None, INVALID_REQUEST, "invalidRequest"),
    ],
)
def test_row_5_what_is_no_message_gets_the_code_for_it(
    peer: Peer, body: bytes, identity: str | None, code: int, kind: str
) -> None:
    peer.send_bytes(frame(body))
    with pytest.raises(PeerError) as caught:
        peer.wait(identity)
    assert (caught.value.code, caught.value.kind) == (code, kind)


@behaviour("wire.lifecycle")
def test_row_6_and_7_requests_outside_the_lifecycle_are_refused() -> None:
    with Peer.start(program=ECHO) as peer:
        early = refused(peer, "test/echo")
        assert (early.code, early.kind) == (-32002, "notInitialized")
        assert refused(peer, "test/nonsense").kind == "notInitialized"
        peer.notify("test/drop", {"count": 1})
        assert refused(peer, "initialize", {"processId": "seven"}).data["errors"][0]["path"] == "processId"
        peer.initialize()
        again = refused(peer, "initialize", {"capabilities": {}})
        assert (again.code, again.kind) == (INVALID_REQUEST, "invalidRequest")
        assert peer.request("test/echo", {"text": "still here"}) == {"text": "still here"}
        peer.request("shutdown")
        late = refused(peer, "test/echo")
        assert (late.code, late.kind) == (INVALID_REQUEST, "invalidRequest")
        assert refused(peer, "shutdown").code == INVALID_REQUEST
        peer.notify("exit")
        assert peer.wait_exit() == 0


def test_row_8_a_handler_cannot_end_the_process(peer: Peer) -> None:
    assert refused(peer, "test/leave").kind == "internal"


def test_row_10_any_number_of_requests_may_wait_for_the_host(peer: Peer) -> None:
    peer.answer("test/host", lambda params: {"text": f"answer {params['count']}"})
    asked = [peer.ask("test/askHost", {"count": n}) for n in range(40)]
    assert [peer.wait(i)["text"] for i in asked] == [f"answer {n}" for n in range(40)]
    peer.answer("test/host", None)


@behaviour("wire.stdout")
def test_row_12_stdout_carries_nothing_but_frames(peer: Peer) -> None:
    assert peer.request("test/pollute") == {"text": "", "count": 0}


@behaviour("errors.internal")
@pytest.mark.parametrize("method", ["test/unsendable", "test/wrongType", "test/fail", "test/oddError"])
def test_rows_14_and_16_a_defect_is_answered_with_an_error_id_and_nothing_else(
    peer: Peer, method: str
) -> None:
    error = refused(peer, method)
    assert (error.code, error.kind, error.message) == (-32603, "internal", "internal error")
    assert set(error.data) == {"kind", "hint", "errorId"}


def test_an_error_with_a_kind_keeps_its_hint_and_facts(peer: Peer) -> None:
    error = refused(peer, "test/lock")
    assert (error.code, error.message) == (-32803, "somebody writes it")
    assert error.data == {"kind": "sessionLocked", "hint": "ask them", "holder": {"pid": 7}, "planId": "p"}


@behaviour("errors.log")
def test_row_17_no_payload_and_no_exception_text_reaches_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    body = b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"text":["a secret"]}'
    with Peer.start(program=ECHO, log=log, environment={"CTXD_LOG": "DEBUG"}) as peer:
        peer.initialize(options={"storage": {"root": "a secret"}})
        peer.request("test/echo", {"text": "a secret"})
        refused(peer, "test/echo", {"text": ["a secret"]})
        errors = [refused(peer, m) for m in ("test/fail", "test/unsendable")]
        peer.notify("test/drop", {"count": "a secret"})
        assert "a secret" not in peer.notification("window/logMessage")["message"]
        for broken in (body, body + b"}"):
            peer.send_bytes(frame(broken))
        peer.receive(lambda m: m["id"] is None)
        peer.receive(lambda m: m["id"] == 1)
    text = log.read_text()
    assert all(e.data["errorId"] in text for e in errors)
    assert "KeyError" in text
    assert "a secret" not in text.replace('raise KeyError("a secret in an exception")', "")


def test_row_18_cancelling_an_id_of_ours_leaves_our_own_request_alone(peer: Peer) -> None:
    identity = peer.ask("test/askHost")
    request = peer.receive(lambda m: m.get("method") == "test/host")
    peer.notify("$/cancelRequest", {"id": request["id"]})
    peer.send({"jsonrpc": "2.0", "id": request["id"], "result": {"text": "for you"}})
    assert peer.wait(identity)["text"] == "for you"


def test_row_19_giving_up_on_the_host_tells_it_and_drops_its_late_answer(peer: Peer) -> None:
    identity = peer.ask("test/askInVain")
    request = peer.receive(lambda m: m.get("method") == "test/host")
    assert peer.notification("$/cancelRequest") == {"id": request["id"]}
    with pytest.raises(PeerError) as caught:
        peer.wait(identity)
    assert (caught.value.code, caught.value.kind) == (-32803, "timeout")
    peer.send({"jsonrpc": "2.0", "id": request["id"], "result": {"text": "late"}})
    assert peer.request("test/echo", {"text": "on"}) == {"text": "on"}


def test_row_19_cancelling_a_request_cancels_what_it_asked_the_host(peer: Peer) -> None:
    identity = peer.ask("test/askHost")
    request = peer.receive(lambda m: m.get("method") == "test/host")
    peer.notify("$/cancelRequest", {"id": identity})
    assert peer.notification("$/cancelRequest") == {"id": request["id"]}
    with pytest.raises(PeerError) as caught:
        peer.wait(identity)
    assert caught.value.kind == "cancelled"


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ({"result": {"text": "ok"}, "extra": 1}, "ok"),
        ({"result": {"text": 5}}, "host error 1"),
        ({"result": None}, "host error 1"),
        ({"result": "x"}, "host error 1"),
        ({"error": {"code": -32601, "message": "no"}}, "host error -32601"),
        ({"error": "broken"}, "host error 1"),
        ({"error": {"code": "x"}, "result": {}}, "host error 1"),
    ],
)
def test_row_20_whatever_the_host_answers_wakes_the_handler(
    peer: Peer, answer: dict[str, Any], seen: str
) -> None:
    identity = peer.ask("test/askHost")
    request = peer.receive(lambda m: m.get("method") == "test/host")
    peer.send({"jsonrpc": "2.0", "id": request["id"], **answer})
    assert peer.wait(identity)["text"] == seen


@behaviour("wire.cancel")
@pytest.mark.parametrize("method", ["test/wait", "test/holdThread"])
def test_row_21_a_cancelled_request_is_answered_at_once(peer: Peer, method: str) -> None:
    identity = peer.ask(method)
    peer.notification("test/begun")
    peer.notify("$/cancelRequest", {"id": identity})
    with pytest.raises(PeerError) as caught:
        peer.wait(identity)
    assert (caught.value.code, caught.value.kind) == (-32800, "cancelled")
    peer.notify("$/cancelRequest", {"id": identity})
    peer.notify("$/cancelRequest", {"id": "never used"})


def test_row_22_a_second_request_with_a_running_id_is_refused_and_the_first_answered(peer: Peer) -> None:
    peer.send({"jsonrpc": "2.0", "id": "twice", "method": "test/wait"})
    peer.notification("test/begun")
    peer.send({"jsonrpc": "2.0", "id": "twice", "method": "test/echo"})
    with pytest.raises(PeerError) as caught:
        peer.wait(None)
    assert (caught.value.code, caught.value.data["id"]) == (INVALID_REQUEST, "twice")
    peer.request("test/open")
    assert peer.wait("twice")["text"] == "opened"


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Length:   %d  \n\n",
        b"\r\n\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
    ],
)
def test_row_23_headers_are_read_in_any_spelling(peer: Peer, header: bytes) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "h", "method": "test/echo"}).encode()
    peer.send_bytes(header % len(body) + body)
    assert peer.wait("h") == {"text": "nothing"}


def test_row_28_and_29_only_what_the_daemon_does_is_advertised(peer: Peer) -> None:
    peer.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///x", "text": "y"}})
    assert refused(peer, "workspace/executeCommand", {"command": "x"}).kind == "unknownMethod"
    with Peer.start(program=ECHO) as other:
        result = other.initialize()
    capabilities = result["capabilities"]
    assert result["serverInfo"]["name"] == "ctxd"
    assert set(capabilities) == {"workspace", "experimental"}
    offered = capabilities["experimental"]["ctxd"]
    assert offered["protocolVersion"] == 1
    assert offered["maxMessageBytes"] == 64 * 1024 * 1024
    assert "test/echo" in offered["methods"]
    assert not {"test/unbuilt", "test/host"} & set(offered["methods"])


@pytest.mark.parametrize("method", ["test/unbuilt", "test/host", "test/nope", "$/nope", "test/drop"])
def test_a_method_that_is_not_offered_is_unknown(peer: Peer, method: str) -> None:
    error = refused(peer, method)
    assert (error.code, error.kind) == (-32601, "unknownMethod")


@behaviour("wire.progress")
def test_row_30_progress_begins_and_ends_and_its_token_can_be_used_again(peer: Peer) -> None:
    for token in ("t", "t", 5):
        identity = peer.ask("test/work", {"count": 3, "workDoneToken": token})
        seen = [peer.notification("$/progress") for _ in range(4)]
        assert {s["token"] for s in seen} == {token}
        assert [s["value"]["kind"] for s in seen] == ["begin", "report", "report", "end"]
        assert [s["value"].get("percentage") for s in seen] == [0, 1, 2, None]
        assert peer.wait(identity)["count"] == 3


def test_row_30_cancelling_a_progress_cancels_its_request(peer: Peer) -> None:
    identity = peer.ask("test/wait", {"workDoneToken": "w"})
    peer.notification("test/begun")
    peer.notify("window/workDoneProgress/cancel", {"token": "w"})
    with pytest.raises(PeerError) as caught:
        peer.wait(identity)
    assert caught.value.kind == "cancelled"


@pytest.mark.parametrize(
    ("params", "said"),
    [({"count": -1}, "test/drop: internal error (internal)"), ({"count": "x"}, "invalid params: count")],
)
def test_row_31_a_failing_notification_goes_to_the_log_of_the_host(
    peer: Peer, params: dict[str, Any], said: str
) -> None:
    peer.notify("test/drop", params)
    assert said in peer.notification("window/logMessage")["message"]


def test_row_32_every_answer_carries_the_id_it_was_asked_under(peer: Peer) -> None:
    ids: list[int | str] = [0, -5, "x", "", "s1", 2**70, "\ud83d"]
    for identity in ids:
        peer.send(
            {"jsonrpc": "2.0", "id": identity, "method": "test/echo", "params": {"text": str(identity)}}
        )
    assert [peer.wait(i)["text"] for i in ids] == [str(i) for i in ids]


def test_row_34_the_server_runs_where_warnings_are_errors() -> None:
    with Peer.start(program=("-W", "error", *ECHO)) as peer:
        peer.initialize()
        assert peer.request("test/echo") == {"text": "nothing"}


@pytest.mark.parametrize("params", [{"text": 5}, {"number": "5"}, {"number": 5.5}, {"number": True}])
def test_row_35_values_are_not_coerced(peer: Peer, params: dict[str, Any]) -> None:
    assert refused(peer, "test/echo", params).kind == "invalidParams"
