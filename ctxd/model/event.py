"""The base of what can happen to a session; the union of it all is `ctxd.model.events`."""

from __future__ import annotations

import msgspec


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """Base of the union; holds nothing."""
