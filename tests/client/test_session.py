"""The session's calls carry its ids and put names as the wire has them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio

from ctxd.client import Client, Session

COMMAND = [sys.executable, str(Path(__file__).parents[1] / "support/echo_daemon.py")]


def test_fields_are_camel_case_absent_ones_left_out_and_native_values_untouched() -> None:
    native = {"role": "user", "content": None, "snake_key": {"inner_key": None}}

    async def main() -> Any:
        async with Client.start(Path.cwd(), command=COMMAND) as client:
            session = Session(client, {"sessionId": "s1"})
            return await session.call("echo", tool_call_id="c", page=None, messages=[native])

    assert anyio.run(main) == {"sessionId": "s1", "toolCallId": "c", "messages": [native]}
