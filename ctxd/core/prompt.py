"""A system prompt out of its layers: what stays the same from request to request, and what does not.

Pure. The stable part is what a provider caches; nothing volatile is ever in it (O §27).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

LayerKind: TypeAlias = Literal["base", "projectInstructions", "agents", "extra", "memory"]

TITLES: dict[LayerKind, str] = {"projectInstructions": "Project Instructions", "agents": "Available Agents"}

BACKGROUND = (
    "[Project memory from earlier sessions. It is background and may be out of date; what the user says now "
    "holds.]\n\n"
)


class Layer(msgspec.Struct, frozen=True):
    """One layer. `path` is the file it comes from, relative to the workspace, "" for one that was given.

    `skipped` says why it is not in the prompt, "" for one that is; `size` is bytes of UTF-8: of the text,
    or of a file that was too large to be read.
    """

    kind: LayerKind
    text: str = ""
    path: str = ""
    title: str = ""
    skipped: str = ""
    size: int = 0


class Prompt(msgspec.Struct, frozen=True):
    """`stable` for the system prompt, `volatile` for a message behind the cached prefix; layers in order."""

    stable: str
    volatile: str
    layers: tuple[Layer, ...]


def given(kind: LayerKind, text: str, title: str = "") -> Layer:
    """A layer as a host gave it. A blank one is none."""
    text = text.strip()
    return Layer(kind, text, title=title, skipped="" if text else "blank", size=len(_bytes(text)))


def supersede(extras: Sequence[Layer]) -> list[Layer]:
    """Extras in order, where each title is one slot: a later text under it takes the place of an earlier.

    A slot that is blank in the end is left out and has kept its place all the same.
    """
    newest = {extra.title: extra for extra in extras if extra.title}
    done: set[str] = set()
    placed: list[Layer] = []
    for extra in extras:
        if not extra.title:
            placed.append(extra)
        elif extra.title not in done:
            done.add(extra.title)
            placed.append(newest[extra.title])
    return placed


def compose(layers: Sequence[Layer]) -> Prompt:
    """The prompt of layers in the order given, each under its heading, a blank line between them."""
    stable: list[str] = []
    volatile: list[str] = []
    for layer in layers:
        if layer.skipped:
            continue
        title = layer.title or TITLES.get(layer.kind, "")
        text = f"## {title}\n\n{layer.text}" if title else layer.text
        if layer.kind == "memory":
            volatile.append(BACKGROUND + text)
        else:
            stable.append(text)
    return Prompt("\n\n".join(stable), "\n\n".join(volatile), tuple(layers))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
