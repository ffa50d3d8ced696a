"""The client against a real process: requests both ways, errors, cancellation, every kind of end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from ctxd.client import Client, ClientError
from ctxd.client import connection as connection_module
from tests.support.behaviour import behaviour

DAEMON = Path(__file__).parents[1] / "support/echo_daemon.py"
COMMAND = [sys.executable, str(DAEMON)]


def run(talk: Callable[[Client], Awaitable[None]], **more: Any) -> Client:
    """Talk to a fresh daemon; the client as it was left."""

    async def main() -> Client:
        async with Client.start(Path.cwd(), command=COMMAND, **more) as client:
            await talk(client)
        return client

    return anyio.run(main)


def test_params_may_be_json_text() -> None:
    async def talk(client: Client) -> None:
        given = {"value": {"text": "é\n", "number": 1.5, "none": None}}
        text = b'{"value": {"text": "\xc3\xa9\\n", "number": 1.5, "none": null}}'
        assert await client.request("echo", text) == given

    run(talk)


def test_hello_names_folders_options_and_what_the_host_can_do() -> None:
    async def sample(params: Any) -> Any:
        return params

    async def talk(client: Client) -> None:
        got = client.capabilities["got"]
        assert got["workspaceFolders"] == [{"uri": Path.cwd().as_uri(), "name": Path.cwd().name}]
        assert got["initializationOptions"] == {"elision": {"enabled": False}}
        assert got["capabilities"]["experimental"]["ctxd"] == {"sampling": True, "compactHook": False}
        assert client.server_info == {"name": "echo"}
        assert await client.request("seen") == ["initialize", "initialized", "seen"]

    run(talk, options={"elision": {"enabled": False}}, on_request={"sampling/createMessage": sample})


def test_params_come_back_as_they_went() -> None:
    params = {"big": 2**80, "text": "é\u2028\ud800", "null": None, "jsonrpc": "x", "long": "y" * 300_000}

    async def talk(client: Client) -> None:
        assert await client.request("echo", params) == params

    run(talk)


def test_requests_that_overlap_get_their_own_answers() -> None:
    async def talk(client: Client) -> None:
        answers = await asyncio.gather(*(client.request("echo", {"n": n}) for n in range(50)))
        assert answers == [{"n": n} for n in range(50)]

    run(talk)


def test_an_error_carries_code_kind_hint_and_facts() -> None:
    async def talk(client: Client) -> None:
        with pytest.raises(ClientError) as failed:
            await client.request("fail")
        error = failed.value
        assert (error.code, error.kind, error.hint) == (-32602, "invalidParams", "look")
        assert error.data["path"] == "a.b"
        assert str(error) == "invalidParams: no (look)"

    run(talk)


def test_cancelling_the_caller_cancels_the_request_in_the_daemon() -> None:
    async def talk(client: Client) -> None:
        waiting = asyncio.create_task(client.request("wait"))
        while "wait" not in await client.request("seen"):
            pass
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await client.request("seen"))[-2:] == ["$/cancelRequest", "seen"]

    run(talk)


def test_notifications_reach_the_host_in_order_with_answers() -> None:
    told: list[tuple[str, Any]] = []

    async def talk(client: Client) -> None:
        await client.request("tell")
        assert told == [("context/event", {"n": 1})]

    run(talk, on_notification=lambda method, params: told.append((method, params)))


def test_the_daemon_can_ask_the_host() -> None:
    async def sample(params: Any) -> Any:
        return {"content": params["messages"]}

    async def broken(params: Any) -> Any:
        raise RuntimeError(f"secret {params}")

    async def talk(client: Client) -> None:
        asked = await client.request("ask", {"method": "sampling/createMessage", "params": {"messages": 1}})
        assert asked == {"result": {"content": 1}}
        refused = await client.request("ask", {"method": "nobody/home", "params": {}})
        assert refused["error"]["code"] == -32601
        failed = await client.request("ask", {"method": "hook/preCompact", "params": {}})
        assert failed["error"] == {"code": -32603, "message": "RuntimeError"}

    run(talk, on_request={"sampling/createMessage": sample, "hook/preCompact": broken})


def test_the_daemon_can_withdraw_what_it_asked() -> None:
    async def sample(params: Any) -> Any:
        await asyncio.Event().wait()

    async def talk(client: Client) -> None:
        answer = await client.request("withdraw")
        assert answer["error"]["code"] == -32800

    run(talk, on_request={"sampling/createMessage": sample})


@behaviour("client.ends")
def test_leaving_shuts_the_daemon_down_with_exit_code_zero() -> None:
    async def talk(client: Client) -> None:
        assert client.returncode is None

    assert run(talk).returncode == 0


def test_an_exception_in_the_host_comes_through_bare_and_the_daemon_still_ends() -> None:
    left: list[Client] = []

    async def talk(client: Client) -> None:
        left.append(client)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(talk)
    assert left[0].returncode == 0


@pytest.mark.parametrize("method", ["die", "babble"])
def test_a_daemon_that_dies_or_babbles_fails_every_waiting_request(method: str) -> None:
    async def talk(client: Client) -> None:
        asked = [client.request("wait"), client.request(method), client.request("wait")]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert {getattr(answer, "kind", None) for answer in answers} == {"connectionClosed"}
        with pytest.raises(ClientError, match="connectionClosed"):
            await client.request("echo")
        with pytest.raises(ClientError, match="connectionClosed"):
            await client.notify("echo")

    run(talk)


def test_a_killed_daemon_is_reported_by_its_signal() -> None:
    async def talk(client: Client) -> None:
        client.kill()
        with pytest.raises(ClientError, match="connectionClosed"):
            await client.request("wait")
        assert await client.wait() == -9

    run(talk)


def test_a_daemon_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_SHUTDOWN_SECONDS", 0.2)

    async def main() -> int | None:
        async with Client.start(Path.cwd(), command=[*COMMAND, "--stubborn"]) as client:
            pass
        return client.returncode

    assert anyio.run(main) == -9


def test_a_command_that_does_not_exist_is_an_os_error() -> None:
    async def main() -> None:
        async with Client.start(Path.cwd(), command=["./no-such-daemon"]):
            pass

    with pytest.raises(OSError, match="no-such-daemon"):
        anyio.run(main)
