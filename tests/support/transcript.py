"""Golden transcripts: the same laws as protocol/replay.mjs, against a process that speaks frames.

A line is `{"c2s": message}`, `{"s2c": pattern}` or `{"exit": code}`; a pattern object names the members it
cares about, arrays match whole. Matchers: `$any`, `$string`, `$int`, `$bind:x`, `$ref:x`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.peer import Peer

PASSED_OVER = {"window/logMessage", "$/logTrace", "$/progress"}
_ABSENT = object()


def replay(transcript: Path, root: Path) -> int:
    """Play `transcript` against a fresh daemon with its folders under `root`; how many steps it had.

    Raises AssertionError with the step and the path of the first mismatch, or when a frame was left unread.
    """
    steps = [json.loads(line) for line in transcript.read_text().splitlines()]
    workspace = root / "workspace"
    workspace.mkdir()
    bound: dict[str, Any] = {"workspace": workspace.as_uri(), "state": str(root / "state")}
    with Peer() as peer:
        for number, step in enumerate(steps, 1):
            if "c2s" in step:
                peer.send(fill(step["c2s"], bound))
            if "s2c" in step:
                frame = receive(peer)
                path = mismatch(step["s2c"], frame, bound)
                assert path is None, f"step {number}: mismatch at {path} of {frame}"
            if "exit" in step:
                assert peer.process.wait(60) == step["exit"], f"step {number}: another exit code"
                unread = [m for m in peer.rest() if m.get("method") not in PASSED_OVER]
                assert unread == [], f"step {number}: frames nobody read"
    return len(steps)


def receive(peer: Peer) -> dict[str, Any]:
    """The next frame that a transcript speaks about."""
    while True:
        frame = peer.receive()
        if frame.get("method") not in PASSED_OVER:
            return frame


def fill(value: Any, bound: dict[str, Any]) -> Any:
    """`value` with every `$ref:x` replaced by what x is bound to."""
    match value:
        case str() if value.startswith("$ref:"):
            return bound[value.removeprefix("$ref:")]
        case list():
            return [fill(v, bound) for v in value]
        case dict():
            return {k: fill(v, bound) for k, v in value.items()}
        case _:
            return value


def mismatch(pattern: Any, value: Any, bound: dict[str, Any], path: str = "$") -> str | None:
    """The path of the first part of `value` that does not match, or None. Binds on the way."""
    match pattern:
        case "$any":
            fits = value is not _ABSENT
        case "$string":
            fits = isinstance(value, str)
        case "$int":
            fits = isinstance(value, int) and not isinstance(value, bool)
        case str() if pattern.startswith("$bind:"):
            bound[pattern.removeprefix("$bind:")] = value
            fits = value is not _ABSENT
        case list():
            if not isinstance(value, list) or len(value) != len(pattern):
                return path
            found = (mismatch(p, v, bound, f"{path}[{i}]") for i, (p, v) in enumerate(zip(pattern, value)))
            return next((f for f in found if f), None)
        case dict():
            if not isinstance(value, dict):
                return path
            found = (mismatch(p, value.get(k, _ABSENT), bound, f"{path}.{k}") for k, p in pattern.items())
            return next((f for f in found if f), None)
        case _:
            wanted = fill(pattern, bound)
            fits = type(wanted) is type(value) and wanted == value
    return None if fits else path
