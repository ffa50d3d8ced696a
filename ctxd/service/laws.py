"""The laws of a session: those of every dialect its messages are in.

To the laws of one dialect, a message of another is a user's: it parts turns and asks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ctxd.dialects import registry
from ctxd.dialects.base import Dialect
from ctxd.dialects.refusal import refused
from ctxd.model.blocks import MessageView, Text, Violation
from ctxd.model.messages import Native

OTHERS = MessageView("user", (Text("others"),))
"""A message that says nothing about calls."""


def cut_points(
    natives: Sequence[Native], views: Sequence[MessageView], name_of: Callable[[Native], str]
) -> frozenset[int]:
    """Where the list may be cut by every law. `name_of` tells the dialect of a message."""
    cuts = frozenset(range(len(views) + 1))
    for dialect, seen in _sides(natives, views, name_of):
        cuts = cuts.intersection(*(rule.cut_points(seen) for rule in dialect.rules))
    return cuts


def broken(
    natives: Sequence[Native], views: Sequence[MessageView], name_of: Callable[[Native], str]
) -> list[Violation]:
    """What no mending makes lawful."""
    return [violation for side in _sides(natives, views, name_of) for violation in refused(*side)]


def _sides(
    natives: Sequence[Native], views: Sequence[MessageView], name_of: Callable[[Native], str]
) -> Iterator[tuple[Dialect, Sequence[MessageView]]]:
    names = [name_of(native) for native in natives]
    for name in sorted(set(names)):
        side = [view if own == name else OTHERS for own, view in zip(names, views, strict=True)]
        yield registry.get(name), side
