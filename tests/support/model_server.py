"""A provider on loopback that speaks three APIs (Anthropic, OpenAI chat, Gemini) and keeps what it got."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

Body = dict[str, Any]
Answer = tuple[int, Body]


class Sent:
    """One request: path, headers by lower-cased name, decoded body."""

    def __init__(self, path: str, headers: dict[str, str], body: Body) -> None:
        self.path = path
        self.headers = headers
        self.body = body


class ModelServer:
    """`respond(sent)` gives status and body; None keeps the connection open until the server ends."""

    def __init__(self, respond: Callable[[Sent], Answer | None]) -> None:
        self.respond = respond
        self.sent: list[Sent] = []
        self.ended = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version: ClassVar[str] = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                sent = Sent(self.path, headers, json.loads(self.rfile.read(length)))
                owner.sent.append(sent)
                answer = owner.respond(sent)
                if answer is None:
                    owner.ended.wait(60)
                    self.close_connection = True
                    return
                data = json.dumps(answer[1]).encode()
                self.send_response(answer[0])
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(respond: Callable[[Sent], Answer | None]) -> Iterator[ModelServer]:
    server = ModelServer(respond)
    try:
        yield server
    finally:
        server.close()


def completion(provider: str, text: str) -> Answer:
    """A successful answer of a provider, 11 tokens in and 7 out."""
    match provider:
        case "anthropic":
            content = [{"type": "text", "text": text}] if text else []
            return 200, {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "served",
                "content": content,
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 11, "output_tokens": 7},
            }
        case "openai":
            return 200, {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "served",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                ],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            }
        case _:
            parts = [{"text": text}] if text else []
            return 200, {
                "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
                "modelVersion": "served",
                "responseId": "r1",
            }


def failure(provider: str, status: int, message: str, code: str = "") -> Answer:
    """An error as a provider words it."""
    match provider:
        case "anthropic":
            kind = code or "invalid_request_error"
            return status, {"type": "error", "error": {"type": kind, "message": message}}
        case "openai":
            error = {"message": message, "type": "invalid_request_error", "param": None, "code": code or None}
            return status, {"error": error}
        case _:
            return status, {
                "error": {"code": status, "message": message, "status": code or "INVALID_ARGUMENT"}
            }
