"""How fast recorded sessions come into the daemon's state, without and with counting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.guard import BUDGET_SECONDS_PER_MB
from bench.harness import Ratio, Workbench, elapsed, typical
from bench.sessions import tool_loop
from ctxd.client import Client
from ctxd.dialects import registry
from ctxd.importers.detect import open_sources
from ctxd.importers.steps import Boundary
from ctxd.model.blocks import Text, ToolCall, ToolResult
from ctxd.report.intake import take_in
from ctxd.tokenizer.encoding import load

MEGABYTES = 40
BUDGET_PER_SECOND = 40e6
"""Bytes of the file, per second (issue 4, shows 6)."""

RESULT_WORDS = 300
ROUNDS = 3


def bench(scratch: Workbench) -> Iterator[Ratio]:
    """From the file to the last acknowledged append; then the same with every count made, and scanned.

    The bare tokenizer is the reference one, on the texts of the same messages, which are in memory
    already; a transcript holds more than these, so its time is that for as many bytes as the file has.
    """
    path = scratch.root / "recording.jsonl"
    size = _record(path, MEGABYTES * 1_000_000)
    imported, counted = asyncio.run(_measure(scratch, path, secrets=False))
    name = f"import of {size / 1e6:.0f} MB"
    yield Ratio(f"{name}, counting deferred", typical(imported), size / BUDGET_PER_SECOND, 1, "40 MB/s")
    texts = list(_texts(path))
    scanned, _ = asyncio.run(_measure(scratch, path, secrets=True))
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    yield Ratio(
        f"{name}, scanned for secrets",
        typical(scanned),
        typical(imported) + BUDGET_SECONDS_PER_MB * megabytes,
        1,
        "the same unscanned and 150 ms per MB",
    )
    counter = load("o200k_base", scratch.cache, engine="tiktoken")
    bare = typical([elapsed(lambda: counter.count_many(texts)) for _ in range(ROUNDS)])
    same_size = bare * size / sum(len(text.encode()) for text in texts)
    yield Ratio(f"{name}, counted", typical(counted), same_size, 1.25, "tiktoken on as many bytes")


def _record(path: Path, size: int) -> int:
    """A transcript as Claude Code writes it, every output in it twice; its size in bytes."""
    written = 0
    parent = None
    with path.open("wb") as file:
        for number, message in enumerate(tool_loop(result_words=RESULT_WORDS)):
            uuid = f"{number:032x}"
            record: dict[str, Any] = {
                "parentUuid": parent,
                "isSidechain": False,
                "type": message["role"],
                "uuid": uuid,
                "message": {**message, "id": f"msg_{number}", "model": "claude-sonnet-4-5"},
            }
            if message["role"] == "user" and not isinstance(message["content"], str):
                record["toolUseResult"] = {"stdout": message["content"][0]["content"]}
            written += file.write(msgspec.json.encode(record) + b"\n")
            parent = uuid
            if written > size:
                return written
    raise AssertionError("the loop has no end")


async def _measure(scratch: Workbench, path: Path, *, secrets: bool) -> tuple[list[float], list[float]]:
    """Seconds of each round until all was acknowledged, and until all was counted."""
    imported: list[float] = []
    counted: list[float] = []
    options = scratch.options(guard={"secrets": secrets, "sanitize": secrets})
    async with Client.start(scratch.workspace, options=options) as client:
        for session in (f"import{number}-{secrets}" for number in range(ROUNDS)):
            begun = time.perf_counter()
            for source in open_sources(path):
                intake = await take_in(client, scratch.workspace, source, path.name, session)
                if intake.error or not intake.messages:
                    raise RuntimeError(f"nothing to measure: {intake.error}")
            imported.append(time.perf_counter() - begun)
            opening = {"workspace": scratch.workspace.as_uri(), "sessionId": session}
            await client.request("session/open", opening)
            await client.request("context/project", {"sessionId": session})
            counted.append(time.perf_counter() - begun)
            await client.request("session/close", {"sessionId": session})
    return imported, counted


def _texts(path: Path) -> Iterator[str]:
    """What is counted of the messages."""
    for source in open_sources(path):
        view = registry.get(source.dialect).view
        for step in source.steps:
            for message in () if isinstance(step, Boundary) else step.messages:
                for block in view(message).blocks:
                    if isinstance(block, Text | ToolResult):
                        yield block.text
                    elif isinstance(block, ToolCall):
                        yield block.arguments
