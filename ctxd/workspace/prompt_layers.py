"""Files of a workspace that are part of a system prompt: the first usable one of each kind (O §27).

Owns their names and their order. A file that is no use is said with its reason, and the next is tried.
Must not know how a prompt is put together. Blocking; belongs in a worker thread.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ctxd.core.prompt import Layer
from ctxd.model.errors import CtxdError, NotFound
from ctxd.workspace.boundary import Boundary

Discovered: TypeAlias = Literal["projectInstructions", "agents"]

FILES: dict[Discovered, tuple[str, ...]] = {
    "projectInstructions": ("CLAUDE.md", ".octos/instructions.md", ".claude/instructions.md"),
    "agents": ("AGENTS.md", ".octos/agents.md", "agents.md"),
}
"""Paths that are tried for a kind, the preferred one first."""

MAX_BYTES = 65_536
"""A larger file is skipped whole: half an instruction can mean its opposite."""


def discover(boundary: Boundary, kind: Discovered) -> list[Layer]:
    """The first usable file of a kind, behind those before it that were there and of no use.

    Empty where there is no such file. What may not be read is as good as not there, except where the
    boundary refuses it: then the reason is the error's kind.
    """
    tried: list[Layer] = []
    for path in FILES[kind]:
        try:
            layer = _read(boundary, kind, path)
        except NotFound:
            continue
        except CtxdError as error:
            tried.append(Layer(kind, path=path, skipped=error.kind))
            continue
        tried.append(layer)
        if not layer.skipped:
            break
    return tried


def _read(boundary: Boundary, kind: Discovered, path: str) -> Layer:
    found = boundary.read(path, MAX_BYTES)
    if found.truncated:
        return Layer(kind, path=path, skipped="tooLarge", size=found.size)
    try:
        text = found.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Layer(kind, path=path, skipped="binary", size=found.size)
    if "\0" in text:
        return Layer(kind, path=path, skipped="binary", size=found.size)
    text = text.strip()
    return Layer(kind, text, path, skipped="" if text else "blank", size=len(text.encode()))
