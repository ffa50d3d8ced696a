"""The process: its pipes, its limits, its ends and its exit codes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ctxd
from tests.support.behaviour import behaviour
from tests.support.peer import DEADLINE, Peer, PeerError, frame

ROOT = Path(__file__).parents[2]
ECHO = ("-m", "tests.support.echo_server")


def start(**options: object) -> Peer:
    peer = Peer.start(program=ECHO)
    peer.initialize(options=options or None)
    return peer


def echo(identity: int | str, text: str) -> bytes:
    return frame({"jsonrpc": "2.0", "id": identity, "method": "test/echo", "params": {"text": text}})


@behaviour("wire.exit-codes")
def test_row_8_exit_after_shutdown_is_0_and_without_it_1() -> None:
    with start() as peer:
        assert peer.shutdown() == 0
    with start() as peer:
        peer.notify("exit")
        assert peer.wait_exit() == 1
    with Peer.start(program=ECHO) as peer:
        peer.notify("exit")
        assert peer.wait_exit() == 1


@behaviour("wire.stdin-ends")
def test_the_end_of_stdin_ends_the_daemon_by_the_same_codes() -> None:
    with start() as peer:
        assert peer.leave() == 1
    with start() as peer:
        peer.request("shutdown")
        assert peer.leave() == 0


@behaviour("wire.signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_row_9_a_signal_ends_the_daemon_while_stdin_stays_open(number: signal.Signals, code: int) -> None:
    with start() as peer:
        peer.process.send_signal(number)
        assert peer.wait_exit() == code


def test_row_9_a_thread_that_never_ends_holds_nobody() -> None:
    with start() as peer:
        identity = peer.ask("test/holdThread")
        peer.notification("test/begun")
        assert peer.leave() == 1
        with pytest.raises(PeerError) as caught:
            peer.wait(identity)
        assert caught.value.kind == "cancelled"


@pytest.mark.parametrize("way", ["eof", "signal", "exit", "header"])
def test_what_was_begun_is_finished_answered_and_closed_on_every_exit(tmp_path: Path, way: str) -> None:
    marker = tmp_path / "closed"
    with start() as peer:
        identity = peer.ask("test/finish", {"path": str(marker)})
        peer.notification("test/begun")
        match way:
            case "eof":
                code = peer.leave()
            case "signal":
                peer.process.terminate()
                code = peer.wait_exit()
            case "exit":
                peer.notify("exit")
                code = peer.wait_exit()
            case _:
                peer.send_bytes(b"garbage\n")
                code = peer.wait_exit()
        assert code == (143 if way == "signal" else 1)
        assert peer.wait(identity)["text"] == "finished"
    assert marker.read_text() == "closed"


def test_shutdown_lets_a_running_request_finish_before_it_is_answered(tmp_path: Path) -> None:
    marker = tmp_path / "closed"
    with start() as peer:
        identity = peer.ask("test/finish", {"path": str(marker)})
        peer.notification("test/begun")
        peer.request("shutdown")
        assert marker.read_text() == "closed"
        assert peer.wait(identity)["text"] == "finished"
        peer.notify("exit")
        assert peer.wait_exit() == 0


@behaviour("wire.no-deadlock")
def test_row_11_a_host_may_write_as_much_as_it_likes_before_it_reads() -> None:
    process = subprocess.Popen(
        [sys.executable, *ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    initialize = frame({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    text = "x" * 50_000
    data = initialize + b"".join(echo(n, text) for n in range(1, 101))

    def write() -> None:
        process.stdin.write(data)  # type: ignore[union-attr]  # checked above
        process.stdin.close()  # type: ignore[union-attr]

    writing = threading.Thread(target=write, daemon=True)
    writing.start()
    writing.join(DEADLINE)
    assert not writing.is_alive(), "the daemon stopped reading because nobody read it"
    with process.stdout:
        output = process.stdout.read()
    assert output.count(text.encode()) == 100
    assert process.wait(DEADLINE) == 1


def test_row_11_a_host_that_stops_reading_gets_only_the_newest_progress(tmp_path: Path) -> None:
    flooded = tmp_path / "flooded"
    os.mkfifo(flooded)
    process = subprocess.Popen(
        [sys.executable, *ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdin is not None
    params = {"count": 400, "path": str(flooded), "workDoneToken": "t"}
    process.stdin.write(frame({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}}))
    process.stdin.write(frame({"jsonrpc": "2.0", "id": "f", "method": "test/flood", "params": params}))
    process.stdin.flush()
    waiting = threading.Thread(target=flooded.read_text, daemon=True)
    waiting.start()
    waiting.join(DEADLINE)
    assert not waiting.is_alive(), "the daemon stopped working because nobody read it"
    with Peer(process) as peer:
        peer.wait("i")
        blobs = [peer.notification("test/blob") for _ in range(400)]
        peer.receive(lambda m: m["method"] == "$/progress" and m["params"]["value"].get("message") == "399")
        peer.request("test/open")
        assert peer.wait("f")["count"] == len(blobs)
        kinds = [m["params"]["value"]["kind"] for m in peer.inbox]
        peer.inbox.clear()
        assert (kinds[0], kinds[-1]) == ("begin", "end")
        assert len(kinds) < 399


def test_row_13_a_host_that_closes_its_end_ends_the_daemon() -> None:
    process = subprocess.Popen(
        [sys.executable, *ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(frame({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}))
    process.stdin.flush()
    assert process.wait(DEADLINE) == 1
    process.stdin.close()


@pytest.mark.parametrize(
    "data",
    [
        b"not a header\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"X: " + b"y" * 10_000,
        frame(b'{"jsonrpc":"2.0","method":"x"}')[:-10] + frame(b"{}"),
    ],
)
def test_rows_24_and_25_a_broken_header_ends_the_daemon_after_what_was_asked_before(data: bytes) -> None:
    with start() as peer:
        peer.send_bytes(echo("before", "x") + data)
        assert peer.wait("before") == {"text": "x"}
        assert peer.wait_exit() == 1
        peer.inbox.clear()


def test_row_26_an_end_inside_a_body_is_not_taken_for_a_message() -> None:
    with start() as peer:
        peer.send_bytes(echo("cut", "x")[:-1])
        assert peer.leave() == 1
        assert peer.inbox == []


@pytest.mark.parametrize("id_first", [True, False])
def test_row_24_a_message_above_the_limit_is_answered_and_the_daemon_goes_on(id_first: bool) -> None:
    limit = 100_000
    with start(wire={"maxMessageBytes": limit}) as peer:
        head = {"jsonrpc": "2.0", "id": "large", "method": "test/echo"}
        params = {"params": {"text": "x" * limit, "tree": {"id": 5}}}
        message = {**head, **params} if id_first else {**params, **head}
        peer.send(message)
        with pytest.raises(PeerError) as caught:
            peer.wait("large")
        assert (caught.value.code, caught.value.kind) == (-32803, "tooLarge")
        assert caught.value.data["limit"] == limit
        assert caught.value.data["bytes"] == len(json.dumps(message))
        assert peer.request("test/echo", {"text": "on"}) == {"text": "on"}


@behaviour("wire.parent")
def test_row_27_the_daemon_ends_when_the_process_it_was_told_of_does() -> None:
    with subprocess.Popen(["sleep", "600"]) as parent, Peer.start(program=ECHO) as peer:
        peer.initialize(processId=parent.pid)
        assert peer.request("test/echo") == {"text": "nothing"}
        parent.kill()
        assert peer.wait_exit() == 1


def test_row_27_a_process_that_cannot_be_seen_is_not_watched() -> None:
    with Peer.start(program=ECHO) as peer:
        peer.initialize(processId=2**22 + 1)
        assert peer.request("test/echo") == {"text": "nothing"}


def test_natives_come_back_byte_for_byte_through_the_process() -> None:
    natives = [
        b'{"cut":"\\ud83d","nul":"\\u0000","unknown":{"a":null}}',
        b'{ "big" : 123456789012345678901234567890 , "bigger":1e400 }',
        b'{"deep":' + b"[" * 900 + b"]" * 900 + b"}",
        '{"text":"é 😀"}'.encode(),
    ]
    params = b'{"messages":[%b]}' % b",".join(natives)
    with start() as peer:
        peer.send_bytes(frame(b'{"jsonrpc":"2.0","id":"n","method":"test/echo","params":%b}' % params))
        peer.wait("n")
        assert b'"messages":[%b]' % b",".join(natives) in peer.bodies["n"]


def test_ten_megabytes_come_back_byte_for_byte() -> None:
    native = b'{"role":"user","content":"%b"}' % (b"0123456789" * 1000)
    params = b'{"messages":[%b]}' % b",".join([native] * 1000)
    with start() as peer:
        peer.send_bytes(frame(b'{"jsonrpc":"2.0","id":"n","method":"test/echo","params":%b}' % params))
        assert len(peer.wait("n")["messages"]) == 1000
        assert params[1:-1] in peer.bodies["n"]


@behaviour("wire.garbage")
def test_garbage_in_good_frames_neither_stops_nor_ends_the_daemon() -> None:
    chance = random.Random(20)
    seed = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "test/echo", "params": {"text": "é\ud83d", "messages": [{}]}}
    ).encode()
    with start() as peer:
        for _ in range(1500):
            body = bytearray(seed)
            for _ in range(chance.randint(1, 6)):
                position = chance.randrange(len(body))
                match chance.randrange(3):
                    case 0:
                        body[position] = chance.randrange(256)
                    case 1:
                        del body[position : position + chance.randint(1, 9)]
                    case _:
                        body[position:position] = chance.choice([b"{", b"]", b'"', b"\\", b"\xff", b"1e999"])
            peer.send_bytes(frame(bytes(body).replace(b"exit", b"") or b"x"))
        assert peer.request("shutdown") is None
        peer.notify("exit")
        assert peer.wait_exit() == 0
        answers = [m for m in peer.inbox if "id" in m]
        assert len(answers) > 1000
        assert {m["error"]["data"]["kind"] for m in answers if "error" in m} <= {
            "parseError",
            "invalidRequest",
            "invalidParams",
            "unknownMethod",
        }
        peer.inbox.clear()


def test_the_version_is_said_without_loading_a_server() -> None:
    code = "import sys; sys.argv = ['ctxd', '--version']; from ctxd.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "print(sorted({'pygls', 'lsprotocol', 'pydantic', 'tiktoken'} & set(sys.modules)))"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert said == f"ctxd {ctxd.__version__}\n[]\n"


@behaviour("wire.light-start")
def test_nothing_heavy_is_loaded_before_initialize_is_answered() -> None:
    code = "import sys; import ctxd.server.app\n"
    code += "print(sorted(m for m in sys.modules if m.startswith(('tiktoken', 'ctxd.'))))"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    rooms = {name.split(".")[1] for name in eval(said) if "." in name}
    assert rooms == {"model", "server"}


def test_python_dash_m_serves_the_real_methods(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": os.fspath(tmp_path), "XDG_CACHE_HOME": os.fspath(tmp_path)}
    with Peer.start(environment=environment) as peer:
        offered = peer.initialize()["capabilities"]["experimental"]["ctxd"]
        assert "session/open" in offered["methods"]
        assert peer.request("ctxd/status")["version"] == ctxd.__version__
