"""A file of any size imports in bounded memory: each format, in a process of its own (reports F.70)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.behaviour import behaviour

MEGABYTES = 32
LIMIT_MEGABYTES = 20
TEXT = "wörd and wörk " * 2000
EXCHANGES = MEGABYTES * 1_000_000 // len(TEXT.encode())

READ = """
import resource, sys
from pathlib import Path
from ctxd.importers.detect import open_sources
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
steps = sum(1 for source in open_sources(Path(sys.argv[1])) for step in source.steps)
print(steps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def claude_code(n: int) -> Iterator[Any]:
    for i in range(n):
        user = {"role": "user", "content": TEXT}
        yield {"type": "user", "uuid": f"{2 * i:032x}", "parentUuid": f"{2 * i - 1:032x}", "message": user}
        said = {"id": f"m{i}", "role": "assistant", "content": [{"type": "text", "text": "ok"}]}
        yield {
            "type": "assistant",
            "uuid": f"{2 * i + 1:032x}",
            "parentUuid": f"{2 * i:032x}",
            "message": said,
        }


def codex(n: int) -> Iterator[Any]:
    yield {"timestamp": "t", "type": "session_meta", "payload": {"id": "i"}}
    for i in range(n):
        call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": f"c{i}"}
        yield {"timestamp": "t", "type": "response_item", "payload": call}
        output = {"type": "function_call_output", "call_id": f"c{i}", "output": TEXT}
        yield {"timestamp": "t", "type": "response_item", "payload": output}


def pi(n: int) -> Iterator[Any]:
    yield {"type": "session", "version": 3, "id": "s", "cwd": "/x"}
    for i in range(n):
        user = {"role": "user", "content": TEXT}
        yield {"type": "message", "id": f"u{i}", "parentId": f"a{i - 1}" if i else None, "message": user}
        said = {"role": "assistant", "api": "x", "content": [{"type": "text", "text": "ok"}]}
        yield {"type": "message", "id": f"a{i}", "parentId": f"u{i}", "message": said}


def gemini_log(n: int) -> Iterator[Any]:
    yield {"sessionId": "s", "projectHash": "h"}
    for i in range(n):
        yield {"id": f"u{i}", "timestamp": "t", "type": "user", "content": TEXT}
        yield {"id": f"m{i}", "timestamp": "t", "type": "gemini", "content": "ok"}


def copilot(n: int) -> Iterator[Any]:
    for i in range(n):
        yield {"type": "user.message", "id": f"u{i}", "timestamp": "t", "data": {"content": TEXT}}
        yield {"type": "assistant.message", "id": f"a{i}", "timestamp": "t", "data": {"content": "ok"}}


def chat(n: int) -> Iterator[Any]:
    for _ in range(n):
        yield {"role": "user", "content": TEXT}
        yield {"role": "assistant", "content": "ok"}


def as_lines(records: Iterator[Any], file: Any) -> None:
    for record in records:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def as_document(records: Iterator[Any], file: Any) -> None:
    file.write('{"model": "m", "messages": [')
    for place, record in enumerate(records):
        file.write((", " if place else "") + json.dumps(record, ensure_ascii=False))
    file.write("]}")


FORMATS: list[tuple[Callable[[int], Iterator[Any]], Callable[[Iterator[Any], Any], None]]] = [
    (claude_code, as_lines),
    (codex, as_lines),
    (pi, as_lines),
    (gemini_log, as_lines),
    (copilot, as_lines),
    (chat, as_document),
]


@behaviour("importers.bounded")
@pytest.mark.parametrize(("make", "write"), FORMATS, ids=[make.__name__ for make, _ in FORMATS])
def test_memory_does_not_grow_with_the_file(
    tmp_path: Path, make: Callable[[int], Iterator[Any]], write: Callable[[Iterator[Any], Any], None]
) -> None:
    path = tmp_path / "large"
    with path.open("w") as file:
        write(make(EXCHANGES), file)
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    steps, grown = map(int, done.stdout.split())
    path.unlink()
    assert steps >= 2 * EXCHANGES
    assert grown / 1024 < LIMIT_MEGABYTES
