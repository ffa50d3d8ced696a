"""What tools said, as the view shows it: bulk shortened, orders in it marked (behaviour.md, section 8).

Decided when an output arrives, as cutting is, so that a session shows the same after a restart as live. What
is stored, and what recall gives, is the output as it came but for its secrets. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from ctxd.guard.sanitize import sanitize
from ctxd.model.blocks import MessageView
from ctxd.model.messages import Native
from ctxd.service.session import Session


class Said(msgspec.Struct, frozen=True):
    """An output as it is shown, and the kinds of what was found in it (`guard/sanitize` names them)."""

    text: str
    kinds: tuple[str, ...]


Place: TypeAlias = tuple[int, str]
"""An output: the place of its message among those given, and its call id."""


def sanitized(
    session: Session, natives: Sequence[Native], views: Sequence[MessageView], most: int
) -> Mapping[Place, Said]:
    """The outputs that are not shown as they came, of those of at most `most` characters.

    Larger ones are cut first; of what nobody could look through for secrets nothing is shown changed. Outputs
    with pictures in them are left: what is shown in their place is text alone.
    """
    found: dict[Place, Said] = {}
    if not session.environment.settings.guard.sanitize:
        return found
    for place, (native, view) in enumerate(zip(natives, views, strict=True)):
        if native.unscanned:
            continue
        for result in view.results:
            if result.media or len(result.text) > most:
                continue
            made = sanitize(result.text, ())
            if made.text != result.text:
                kinds = dict.fromkeys(f.kind for f in made.findings if f.action != "noted")
                found[place, result.call_id] = Said(made.text, tuple(kinds))
    return found


def as_shown(session: Session, text: str) -> str:
    """What is left of an output that was cut."""
    return sanitize(text, ()).text if session.environment.settings.guard.sanitize else text
