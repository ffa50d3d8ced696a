"""Mending that only the Responses API needs: item ids used twice. Must not know how items are read."""

from __future__ import annotations

from ctxd.dialects.mending import Desk
from ctxd.dialects.rules.items_unique import ItemsUnique


def settle_ids(desk: Desk) -> None:
    """Leave out items that repeat an earlier one; others of its id go without it, and keep what they say."""
    law = ItemsUnique()
    repeats = law.repeats(desk.views)
    kept = []
    for index, draft in enumerate(desk.drafts):
        if index not in repeats:
            kept.append(draft)
            continue
        desk.note(law.name, draft.source, "remove", f"item id {draft.view.item} was used before")
        bare = {name: value for name, value in draft.message.items() if name != "id"}
        if draft.message != desk.drafts[repeats[index]].message and len(bare) > 1:
            kept.append(desk.draft(draft.source, bare))
    desk.drafts = kept
