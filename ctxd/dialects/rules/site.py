"""Where in a message list something stands, and the cut points of a law that forbids no cut."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxd.model.blocks import MessageView

WHOLE = -1
"""`Site.block` of a whole message."""


class Site(msgspec.Struct, frozen=True):
    """One block, by message index and position in its view; `block` WHOLE means the message itself."""

    index: int
    block: int
    detail: str


def everywhere(messages: Sequence[MessageView]) -> set[int]:
    """Every place between messages, both ends included."""
    return set(range(len(messages) + 1))
