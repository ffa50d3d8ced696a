"""A tiny daemon that speaks frames and nothing else, to try clients on. Run as a script.

What it does follows from the method asked: `echo` answers its params, `fail` an error, `wait` answers
only when cancelled, `ask` asks the client and answers what it got, `tell` notifies first, `die` ends at
once, `babble` writes garbage, `seen` lists the methods that came in. With `--stubborn`
it never ends by itself.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> int:
    stubborn = "--stubborn" in sys.argv
    seen: list[str] = []
    shut = False
    while (message := _read()) is not None or stubborn:
        if message is None:
            continue
        method, identity, params = message.get("method"), message.get("id"), message.get("params")
        seen.append(method or "answer")
        match method:
            case "initialize":
                _answer(identity, {"serverInfo": {"name": "echo"}, "capabilities": _able(params)})
            case "shutdown":
                shut = True
                _answer(identity, None)
            case "exit" if not stubborn:
                return 0 if shut else 1
            case "echo":
                _answer(identity, params)
            case "fail":
                _fail(identity, -32602, {"kind": "invalidParams", "hint": "look", "path": "a.b"})
            case "wait":
                _write({"method": "waiting", "params": {"id": identity}})
            case "$/cancelRequest":
                _fail(params["id"], -32800, {"kind": "cancelled"})
            case "ask":
                _write({"id": "q1", "method": params["method"], "params": params["params"]})
                answer = _read() or {}
                _answer(identity, {key: answer[key] for key in ("result", "error") if key in answer})
            case "withdraw":
                _write({"id": "q2", "method": "sampling/createMessage", "params": {}})
                _write({"method": "$/cancelRequest", "params": {"id": "q2"}})
                _answer(identity, _read())
            case "tell":
                _write({"method": "context/event", "params": {"n": 1}})
                _answer(identity, {})
            case "seen":
                _answer(identity, seen)
            case "die":
                return 3
            case "babble":
                sys.stdout.buffer.write(b"Content-Length: many\r\n\r\n")
                sys.stdout.buffer.flush()
            case _:
                pass
    return 1


def _able(params: dict[str, Any]) -> dict[str, Any]:
    return {"experimental": {"ctxd": {"methods": ["echo"], "got": params}}}


def _read() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline():
        if not line.strip():
            message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
            return message
        length = int(line.split(b":")[1])
    return None


def _answer(identity: Any, result: Any) -> None:
    _write({"id": identity, "result": result})


def _fail(identity: Any, code: int, data: dict[str, Any]) -> None:
    _write({"id": identity, "error": {"code": code, "message": "no", "data": data}})


def _write(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
