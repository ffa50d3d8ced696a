"""Public reports, section D, of imported sessions: sizes, windows and media as the tools recorded them."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
import pytest

from ctxd.client import Client
from ctxd.importers.detect import open_sources
from ctxd.report.intake import take_in
from tests.importers import test_codex as codex
from tests.importers import test_gemini_cli as gemini
from tests.importers.lawful import lines
from tests.importers.test_claude_lineage import call, said, user

ANTHROPIC_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 42_444,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
GEMINI_TOKENS = {"input": 5423, "output": 0, "cached": 1381, "thoughts": 0, "tool": 0, "total": 5423}
BODY = json.dumps({"rows": [{"id": n, "name": f"row {n}"} for n in range(2000)]})
PIXELS = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300_000)).decode()


def claude_usage() -> bytes:
    answer = said("2", "1", "m", "ok")
    answer["message"]["usage"] = ANTHROPIC_USAGE
    return lines(user("1", None, "go"), answer)


def codex_usage() -> bytes:
    usage = codex.usage(93_537, 0)
    usage["payload"]["info"]["last_token_usage"]["cached_input_tokens"] = 93_440
    usage["payload"]["info"]["model_context_window"] = 272_000
    said_ = codex.said("assistant", "ok")
    return lines(codex.META, codex.TURN, codex.said("user", "go"), said_, usage)


def gemini_usage() -> bytes:
    return lines(gemini.META, gemini.user("1", "go"), gemini.model("2", "ok", tokens=GEMINI_TOKENS))


def claude_result(content: Any) -> bytes:
    block = {"type": "tool_result", "tool_use_id": "a", "content": content}
    return lines(user("1", None, "go"), said("2", "1", "m", call("a")), user("3", "2", [block]))


def image() -> list[Any]:
    return [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}}]


FILES: dict[str, bytes] = {
    "claude": claude_usage(),
    "codex": codex_usage(),
    "gemini": gemini_usage(),
    "json": claude_result(BODY),
    "chinese": claude_result("你好世界" * 2500),
    "image": claude_result(image()),
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every file imported by one daemon: what a session says of itself, and its projection."""
    folder = tmp_path_factory.mktemp("imported")

    async def main() -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        async with Client.start(folder, options={"storage": {"root": str(folder / "state")}}) as client:
            for name, content in FILES.items():
                path = folder / name
                path.write_bytes(content)
                for source in open_sources(path):
                    intake = await take_in(client, folder, source, name, name)
                    assert intake.error == ""
                opening = {"workspace": folder.as_uri(), "sessionId": name, "mode": "resume"}
                info = await client.request("session/open", opening)
                asked = {"sessionId": name, "detail": "categories"}
                found[name] = {"info": info, **await client.request("context/project", asked)}
        return found

    return anyio.run(main)


@pytest.mark.parametrize(("name", "tokens"), [("claude", 42_454), ("codex", 93_537), ("gemini", 5_423)])
def test_d43_cached_tokens_of_an_imported_session_are_in_its_prompt_once(
    imported: dict[str, Any], name: str, tokens: int
) -> None:
    """A few tokens more: the recorded answer of no tokens is two letters all the same."""
    assert 0 <= imported[name]["tokens"] - tokens < 10
    assert imported[name]["source"] == "provider"


def test_d44_what_the_recorded_prompt_held_beside_the_messages_is_shown(imported: dict[str, Any]) -> None:
    categories = {c["name"]: c["tokens"] for c in imported["claude"]["categories"]}
    assert categories["unseen"] > 42_000


def test_d48_d49_imported_outputs_of_json_and_chinese_count_for_what_they_are(
    imported: dict[str, Any],
) -> None:
    assert imported["json"]["tokens"] > len(BODY) // 4
    assert imported["chinese"]["tokens"] > 4_000


def test_d50_an_imported_image_weighs_its_pixels_and_not_its_base64(imported: dict[str, Any]) -> None:
    assert imported["image"]["tokens"] < 5_000
    assert imported["image"]["bytes"]["value"] > 300_000


def test_d52_the_window_that_was_recorded_is_the_sessions(imported: dict[str, Any]) -> None:
    assert imported["codex"]["info"]["window"] == {"value": 272_000, "source": "host"}
