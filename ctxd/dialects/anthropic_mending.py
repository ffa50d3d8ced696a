"""The mending step that only the Messages API needs: where system messages stand.

Must not know how blocks are read.
"""

from __future__ import annotations

from typing import Any

from ctxd.dialects.mending import Desk, Draft, Message
from ctxd.dialects.rules.system_placement import SystemPlacement, is_carried, user_turns


def place_system(desk: Desk) -> None:
    """Move system messages to the end of their user turn, joined there; leave out those without one."""
    views = desk.views
    broken = SystemPlacement().violations(views)
    if not broken:
        return
    for violation in broken:
        action = "move" if violation.mend == "merge" else "remove"
        desk.note(violation.rule, desk.drafts[violation.index].source, action, violation.detail)
    touched = {violation.index for violation in broken}
    arranged: list[Draft] = []
    for turn in user_turns(views):
        arranged.extend(desk.drafts[turn.first : turn.end])
        window = desk.drafts[turn.end : turn.stop]
        if touched.isdisjoint(range(turn.end, turn.stop)):
            arranged.extend(window)
            continue
        arranged.extend(draft for draft in window if draft.view.role != "system")
        systems = [draft for draft in window if draft.view.role == "system"]
        if is_carried(views, turn):
            arranged.append(_joined(desk, systems))
    desk.drafts = arranged


def _joined(desk: Desk, systems: list[Draft]) -> Draft:
    first = systems[0]
    if len(systems) == 1:
        return first
    content = [block for draft in systems for block in as_blocks(draft.message)]
    return desk.draft(first.source, {**first.message, "content": content})


def as_blocks(message: Message) -> list[Any]:
    """The content of a message as a list of blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
